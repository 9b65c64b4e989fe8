"""A forked conversation goes on at its parent's place, in a session of its own.

A host says that a conversation is a fork before anything says of which one. The transcript tells, which the host writes
a little later: our own texts in it name the task. Until then the fork has a link that leads nowhere, and its gate is
closed. Standard library only.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.project import session_name
from handrail.sessions import links, marks
from handrail.sessions.current import current_card
from handrail.sessions.links import SessionRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from handrail.contracts.messages import Request
    from handrail.project import Places


def expect(agent: str, request: Request, places: Places) -> SessionRef | None:
    """Note a fork, if there is a workflow that it could be in the middle of; its session, if that is clear already."""
    link = links.path(places, agent, request["conversation"])
    if not next(_active(os.path.dirname(link)), None):
        return None
    links.write_unsettled(link)
    return settle(agent, request, places)


def settle(agent: str, request: Request, places: Places) -> SessionRef | None:
    """The session of a fork, made now from its parent's; None if the parent has no active workflow.

    Before the model acts for the first time the host may not have written the fork's history yet. Only at a call of a
    tool is a transcript that does not speak of us an answer, and one that cannot be read an error.
    """
    from handrail.sessions.store import Session, fork_session

    link = links.path(places, agent, request["conversation"])
    has_to_know = request["event"] in ("tool", "step")
    parent = _parent(os.path.dirname(link), request, has_to_know)
    if parent is None:
        if has_to_know:
            links.remove(link)
        return None
    id_ = session_name(agent, request["conversation"])
    child = SessionRef(places.session(parent.project, id_), parent.project, id_, link)
    with Session(child, _no_clock).locked():
        try:
            return links.read(link)
        except links.Unsettled:
            told, call = marks.shown(parent.folder)
            marks.remember(child.folder, told, call)
            fork_session(parent, child)
    return links.read(link)


def _parent(folder: str, request: Request, has_to_know: bool) -> SessionRef | None:
    """The active session whose task the transcript speaks of; of several, the one it spoke of last."""
    try:
        with open(request["transcript"] or "", "rb") as file:
            told = file.read()
    except OSError as error:
        if not has_to_know:
            return None
        raise StateError(f"the transcript of this fork cannot be read: {error.strerror}") from error
    found = []
    for name, ref, task in _active(folder):
        place = told.rfind(task.encode())
        if place >= 0:
            found.append((told.rfind(name.encode()), place, ref))
    return max(found, key=lambda row: row[:2])[2] if found else None


def _active(folder: str) -> Iterator[tuple[str, SessionRef, str]]:
    """(conversation, session, task id) of every conversation with an active workflow."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        try:
            ref = links.read(os.path.join(folder, name))
            card = current_card(ref) if ref else None
        except (StateError, ValueError, OSError):  # that conversation is denied by its own gate
            continue
        if ref and card and card["context"]:
            yield name, ref, card["state"]["task_id"]


def _no_clock() -> float:
    raise AssertionError("a fork records nothing")
