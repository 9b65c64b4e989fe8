"""The agent wants to end its turn: tell it to continue while it makes progress, else let it stop with a reason.

An agent may wait for background work, once for each piece: work that never ends must not keep the agent from its task.
"""

from __future__ import annotations

from handrail import FOR_ONE_CALL
from handrail.sessions import marks
from handrail.sessions.current import current_card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.contracts import Host
    from handrail.contracts.messages import AgentStops, StopPolicy
    from handrail.sessions.links import SessionRef


WAITS = (
    "Handrail lets the agent stop while its background work runs, and continues when that ends. "
    "If the work never ends, such as a server, tell the agent to go on."
)


def decide(host: Host, agent: str, ref: SessionRef | None, request: AgentStops, env: Mapping[str, str]) -> StopPolicy:
    if ref is None or current_card(ref) is None or _is_of_another_stub(ref, env):
        return _policy()
    answer = _decide(host, agent, ref, request)
    if answer["send_on"] is None:
        marks.clear(ref.folder, marks.TURN)
    if answer["let_go"] is not None:
        marks.set_mark(ref.folder, marks.LET_GO, answer["let_go"].partition(". ")[0])
    return answer


def _is_of_another_stub(ref: SessionRef, env: Mapping[str, str]) -> bool:
    """True if a run drives this session: it has stubs of its own, and an installed stub would count the stop twice."""
    if env.get(FOR_ONE_CALL):
        return False
    from handrail.sessions import about

    known = about.read(ref.folder)
    return ref.link is not None and known is not None and known.run is not None


def _sent(ref: SessionRef, request: AgentStops) -> int:
    """How often the agent was sent on since the last prompt."""
    known = marks.content(ref.folder, marks.SENT) if request.get("was_sent_on") else ""
    return int(known) if known.isdigit() else 0


def _policy(send_on: str | None = None, let_go: str | None = None, farewell: str | None = None) -> StopPolicy:
    return {"kind": "stop", "send_on": send_on, "let_go": let_go, "farewell": farewell}


def _decide(host: Host, agent: str, ref: SessionRef, request: AgentStops) -> StopPolicy:
    import time

    from handrail.sessions.machine import AgentStopped, LetGo, SentOn, Tell
    from handrail.sessions.store import Session

    session = Session(ref, time.time, lambda: f"agent:{agent}")
    card = session.card()
    farewell = card["farewell"] if card is not None else None
    if farewell and session.do(Tell()).decision.events:
        return _policy(farewell=farewell)
    if request["hands_off"] or marks.is_set(ref.folder, marks.PAUSED):
        return _policy()
    if request["awaits"] and card is not None and card["context"] and marks.is_new_work(ref.folder, request["awaits"]):
        return _policy(let_go=WAITS)
    sent, cap = _sent(ref, request), request.get("cap")
    if cap is not None and sent >= cap and card is not None and card["context"]:
        why = f"the agent's program sends it on at most {cap} times after a prompt"
        return _policy(let_go=f"Handrail cannot send the agent on: {why}. The workflow stays active: write a prompt.")
    progress = request["has_progress"]
    if progress is None:
        progress = marks.is_set(ref.folder, marks.PROGRESS)
    outcome = session.do(AgentStopped(request["was_aborted"], progress))
    for event in outcome.decision.events:
        if isinstance(event, SentOn):
            marks.clear(ref.folder, marks.PROGRESS)
            if cap is not None:
                marks.set_mark(ref.folder, marks.SENT, str(sent + 1))
            now = session.card()
            return _policy(send_on=now["reminder"] if now is not None else None)
        if isinstance(event, LetGo):
            options = f"The workflow stays active: tell the agent how to continue, or use {host.COMMANDS['cancel']}."
            return _policy(let_go=f"Handrail lets the agent stop: {event.reason}. {options}")
    return _policy()
