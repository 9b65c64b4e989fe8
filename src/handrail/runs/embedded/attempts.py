"""The folders of runs. Each run has a folder, and each attempt has a numbered folder inside it.

An attempt exists if its `about` file exists. That file is written last, so an interrupted restart leaves the previous
attempt current.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.state import files, jsonlite
from handrail.state.files import make_private

ABOUT = "about"
CREATED = "created"
_POSITION = 48  # bits


def attempts(folder: str) -> list[str]:
    """The folders of all attempts of a run, the current one last."""
    try:
        numbers = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except OSError:
        return []
    found = [os.path.join(folder, str(number)) for number in numbers]
    return [path for path in found if os.path.exists(os.path.join(path, ABOUT))]


def run_ids(folder: str) -> list[str]:
    """The ids of all runs in a folder, the oldest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [(paths[0], name) for name in names if (paths := attempts(os.path.join(folder, name)))]
    return [name for *_, name in sorted((*_created(path), name) for path, name in found)]


def write_created(attempt: str, moment: float) -> None:
    """Record when a run was created. The times of files and folders change: they do not say it."""
    make_private(attempt)
    files.replace(os.path.join(attempt, CREATED), repr(moment).encode(), durable=False)


def _created(attempt: str) -> tuple[float, int]:
    """When the first attempt of a run was created. Of two runs at the same moment, the file that is older decides."""
    path = os.path.join(attempt, CREATED)
    try:
        with open(path, encoding="ascii") as file:
            return float(file.read()), os.stat(path).st_mtime_ns
    except (OSError, ValueError):  # a run of 0.1.0
        return _created_by_request(attempt), 0


def _created_by_request(attempt: str) -> float:
    try:
        return float(jsonlite.loads(read_about(attempt))["created"])
    except (StateError, ValueError, TypeError, KeyError):
        return 0.0


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
    files.replace(os.path.join(attempt, ABOUT), about.encode("utf-8", "surrogatepass"), durable=True)


def read_about(attempt: str) -> str:
    path = os.path.join(attempt, ABOUT)
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogatepass")
    except (OSError, ValueError) as error:
        raise StateError(f"`{path}` cannot be read: {error}") from error
