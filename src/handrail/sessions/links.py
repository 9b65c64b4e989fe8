"""Which session belongs to a host's conversation: one small file a conversation, there while it is needed.

A host's hook looks here first. No file means that no workflow is active in the conversation, and the hook is
done. Standard library only.
"""

from __future__ import annotations

import os

from handrail.state import jsonlite
from handrail.state.files import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.project import Places

_FORK = {"fork": True}


class Unsettled(ValueError):
    """The conversation is a fork, and nobody knows yet of which."""


def path(places: Places, agent: str, conversation: str) -> str:
    from handrail.project import file_name

    return os.path.join(places.state, "hosts", file_name(agent), file_name(conversation))


def read(link: str) -> dict[str, Any] | None:
    """`folder`, `project` and `session` of a link; nothing where there is none. A damaged link is an error."""
    try:
        with open(link, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    value = jsonlite.loads(text)
    if value == _FORK:
        raise Unsettled("it is not known yet which conversation this one was forked from")
    if not isinstance(value, dict) or not {"folder", "project", "session"} <= value.keys():
        raise ValueError("the link to the session is damaged")
    return {**value, "link": link}


def write(link: str, folder: str, project: str, session: str) -> None:
    body = jsonlite.dumps({"folder": folder, "project": project, "session": session})
    replace(link, body.encode(), durable=True)


def write_unsettled(link: str) -> None:
    """Keep the gate of a fork closed until it is known whose fork it is."""
    replace(link, jsonlite.dumps(_FORK).encode(), durable=True)


def remove(link: str) -> None:
    try:
        os.unlink(link)
    except FileNotFoundError:
        return
