"""The folders of runs. A run has a folder; each attempt at it has one below, numbered.

An attempt exists if its `about` file does, which is written last: if a restart is interrupted, the attempt before it
is still the current one.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.state import files
from handrail.state.files import make_private

ABOUT = "about"


def attempts(folder: str) -> list[str]:
    """The folders of all attempts at a run, the current one last."""
    try:
        numbers = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except OSError:
        return []
    found = [os.path.join(folder, str(number)) for number in numbers]
    return [path for path in found if os.path.exists(os.path.join(path, ABOUT))]


def number_of(attempt: str) -> int:
    return int(os.path.basename(attempt))


def following(attempt: str) -> str:
    """The folder of the attempt after this one."""
    return os.path.join(os.path.dirname(attempt), str(number_of(attempt) + 1))


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
