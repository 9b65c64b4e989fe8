"""A forked conversation continues at its parent's phase, in its own session.

A host reports a fork before its parent is known. The parent is found in the transcript, which the host writes a little
later: the host names it there (`forked_from`), or Handrail's own texts in it contain the task id.
Until then the fork has an unsettled link, and its gate denies every call. If the parent may be a conversation whose
session is damaged, that is an error, and the gate denies, too. Standard library only.
"""

from __future__ import annotations

import os

from handrail import registry
from handrail.errors import StateError
from handrail.project import file_name, session_name
from handrail.sessions import links, marks
from handrail.sessions.current import current_card
from handrail.sessions.links import SessionRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from handrail.contracts.messages import Request
    from handrail.project import Places


TASK = b"wf-"
"""The start of every task id."""


def expect(agent: str, request: Request, places: Places) -> SessionRef | None:
    """Record a fork if any conversation has an active workflow. Returns its session if the parent is already known.

    A conversation that had a session of its own is no new fork, whatever the host says: its workflow has ended.
    """
    link = links.path(places, agent, request["conversation"])
    if not next(_candidates(os.path.dirname(link)), None) or _had_session(agent, request, places):
        return None
    links.write_unsettled(link)
    return settle(agent, request, places)


def _had_session(agent: str, request: Request, places: Places) -> bool:
    """True if this conversation ever had a workflow, in any project."""
    folder = os.path.dirname(places.sessions(""))
    own = file_name(session_name(agent, request["conversation"]))
    return os.path.isdir(folder) and any(os.path.isdir(os.path.join(folder, name, own)) for name in os.listdir(folder))


def settle(agent: str, request: Request, places: Places) -> SessionRef | None:
    """The session of a fork, copied from its parent's; None if there is no parent with an active workflow.

    The host may write the fork's history only when the model first acts. So only at a tool call does a transcript
    without our texts mean that there is no parent, and is an unreadable transcript an error.
    """
    from handrail.sessions.store import Session, fork_session

    link = links.path(places, agent, request["conversation"])
    is_sure = request["event"] in ("tool", "step")
    parent = _parent(agent, os.path.dirname(link), request, is_sure)
    if parent is None:
        if is_sure:
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


def _parent(agent: str, folder: str, request: Request, is_call: bool) -> SessionRef | None:
    """The active session that the transcript names, or whose task id it has; if there are several, the last one."""
    try:
        with open(request["transcript"] or "", "rb") as file:
            told = file.read()
    except OSError as error:
        if not is_call:
            return None
        raise StateError(f"the transcript of this fork cannot be read: {error.strerror}") from error
    forked_from = getattr(registry.host(agent), "forked_from", None)
    if forked_from is not None:
        named: str | None = forked_from(told)
        return _active(os.path.join(folder, file_name(named))) if named else None
    found: list[tuple[int, int, SessionRef]] = []
    damaged: list[tuple[int, str]] = []
    for name, ref, task in _candidates(folder):
        if ref is None:
            damaged.append((told.rfind(name.encode()), name))
        elif (place := told.rfind(task.encode())) >= 0:
            found.append((told.rfind(name.encode()), place, ref))
    best = max(found, key=lambda row: row[:2]) if found else None
    if damaged and is_call:
        _raise_if_parent(max(damaged), best[0] if best else None, told)
    return best[2] if best else None


def _active(link: str) -> SessionRef | None:
    """The session of a link if its workflow is active."""
    ref = links.read(link)
    card = current_card(ref) if ref else None
    return ref if card is not None and card["context"] else None


def _raise_if_parent(damaged: tuple[int, str], readable: int | None, told: bytes) -> None:
    """Raise `StateError` if a conversation with a damaged session may be the parent.

    It may be if the transcript names it last, or if the transcript has a task id that belongs to no other session.
    `readable` is where the transcript names the best other candidate, or None if there is none.
    """
    place, name = damaged
    if place > readable if readable is not None else place >= 0 or TASK in told:
        message = f"this conversation may be a fork of `{name}`, whose session cannot be read"
        raise StateError(message, "cancel the workflow of that conversation first")


def _candidates(folder: str) -> Iterator[tuple[str, SessionRef | None, str]]:
    """(conversation, session, task id) of every conversation with an active workflow.

    The session of a conversation whose session cannot be read is None: its workflow may be active.
    """
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        try:
            ref = links.read(os.path.join(folder, name))
            card = current_card(ref) if ref else None
        except links.Unsettled:
            continue
        except (StateError, ValueError, OSError):
            yield name, None, ""
            continue
        if ref and card and card["context"]:
            yield name, ref, card["state"]["task_id"]


def _no_clock() -> float:
    raise AssertionError("a fork records nothing")
