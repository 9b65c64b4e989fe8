"""The agent wants to end its turn: it is sent on while it makes progress, and let go with a reason otherwise."""

from __future__ import annotations

import os

from handrail.hosts.tools import PAUSED, PROGRESS, TURN, set_mark
from handrail.sessions import card as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stop(seat: dict[str, Any] | None, request: dict[str, Any]) -> dict[str, Any]:
    """`sendOn` is what to tell the agent, `letGo` and `farewell` what to tell the person."""
    answer = _stop(seat, request)
    if seat is not None and answer["sendOn"] is None:
        set_mark(seat["folder"], TURN, False)
    return answer


def _stop(seat: dict[str, Any] | None, request: dict[str, Any]) -> dict[str, Any]:
    nothing: dict[str, Any] = {"sendOn": None, "letGo": None, "farewell": None}
    if seat is None or cards.journal_size(seat["folder"]) is None:
        return nothing
    import time

    from handrail.sessions.machine import AgentStopped, LetGo, SentOn, Tell
    from handrail.sessions.store import Session

    session = Session(seat["folder"], seat["project"], seat["session"], time.time)
    farewell = session.card().get("farewell")
    if farewell and session.do(Tell()).decision.events:
        return {**nothing, "farewell": farewell}
    if request.get("hands_off") or os.path.exists(os.path.join(seat["folder"], PAUSED)):
        return nothing
    progress = request.get("progress", os.path.exists(os.path.join(seat["folder"], PROGRESS)))
    outcome = session.do(AgentStopped(bool(request.get("aborted")), bool(progress)))
    for event in outcome.decision.events:
        if isinstance(event, SentOn):
            set_mark(seat["folder"], PROGRESS, False)
            return {**nothing, "sendOn": session.card().get("reminder")}
        if isinstance(event, LetGo):
            way_on = "The workflow stays active: say how to go on, or /cancel-workflow."
            return {**nothing, "letGo": f"Handrail lets the agent stop: {event.reason}. {way_on}"}
    return nothing
