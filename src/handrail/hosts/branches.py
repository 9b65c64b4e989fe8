"""A conversation whose history is a tree: its session goes to the state of the branch that the person goes to.

The host stores in its own history where the session was (`Standing`), and reports the last such place whenever a
conversation is opened, forked, or at another place. If the place is the one that Handrail knows, nothing changes: a
move that a person made in a terminal stays. Standard library only.
"""

from __future__ import annotations

from handrail.hosts.context import context
from handrail.project import session_name
from handrail.sessions import links, marks
from handrail.sessions.links import SessionRef
from handrail.sessions.machine import Resumed, Rewind, Tell
from handrail.state.private import refuse_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.contracts.messages import BranchChanged, BranchPoint, Context
    from handrail.project import Places
    from handrail.sessions.store import Session


def follow(agent: str, request: BranchChanged, places: Places) -> Context:
    """Bring the session of a conversation to its branch. The answer tells the person what could not be done."""
    own, at = session_name(agent, request["conversation"]), request["at"]
    link = links.path(places, agent, request["conversation"])
    ref = links.read(link)
    if ref is None and at is not None and at["session"] == own:
        ref = _ref(places, at["project"], own, link)
    if ref is not None:
        refuse_shared(places.state, ref.folder)
        number = None if at is not None and at["session"] != own else 0 if at is None else at["number"]
        _go_to(_session(ref, agent), link, number)
    elif at is not None:
        return _fork(agent, at, _ref(places, at["project"], own, link), places)
    return context(None, notice=request.get("unread"))


def _ref(places: Places, project: str, session: str, link: str | None = None) -> SessionRef:
    return SessionRef(places.session(project, session), project, session, link)


def _session(ref: SessionRef, agent: str) -> Session:
    import time

    from handrail.sessions.store import Session

    return Session(ref, time.time, lambda: f"agent:{agent}")


def _go_to(session: Session, link: str, number: int | None) -> None:
    """Bring a session to the state after a record; None if the branch has no place of this session yet."""
    known = marks.content(session.folder, marks.BRANCH)
    if not session.exists:
        return
    if number is None or known in ("", str(number)):
        if session.read().state.cancel_asked:
            session.do(Resumed())
        return
    state = session.state_after(number)
    if state.is_active:
        session.describe(link, session.run())  # first, so that the gate is never open in between
    session.do(Rewind(number, state))
    session.do(Tell())  # the person was told when the workflow ended there
    marks.clear(session.folder, marks.SHOWN)
    marks.set_mark(session.folder, marks.BRANCH, str(number))


def _fork(agent: str, at: BranchPoint, child: SessionRef, places: Places) -> Context:
    """A conversation that was forked from another one continues at its phase, in its own session."""
    from handrail.sessions.store import fork_session

    parent = _session(_ref(places, at["project"], at["session"]), agent)
    if not parent.exists:
        told = f"The workflow of `{at['session']}` cannot continue here: Handrail has no such session."
        return context(None, notice=told)
    assert child.link is not None, "a conversation has a link"
    state = parent.state_after(at["number"])
    if not state.is_active:
        return context(None)
    refuse_shared(places.state, parent.folder)
    own = _session(child, agent)
    if own.exists and marks.content(child.folder, marks.BRANCH) == str(at["number"]):
        return context(None)  # it began there before, and its workflow has ended
    _hold(child.link)
    with own.locked():
        fork_session(parent.ref, child)
    own.do(Rewind(at["number"], state))
    marks.set_mark(child.folder, marks.BRANCH, str(at["number"]))
    return context(None)


def _hold(link: str) -> None:
    """Keep the gate closed until the session is there."""
    import os

    from handrail.state.files import make_private

    make_private(os.path.dirname(link))
    links.write_unsettled(link)
