"""The file `about` of a session: its id, its project, the link of its host, and the run that it belongs to.

It is one line with a checksum. Version 0.1.0 wrote it without a checksum, and such a file is still read. Standard
library only.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.sessions.card import ABOUT, JOURNAL
from handrail.source.record import Record
from handrail.state import files, jsonlite, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class About(Record):
    """What is known about a session without its journal. `run` is the run that drives its agent, if one does."""

    session: str
    project: str
    link: str | None = None
    run: str | None = None


def write(folder: str, about: About) -> None:
    files.replace(os.path.join(folder, ABOUT), lines.encode(about._asdict()), durable=True)


def read(folder: str) -> About | None:
    """What the file in this folder says; None if there is none or it is damaged."""
    try:
        data = files.read_regular(os.path.join(folder, ABOUT))
        found = jsonlite.loads(data.decode()) if data.startswith(b"{") else lines.decode(data.removesuffix(b"\n"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not {"session", "project"} <= found.keys():
        return None
    return About(found["session"], found["project"], found.get("link"), found.get("run"))


def abouts(folder: str, project: str) -> Iterator[tuple[str, About]]:
    """(folder, about) of every session in the folder of a project, sorted by name.

    A session whose `about` is missing or damaged is listed too, by the name of its folder.
    """
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StateError(f"the sessions in `{folder}` cannot be listed: {error.strerror}") from error
    for name in [name for name in names if not name.startswith(".")]:
        path = os.path.join(folder, name)
        about = read(path)
        if about is None and os.path.lexists(os.path.join(path, JOURNAL)):
            about = About(_text(name), project)
        if about is not None:
            yield path, about


def _text(name: str) -> str:
    """The id that `project.file_name` made this name from. A long id cannot be restored."""
    from urllib.parse import unquote

    return unquote(name.replace("+", "/"), errors="surrogateescape")
