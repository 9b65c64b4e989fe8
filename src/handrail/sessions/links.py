"""Links from a host's conversation to its session: one small file per conversation with a workflow.

A host's hook reads the link first. If there is none, no workflow is active in the conversation and the hook ends.
Standard library only.
"""

from __future__ import annotations

import os

from handrail.state import jsonlite
from handrail.state.files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.project import Places

_FORK = {"fork": True}


class Unsettled(ValueError):
    """The conversation is a fork, and its parent is not known yet."""


class SessionRef:
    """Where a session is stored: its folder, project and id, and the host's link to it, if there is one."""

    __slots__ = ("folder", "link", "project", "session")

    def __init__(self, folder: str, project: str, session: str, link: str | None = None) -> None:
        self.folder = folder
        self.project = project
        self.session = session
        self.link = link


def path(places: Places, agent: str, conversation: str) -> str:
    from handrail.project import file_name

    return os.path.join(places.state, "hosts", file_name(agent), file_name(conversation))


def read(link: str) -> SessionRef | None:
    """The session that a link points to; None if there is no link. Raises `ValueError` if the link is damaged."""
    try:
        text = read_regular(link).decode()
    except FileNotFoundError:
        if os.path.islink(link):
            raise ValueError("the link to the session leads nowhere") from None
        return None
    try:
        value = jsonlite.loads(text)
    except ValueError:
        raise ValueError("the link to the session is damaged") from None
    if value == _FORK:
        raise Unsettled("it is not known yet which conversation this one was forked from")
    if not isinstance(value, dict) or not {"folder", "project", "session"} <= value.keys():
        raise ValueError("the link to the session is damaged")
    return SessionRef(value["folder"], value["project"], value["session"], link)


def write(link: str, ref: SessionRef) -> None:
    from handrail.state.files import replace

    body = jsonlite.dumps({"folder": ref.folder, "project": ref.project, "session": ref.session})
    replace(link, body.encode(), durable=True)


def write_unsettled(link: str) -> None:
    """Mark a fork whose parent is not known yet. Until then, its gate denies every call."""
    from handrail.state.files import replace

    replace(link, jsonlite.dumps(_FORK).encode(), durable=True)


def remove(link: str) -> None:
    try:
        os.unlink(link)
    except FileNotFoundError:
        return


def is_unsettled(link: str) -> bool:
    """True if the link marks a fork whose parent is not known yet."""
    try:
        read(link)
    except Unsettled:
        return True
    except (ValueError, OSError):
        return False
    return False


def is_absent(link: str) -> bool:
    """True if there is no link. False if that cannot be found out, because then there may be one."""
    try:
        os.lstat(link)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False
