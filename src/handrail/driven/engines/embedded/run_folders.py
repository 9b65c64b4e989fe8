"""The folders of runs. Each run has a folder, and each attempt has a numbered folder inside it.

An attempt exists if its `about` file exists. That file is written last, so an interrupted restart leaves the previous
attempt current. Both `about` and the first record of the journal name the run and the attempt. So a journal that is
missing, empty, cut or of another run is damage, and never an attempt that has not begun; only runs of earlier versions
have no names in their files. Locks in these folders say which process drives a run, and whether a program outlived it.
Imports little, so that `handrail runs` starts fast.
"""

from __future__ import annotations

import contextlib
import os
import time
from binascii import crc32

from handrail.base import files, journal, jsonlite, locks
from handrail.base.errors import NotFound, StateError
from handrail.base.files import make_private, refuse_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

ABOUT = "about"
JOURNAL = "journal"
ACTIVITY = "activity"
"""The file with what agents and programs print."""
CREATED = "created"
SUMMARY = "summary"
WAY_OUT = "`handrail prune --damaged --yes` moves damaged runs away; nothing is deleted"
_POSITION = 48  # bits


class RunGone(NotFound, LookupError):
    """A run does not exist, or not any more."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"there is no run `{os.path.basename(folder)}` any more", "`handrail runs` lists those there are"
        )


def make_inside(attempt: str, name: str) -> str:
    """Create a folder inside an attempt, and return its path. Raises `RunGone` if the run was removed."""
    path = os.path.join(attempt, name)
    try:
        os.mkdir(path, 0o700)
        files.sync_folder(attempt)
    except FileExistsError:
        pass
    except FileNotFoundError as error:
        raise RunGone(os.path.dirname(attempt)) from error
    except OSError as error:
        raise StateError(f"`{path}` cannot be created: {error.strerror}", files.way_out(attempt, error)) from error
    return path


PROJECT = ".project"


def mark_project(folder: str, project: str) -> None:
    """Note which project a folder of runs belongs to, so that it is found after the project was moved."""
    path, place = os.path.join(folder, PROJECT), files.identity(project)
    if place is not None and not os.path.exists(path):
        make_private(folder)
        files.replace(path, jsonlite.encode_line({"project": project, "place": list(place)}), durable=False)


def former_project(folder: str, project: str) -> str | None:
    """The former path of a project that has no runs, if it was moved or renamed. `folder` is that of its runs."""
    place, above = files.identity(project), os.path.dirname(folder)
    for name in os.listdir(above) if place is not None and os.path.isdir(above) else ():
        with contextlib.suppress(OSError):
            mark = jsonlite.decode_line(files.read_regular(os.path.join(above, name, PROJECT)).rstrip()) or {}
            if mark.get("place") == list(place or ()) and not os.path.exists(former := str(mark.get("project"))):
                return former
    return None


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
        about = os.path.join(folder, "1", ABOUT)
        return os.path.exists(about) or bool(attempt_folders(folder)) or lacks_request(folder)
    except StateError:
        return True


def lacks_request(folder: str) -> bool:
    """True if a run has events but no request: it is damaged. A run that is being created has no events."""
    return has_events(os.path.join(folder, "1")) and not attempt_folders(folder)


def _names(attempt: str) -> dict[str, Any]:
    """What the files of an attempt say about where they belong."""
    return {"run": os.path.basename(os.path.dirname(attempt)), "attempt": number_of(attempt)}


def first_record(attempt: str) -> dict[str, Any]:
    return {"n": 0, **_names(attempt), "events": []}


def write_journal(attempt: str) -> int:
    """Write the journal of an attempt that has not begun, and return where its first event begins."""
    make_private(attempt)
    return journal.append(os.path.join(attempt, JOURNAL), 0, jsonlite.encode_line(first_record(attempt)))


def has_events(attempt: str) -> bool:
    """True if something was recorded in the journal of an attempt. One `stat`."""
    return files.size(os.path.join(attempt, JOURNAL)) > len(jsonlite.encode_line(first_record(attempt)))


def read_journal(attempt: str, *, may_be_damaged: bool = False) -> journal.Scan:
    """The records of an attempt. If they are damaged, the error says how to move the run away."""
    path = os.path.join(attempt, JOURNAL)
    try:
        scan = journal.read(path, may_be_damaged=may_be_damaged)
    except StateError as error:
        raise type(error)(error.message, WAY_OUT) from error
    flaw = _foreign(attempt, scan) or (None if may_be_damaged else _lost(attempt, scan))
    if flaw is not None:
        raise journal.JournalDamaged(f"the journal `{path}` is damaged: {flaw}", WAY_OUT)
    return scan


def _foreign(attempt: str, scan: journal.Scan) -> str | None:
    """Says whose records these are, if they are not those of this attempt."""
    first = scan.records[0] if scan.records else {}
    if "run" in first and first != {**first, **_names(attempt)}:
        return f"it is that of attempt {first.get('attempt')} of run `{first['run']}`"
    return "it is that of another run" if first and "run" not in first and _has_names(attempt) else None


def _lost(attempt: str, scan: journal.Scan) -> str | None:
    """Says which records are missing, if some are."""
    summary = stored_summary(os.path.dirname(attempt))
    end = summary["end"] if summary is not None and summary["mark"][:1] == [number_of(attempt)] else 0
    if not scan.records and (end or _has_names(attempt) or _has_traces(attempt)):
        return "it has no records, but the run has begun"
    return f"its records end at byte {scan.end}, and once ended at byte {end}" if scan.end < end else None


def _has_names(attempt: str) -> bool:
    """True if this version began the attempt, so its journal has a first record."""
    try:
        return _read_about(attempt)[1] is not None
    except StateError:
        return False


def _has_traces(attempt: str) -> bool:
    """True if an attempt of an earlier version has begun: it has files that its driver makes."""
    return any(os.path.lexists(os.path.join(attempt, name)) for name in ("payloads", PROGRAMS, "activity", INBOX))


def stored_summary(folder: str) -> dict[str, Any] | None:
    """The file with the summary of a run, as data; None if there is none that can be used.

    `mark` and `end` say which records it covers. In a summary of an earlier version, the end is not known.
    """
    try:
        data = jsonlite.decode_line(files.read_regular(os.path.join(folder, SUMMARY)).removesuffix(b"\n"))
    except OSError:
        return None
    if data is None or not isinstance(data.get("mark"), list) or not isinstance(data.get("run"), dict):
        return None
    end = data.setdefault("end", int(data["run"].get("status") != "running"))
    return data if isinstance(end, int) and data.get("id") in (None, os.path.basename(folder)) else None


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
    except (StateError, ValueError, TypeError, KeyError, RecursionError):
        return None


def created_file_time(folder: str) -> int:
    """When the file about the creation of a run was made: of two runs of the same moment, it says which is older."""
    return files.size_and_time(os.path.join(folder, "1", CREATED))[1]


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
    """Store the request of an attempt: one line with it, and one with the names of the run and the attempt."""
    make_private(attempt)
    body = about.encode("utf-8", "surrogatepass")
    names = jsonlite.encode_line(_names(attempt))
    files.replace(os.path.join(attempt, ABOUT), b"%08x %s\n%s" % (crc32(body), body, names), durable=True)


def read_about(attempt: str) -> str:
    """The request of an attempt. Raises `StateError` if it cannot be read, or if it is that of another one."""
    about, names = _read_about(attempt)
    if names is not None and names != _names(attempt):
        owner = f"attempt {names.get('attempt')} of run `{names['run']}`"
        raise StateError(f"`{attempt}/{ABOUT}` is damaged: it is that of {owner}", WAY_OUT)
    return about


def _read_about(attempt: str) -> tuple[str, dict[str, Any] | None]:
    """The request, and the names of its run and attempt; requests of earlier versions have none.

    Version 0.1.0 wrote it without a checksum, and such a file is still read.
    """
    path = os.path.join(attempt, ABOUT)
    try:
        data = files.read_regular(path)
        if data.startswith(b"{"):
            return data.decode("utf-8", "surrogatepass"), None
        line, _, last = data.removesuffix(b"\n").partition(b"\n")
        names = jsonlite.decode_line(last)
        if line[:9] != b"%08x " % crc32(line[9:]) or (last and (names is None or "run" not in names)):
            raise ValueError("its checksum is wrong")
        return line[9:].decode("utf-8", "surrogatepass"), names
    except (OSError, ValueError) as error:
        raise StateError(f"`{path}` cannot be read: {error}", WAY_OUT) from error


INBOX = "inbox"
"""The folder of an attempt with the answers that its journal does not have yet, one file per question."""


def has_answer(attempt: str) -> bool:
    """True if an answer is stored that no driver has recorded yet."""
    return any(not entry.name.endswith((".letter", ".new")) for entry in files.entries(os.path.join(attempt, INBOX)))


def heard_at(attempt: str) -> float | None:
    """When an agent or a program of an attempt printed something last; None if nothing was printed."""
    return files.size_and_time(os.path.join(attempt, ACTIVITY))[1] / 1e9 or None


LOCK = "lock"
PROGRAMS = "programs"
"""The folder of an attempt with one lock per program that its steps started."""


def holder(folder: str) -> int | None:
    """The id of the process that drives the run, 0 if the id cannot be read, None if no process drives it."""
    path = os.path.join(folder, LOCK)
    if not locks.is_locked(path):
        return None
    try:
        return int(files.read_regular(path)[:32])
    except (OSError, ValueError):
        return 0


def has_program(attempt: str) -> bool:
    """True if a program that a step of this attempt started still runs."""
    return any(locks.is_locked(entry.path) for entry in files.entries(os.path.join(attempt, PROGRAMS)))


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
