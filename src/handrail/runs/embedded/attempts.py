"""The folders of runs. Each run has a folder, and each attempt has a numbered folder inside it.

An attempt exists if its `about` file exists. That file is written last, so an interrupted restart leaves the previous
attempt current.
"""

from __future__ import annotations

import os
from binascii import crc32

from handrail.errors import StateError
from handrail.state import files
from handrail.state.files import make_private
from handrail.state.private import refuse_shared

ABOUT = "about"
WAY_OUT = "`handrail prune --damaged --yes` moves damaged runs away; nothing is deleted"
_POSITION = 48  # bits


def attempts(folder: str) -> list[str]:
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
    refuse_shared(os.path.dirname(os.path.dirname(folder)), folder)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StateError(f"the runs in `{folder}` cannot be listed: {error.strerror}") from error
    found = [(_created(os.path.join(folder, name)), name) for name in names if not name.startswith(".")]
    return [name for _, name in sorted((created, name) for created, name in found if created is not None)]


def _created(folder: str) -> int | None:
    """When a run was created, in nanoseconds; 0 if it is damaged, None if it is not a run."""
    try:
        return os.stat(os.path.join(folder, "1", ABOUT)).st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return 0 if is_headless(folder) else None
    except OSError:
        return 0


def is_headless(folder: str) -> bool:
    """True if a run has a journal but no request: it is damaged. A run that is being created has no journal."""
    return os.path.exists(os.path.join(folder, "1", "journal")) and not attempts(folder)


def number_of(attempt: str) -> int:
    return int(os.path.basename(attempt))


def following(attempt: str) -> str:
    """The folder of the attempt after this one."""
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
