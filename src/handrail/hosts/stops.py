"""The agent wants to end its turn: tell it to continue while it makes progress, else let it stop with a reason."""

from __future__ import annotations

from handrail.sessions import card as cards
from handrail.sessions import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.contracts import Host
    from handrail.contracts.messages import AgentStops, StopPolicy
    from handrail.sessions.links import SessionRef


def decide(host: Host, agent: str, ref: SessionRef | None, request: AgentStops) -> StopPolicy:
    if ref is None or cards.journal_size(ref.folder) is None:
        return _policy()
    answer = _decide(host, agent, ref, request)
    if answer["send_on"] is None:
        marks.clear(ref.folder, marks.TURN)
    return answer


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
    progress = request["has_progress"]
    if progress is None:
        progress = marks.is_set(ref.folder, marks.PROGRESS)
    outcome = session.do(AgentStopped(request["was_aborted"], progress))
    for event in outcome.decision.events:
        if isinstance(event, SentOn):
            marks.clear(ref.folder, marks.PROGRESS)
            now = session.card()
            return _policy(send_on=now["reminder"] if now is not None else None)
        if isinstance(event, LetGo):
            options = f"The workflow stays active: tell the agent how to continue, or use {host.COMMANDS['cancel']}."
            return _policy(let_go=f"Handrail lets the agent stop: {event.reason}. {options}")
    return _policy()
