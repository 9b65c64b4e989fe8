"""Conversations that are forked, or whose history is a tree. Standard library only.

A session goes to the state of the branch that the person goes to: the host stores in its own history where the session
was, and reports the last such place. A forked conversation continues at its parent's phase, in its own session. The
parent is found in the transcript, which the host writes a little later; until then the fork has an unsettled link, and
its gate denies every call. If the parent's session may be damaged, that is an error, and the gate denies, too.
"""

from __future__ import annotations

import os

from handrail.agents.calls.turns import context
from handrail.base.errors import StateError
from handrail.base.files import make_private, refuse_shared
from handrail.guided.sessions import hook_files
from handrail.guided.sessions.gate import current_card
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import Resumed, Rewound, Tell
from handrail.settings.folders import file_name, session_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from handrail.extensions.contracts import Host
    from handrail.extensions.contracts.messages import BranchChanged, BranchPoint, Context, HostRequest
    from handrail.guided.sessions.store import Session
    from handrail.settings.folders import UserFolders


def follow_branch(agent: str, request: BranchChanged, places: UserFolders) -> Context:
    """Bring the session of a conversation to its branch. The answer tells the person what could not be done."""
    own, at = session_name(agent, request["conversation"]), request["at"]
    link = hook_files.link_path(places, agent, request["conversation"])
    ref = hook_files.read_link(link)
    if ref is None and at is not None and at["session"] == own:
        ref = _ref(places, at["project"], own, link)
    if ref is not None:
        refuse_shared(places.state, ref.folder)
        number = None if at is not None and at["session"] != own else 0 if at is None else at["number"]
        _go_to(_session(ref, agent), link, number)
    elif at is not None:
        return _fork(agent, at, _ref(places, at["project"], own, link), places)
    return context(None, notice=request.get("unread"))


def _ref(places: UserFolders, project: str, session: str, link: str | None = None) -> SessionRef:
    return SessionRef(places.session(project, session), project, session, link)


def _session(ref: SessionRef, agent: str) -> Session:
    import time

    from handrail.guided.sessions.store import Session

    return Session(ref, time.time, lambda: f"agent:{agent}")


def _go_to(session: Session, link: str, number: int | None) -> None:
    """Bring a session to the state after a record; None if the branch has no place of this session yet."""
    known = hook_files.mark_text(session.folder, hook_files.BRANCH)
    if not session.exists:
        return
    if number is None or known in ("", str(number)):
        if session.read().state.cancel_asked:
            session.do(Resumed())
        return
    state = session.state_after(number)
    if state.is_active:
        session.describe(link, session.about().run)  # first, so that the gate is never open in between
    session.do(Rewound(number, state))
    session.do(Tell())  # the person was told when the workflow ended there
    hook_files.clear_marks(session.folder, hook_files.SHOWN)
    hook_files.set_mark(session.folder, hook_files.BRANCH, str(number))


def _fork(agent: str, at: BranchPoint, child: SessionRef, places: UserFolders) -> Context:
    """A conversation that was forked from another one continues at its phase, in its own session."""
    from handrail.guided.sessions.store import fork_session

    parent = _session(_ref(places, at["project"], at["session"]), agent)
    if not parent.exists:
        notice = f"The workflow of `{at['session']}` cannot continue here: Handrail has no such session."
        return context(None, notice=notice)
    assert child.link is not None, "a conversation has a link"
    state = parent.state_after(at["number"])
    if not state.is_active:
        return context(None)
    refuse_shared(places.state, parent.folder)
    own = _session(child, agent)
    if own.exists and hook_files.mark_text(child.folder, hook_files.BRANCH) == str(at["number"]):
        return context(None)  # it began there before, and its workflow has ended
    make_private(os.path.dirname(child.link))
    hook_files.write_unsettled_link(child.link)  # the gate stays closed until the session is there
    with own.locked():
        fork_session(parent.ref, child)
    own.do(Rewound(at["number"], state))
    hook_files.set_mark(child.folder, hook_files.BRANCH, str(at["number"]))
    return context(None)


TASK = b"wf-"
"""The start of every task id."""
HISTORY_SECONDS = 1.0
"""How long the first call of a fork waits for the history that shows its parent."""


def expect_fork(host: Host, agent: str, request: HostRequest, places: UserFolders) -> SessionRef | None:
    """Record a fork if any conversation has an active workflow. Returns its session if the parent is already known.

    A conversation that had a session of its own is no new fork, whatever the host says: its workflow has ended.
    """
    link = hook_files.link_path(places, agent, request["conversation"])
    if not next(_candidates(os.path.dirname(link)), None):
        return None
    projects, own = os.path.dirname(places.sessions("")), file_name(session_name(agent, request["conversation"]))
    if os.path.isdir(projects) and any(os.path.isdir(os.path.join(projects, id_, own)) for id_ in os.listdir(projects)):
        return None
    hook_files.write_unsettled_link(link)
    return settle_fork(host, agent, request, places)


def settle_fork(host: Host, agent: str, request: HostRequest, places: UserFolders) -> SessionRef | None:
    """The session of a fork, copied from its parent's; None if there is no parent with an active workflow.

    The host may write the fork's history only when the model first acts, or a little later. So only at a tool call does
    a transcript without our texts mean that there is no parent, and is an unreadable transcript an error.
    """
    from handrail.guided.sessions.store import fork_session

    link = hook_files.link_path(places, agent, request["conversation"])
    is_sure = request["event"] in ("tool", "step")
    folder = os.path.dirname(link)
    parent = _parent_in_time(host, folder, request) if is_sure else _parent(host, folder, request, False)
    if parent is None:
        if is_sure:
            hook_files.remove_link(link)
        return None
    id_ = session_name(agent, request["conversation"])
    child = _ref(places, parent.project, id_, link)
    with _session(child, agent).locked():
        try:
            return hook_files.read_link(link)
        except hook_files.UnsettledFork:
            text, call = hook_files.last_shown(parent.folder)
            hook_files.remember_shown(child.folder, text, call)
            fork_session(parent, child)
    return hook_files.read_link(link)


def _parent_in_time(host: Host, folder: str, request: HostRequest) -> SessionRef | None:
    """The parent of a fork at its first call. Waits for it if the host may write the history after that call.

    Raises `StateError` if the history then has no message: to take this for "no parent" would open the gate for good.
    """
    import time

    has_messages, end = getattr(host, "has_messages", None), time.monotonic() + HISTORY_SECONDS
    while (parent := _parent(host, folder, request, True)) is None and has_messages and time.monotonic() < end:
        time.sleep(HISTORY_SECONDS / 20)
    if parent is None and has_messages and not has_messages(_history(request)):
        raise StateError("the history of this fork is not written yet", "make the call again")
    return parent


def _history(request: HostRequest) -> bytes:
    with open(request["transcript"] or "", "rb") as file:
        return file.read()


def _parent(host: Host, folder: str, request: HostRequest, is_call: bool) -> SessionRef | None:
    """The active session that the transcript names, or whose task id it has; if there are several, the last one."""
    try:
        transcript = _history(request)
    except OSError as error:
        if not is_call:
            return None
        raise StateError(f"the transcript of this fork cannot be read: {error.strerror}") from error
    if (forked_from := getattr(host, "forked_from", None)) is not None:
        parent_id: str | None = forked_from(transcript)
        ref = hook_files.read_link(os.path.join(folder, file_name(parent_id))) if parent_id else None
        card = current_card(ref) if ref is not None else None
        return ref if card is not None and card["context"] else None
    candidates: list[tuple[int, int, SessionRef]] = []
    damaged: list[tuple[int, str]] = []
    for name, ref, task in _candidates(folder):
        if ref is None:
            damaged.append((transcript.rfind(name.encode()), name))
        elif (place := transcript.rfind(task.encode())) >= 0:
            candidates.append((transcript.rfind(name.encode()), place, ref))
    best = max(candidates, key=lambda row: row[:2]) if candidates else None
    if damaged and is_call:
        _raise_if_parent(max(damaged), best[0] if best else None, transcript)
    return best[2] if best else None


def _raise_if_parent(damaged: tuple[int, str], readable: int | None, transcript: bytes) -> None:
    """Raise `StateError` if a conversation with a damaged session may be the parent.

    It may be if the transcript names it last, or if the transcript has a task id that belongs to no other session.
    `readable` is where the transcript names the best other candidate, or None if there is none.
    """
    place, name = damaged
    if place > readable if readable is not None else place >= 0 or TASK in transcript:
        message = f"this conversation may be a fork of `{name}`, whose session cannot be read"
        raise StateError(message, "cancel the workflow of that conversation first")


def _candidates(folder: str) -> Iterator[tuple[str, SessionRef | None, str]]:
    """(conversation, session, task id) of every conversation with an active workflow.

    The session of a conversation whose session cannot be read is None: its workflow may be active.
    """
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        try:
            ref = hook_files.read_link(os.path.join(folder, name))
            card = current_card(ref) if ref else None
        except hook_files.UnsettledFork:
            continue
        except (StateError, ValueError, OSError):
            yield name, None, ""
            continue
        if ref and card and card["context"]:
            yield name, ref, card["state"]["task_id"]
