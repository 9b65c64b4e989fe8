"""A forked conversation goes on at its parent's place, in a session of its own.

A host says that a conversation is a fork before anything says of which. What tells is the transcript, which the
host writes a little later: our own texts in it name the task. Until then the fork has a link that leads nowhere.
Standard library only.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.hosts.context import copy_shown, forget
from handrail.hosts.tools import card_of
from handrail.project import Places
from handrail.sessions import links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def expect(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any] | None:
    """Note a fork, if there is a workflow that it could be in the middle of; its session, if that is clear."""
    link = links.path(Places(env), agent, request["conversation"])
    if not next(_active(os.path.dirname(link)), None):
        return None
    links.write_unsettled(link)
    return settle(agent, request, env)


def settle(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any] | None:
    """The session of a fork, made now from its parent's; nothing when the parent has no active workflow.

    Before the model acts for the first time the host may not have written the fork's history yet. Only at a call
    of a tool is the transcript's silence an answer, and not being able to read it an error.
    """
    from handrail.sessions.store import Session, fork_session

    places = Places(env)
    link = links.path(places, agent, request["conversation"])
    has_to_know = request["event"] in ("tool", "step")
    parent = _parent(os.path.dirname(link), request, has_to_know)
    if parent is None:
        if has_to_know:
            links.remove(link)
        return None
    id_ = f"{agent}-{request['conversation']}"
    seat = {"folder": places.session(parent["project"], id_), "project": parent["project"], "session": id_}
    with Session(seat["folder"], seat["project"], id_, _no_clock).locked():
        try:
            return links.read(link)
        except links.Unsettled:
            forget(seat["folder"])
            copy_shown(parent["folder"], seat["folder"])
            fork_session(parent, {**seat, "link": link})
    return links.read(link)


def _parent(folder: str, request: dict[str, Any], has_to_know: bool) -> dict[str, Any] | None:
    """The active session whose task the transcript speaks of; of several, the one it spoke of last."""
    try:
        with open(request.get("transcript") or "", "rb") as file:
            told = file.read()
    except OSError as error:
        if not has_to_know:
            return None
        raise StateError(f"the transcript of this fork cannot be read: {error.strerror}") from error
    found = []
    for name, seat, task in _active(folder):
        place = told.rfind(task.encode())
        if place >= 0:
            found.append((told.rfind(name.encode()), place, seat))
    return max(found, key=lambda row: row[:2])[2] if found else None


def _active(folder: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(conversation, seat, task id) of every conversation with an active workflow."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        try:
            seat = links.read(os.path.join(folder, name))
            card = card_of(seat) if seat else {}
        except (StateError, ValueError, OSError):  # that one is denied by its own gate
            continue
        if seat and card.get("context"):
            yield name, seat, card["state"]["task_id"]


def _no_clock() -> float:
    raise AssertionError("a fork records nothing")
