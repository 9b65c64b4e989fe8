"""The folders of runs. Each run has a folder, and each attempt has a numbered folder inside it.

An attempt exists if its `about` file exists. That file is written last, so an interrupted restart leaves the previous
attempt current. Locks in these folders say which process drives a run, and whether a program outlived it. Imports
little, so that `handrail runs` starts fast.
"""

from __future__ import annotations

import contextlib
import os
import time
from binascii import crc32

from handrail.base import files, journal, jsonlite, locks
from handrail.base.errors import StateError
from handrail.base.files import make_private, refuse_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

ABOUT = "about"
JOURNAL = "journal"
CREATED = "created"
WAY_OUT = "`handrail prune --damaged --yes` moves damaged runs away; nothing is deleted"
_POSITION = 48  # bits


def attempt_folders(folder: str) -> list[str]:
    """The folders of all attempts of a run, the current one last."""
    try:
        numbers = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StateError(f"the run in `{folder}` cannot be read: {error.strerror}", WAY_OUT) from error
    found = [os.path.join(folder, str(number)) for number in numbers]
    return [path for path in found if os.path.exists(os.path.join(path, ABOUT))]


def run_ids(folder: str) -> list[str]:
    """The ids of all runs in a folder, the oldest first. Raises `StateError` if the folder cannot be read."""
    homes = {name: os.path.join(folder, name) for name in run_names(folder)}
    return sorted(homes, key=lambda name: (created_at(homes[name]) or 0.0, created_file_time(homes[name]), name))


def run_names(folder: str, known: Container[str] = ()) -> list[str]:
    """The ids of all runs in a folder, in no order. Raises `StateError` if the folder cannot be read.

    Those that are known to be runs are not looked at.
    """
    refuse_shared(os.path.dirname(os.path.dirname(folder)), folder)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StateError(f"the runs in `{folder}` cannot be listed: {error.strerror}") from error
    own = (name for name in names if not name.startswith("."))
    return [name for name in own if name in known or _is_run(os.path.join(folder, name))]


def _is_run(folder: str) -> bool:
    """True if the folder is a run, also if it is damaged. A run that is being created is not one yet."""
    try:
        return (
            os.path.exists(os.path.join(folder, "1", ABOUT)) or bool(attempt_folders(folder)) or lacks_request(folder)
        )
    except StateError:
        return True


def lacks_request(folder: str) -> bool:
    """True if a run has a journal but no request: it is damaged. A run that is being created has no journal."""
    return os.path.exists(os.path.join(folder, "1", JOURNAL)) and not attempt_folders(folder)


def write_created(attempt: str, moment: float) -> None:
    """Record when a run was created. The times of files and folders change: they do not say it."""
    make_private(attempt)
    files.replace(os.path.join(attempt, CREATED), repr(moment).encode(), durable=False)


def created_at(folder: str) -> float | None:
    """When a run was created; None if that is not known."""
    attempt = os.path.join(folder, "1")
    try:
        return float(files.read_regular(os.path.join(attempt, CREATED)))
    except (OSError, ValueError):  # a run of 0.1.0
        pass
    try:
        return float(jsonlite.loads(read_about(attempt))["created"])
    except (StateError, ValueError, TypeError, KeyError):
        return None


def created_file_time(folder: str) -> int:
    """When the file about the creation of a run was made: of two runs of the same moment, it says which is older."""
    try:
        return os.stat(os.path.join(folder, "1", CREATED)).st_mtime_ns
    except OSError:
        return 0


def number_of(attempt: str) -> int:
    return int(os.path.basename(attempt))


def next_attempt(attempt: str) -> str:
    return os.path.join(os.path.dirname(attempt), str(number_of(attempt) + 1))


def offset_at(attempt: str, end: int) -> int:
    """An offset for `Engine.events`: it encodes the attempt and a position in its journal."""
    return (number_of(attempt) - 1) << _POSITION | end


def position_of(attempt: str, offset: int) -> int:
    """The position in an attempt's journal that an offset stands for; 0 if the offset belongs to another attempt."""
    number, position = offset >> _POSITION, offset & ((1 << _POSITION) - 1)
    return position if number == number_of(attempt) - 1 else 0


def write_about(attempt: str, about: str) -> None:
    make_private(attempt)
    body = about.encode("utf-8", "surrogatepass")
    files.replace(os.path.join(attempt, ABOUT), b"%08x %s\n" % (crc32(body), body), durable=True)


def read_about(attempt: str) -> str:
    """The request of an attempt. Version 0.1.0 wrote it without a checksum, and such a file is still read."""
    path = os.path.join(attempt, ABOUT)
    try:
        data = files.read_regular(path)
        if data.startswith(b"{"):
            return data.decode("utf-8", "surrogatepass")
        head, body = data[:9], data[9:].removesuffix(b"\n")
        if head != b"%08x " % crc32(body):
            raise ValueError("its checksum is wrong")
        return body.decode("utf-8", "surrogatepass")
    except (OSError, ValueError) as error:
        raise StateError(f"`{path}` cannot be read: {error}", WAY_OUT) from error


LOCK = "lock"
PROGRAMS = "programs"
"""The folder of an attempt with one lock per program that its steps started."""


def holder(folder: str) -> int | None:
    """The id of the process that drives the run, 0 if the id cannot be read, None if no process drives it."""
    path = os.path.join(folder, LOCK)
    if not locks.is_locked(path):
        return None
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return 0


def has_program(attempt: str) -> bool:
    """True if a program that a step of this attempt started still runs."""
    folder = os.path.join(attempt, PROGRAMS)
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(locks.is_locked(os.path.join(folder, name)) for name in names)


def announce(folder: str) -> None:
    """Tell those who watch the runs of a project that the driver of this run came or went.

    They look at all runs if the folder of the project has another time than before. If this fails, they look later.
    """
    now = time.time_ns()
    for path in (os.path.join(folder, LOCK), os.path.dirname(folder)):
        with contextlib.suppress(OSError):
            os.utime(path, ns=(now, now))


SETTLED = 100_000_000
"""In nanoseconds. If the last change of a file is older, its next change gets a different modification time."""


class JournalFollower:
    """Remembers the size and time that each journal had when it was last read to its end.

    A journal has spare room at its end and keeps its size while that is filled, so the time is compared too.
    """

    def __init__(self) -> None:
        self._marks: dict[str, tuple[int, int, int]] = {}

    def has_news(self, path: str, offset: int) -> bool:
        """True if the journal may have records after an offset. One `stat`."""
        mark = _mark(path, offset)
        return mark is not None and self._marks.get(path) != mark

    def read_behind(self, path: str, offset: int) -> tuple[list[dict[str, Any]], int]:
        """The records after an offset, and the next offset."""
        mark = _mark(path, offset)
        if mark is None or self._marks.get(path) == mark:
            return [], offset
        try:
            records, end = journal.read_behind(path, offset)
        except StateError as error:
            raise type(error)(error.message, WAY_OUT) from error
        if end == offset and time.time_ns() - mark[1] > SETTLED:
            self._marks[path] = mark
        return records, end


def _mark(path: str, offset: int) -> tuple[int, int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns, offset
