"""Whether an entry in a file of the project is the one that `handrail install --project` wrote.

Other programs and people can write such an entry, too, so its name proves nothing. Standard library only: hooks use it.
"""

from __future__ import annotations

import os

from handrail.project import file_name
from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.project import Places


def record_path(places: Places, agent: str, project: str | None) -> str:
    """The record of an installation for one project, or for the user."""
    scope = file_name(project) if project else "user"
    return os.path.join(places.state, "installed", f"{agent}@{scope}.json")


def is_as_installed(places: Places, agent: str, project: str, entry: tuple[str, ...]) -> bool:
    """True if an entry is as the installation wrote it. `entry` is a file in the project and the keys in its JSON."""
    path = os.path.join(project, entry[0])
    try:
        written = jsonlite.loads(_read(record_path(places, agent, project)))["after"][path]
        now = _member(jsonlite.loads(_read(path)), entry[1:])
        return now is not None and bool(now == _member(jsonlite.loads(written), entry[1:]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _member(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value[key]
    return value
