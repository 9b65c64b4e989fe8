"""A tool is about to be called. Standard library only: this is the hot path."""

from __future__ import annotations

import os

from handrail.sessions import card as cards
from handrail.sessions.gate import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROGRESS = "progress"
TURN = "turn"
PAUSED = "paused"


def card_of(seat: dict[str, Any]) -> dict[str, Any]:
    """What a session's card says now, rebuilt from the journal where the card is behind. Empty: no session."""
    card = cards.read_fresh(seat["folder"])
    if card is not None:
        return card
    if cards.journal_size(seat["folder"]) is None and cards.read(seat["folder"]) is None:
        if "link" in seat:
            raise ValueError("the files of its session are missing")
        return {}
    from handrail.sessions.store import Session

    return Session(seat["folder"], seat["project"], seat["session"], _no_clock).card()


def _no_clock() -> float:
    raise AssertionError("this hook only reads")


def tool(seat: dict[str, Any] | None, request: dict[str, Any]) -> dict[str, Any]:
    """The verdict about a call. A call that is allowed is progress.

    Looking up tools is denied where a list denies it by name, not where it only is not among what is allowed:
    hosts show some tools on demand, and one that a list allows has to be found.
    """
    gate = card_of(seat).get("gate") if seat else None
    if gate is not None and request.get("is_lookup"):
        gate = {**gate, "allow": None}
    answer = verdict(gate, str(request["tool"]), request.get("aliases") or ())
    if seat and gate is not None and answer["allow"]:
        mark_progress(seat["folder"])
    return answer


def mark_progress(folder: str) -> None:
    """Remember that the agent did something since it was last sent on."""
    if not os.path.exists(os.path.join(folder, PROGRESS)):
        set_mark(folder, PROGRESS, True)


def set_mark(folder: str, name: str, there: bool) -> None:
    """A small file that is there or not. Failing to set it is no reason to fail."""
    path = os.path.join(folder, name)
    try:
        if there:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        else:
            os.unlink(path)
    except OSError:
        return


def step(request: dict[str, Any]) -> dict[str, Any]:
    """`workflow_step` always passes; only the main conversation may move a session."""
    if request["subagent"] and request["action"] != "status":
        reason = (
            "Only the main conversation moves the workflow. You may ask for its status. "
            "Finish your part and report; the main conversation goes on from there."
        )
        return {"allow": False, "reason": reason, "tool": request["tool"], "rule": "subagent"}
    return {"allow": True, "reason": None, "tool": request["tool"], "rule": "workflow-step"}
