"""A tool is about to be called: the verdict. Standard library only, and little of it: this is the hot path."""

from __future__ import annotations

from handrail.hosts.protection import touched
from handrail.sessions import marks
from handrail.sessions.current import current_card
from handrail.sessions.gate import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.contracts import Host
    from handrail.contracts.messages import StepCall, ToolCall, Verdict
    from handrail.project import Places
    from handrail.sessions.links import SessionRef


def judge(host: Host, ref: SessionRef | None, request: ToolCall, places: Places, env: Mapping[str, str]) -> Verdict:
    """The verdict about a call. A call that is allowed is progress.

    Looking up tools is denied if a list denies it by name, but not because it is missing from a list of what is
    allowed: hosts show some tools on demand, and a tool that a list allows has to be found.
    """
    card = current_card(ref) if ref is not None else None
    gate = card["gate"] if card is not None else None
    if ref is None or gate is None:
        return verdict(None, request["tool"], request["aliases"])
    if request["is_lookup"]:
        gate = {**gate, "allow": None}
    touches = touched(host, request["call"], request["cwd"], places, env, ref.project)
    answer = verdict(gate, request["tool"], request["aliases"], touches)
    if answer["allow"] and not marks.is_set(ref.folder, marks.PROGRESS):
        marks.set_mark(ref.folder, marks.PROGRESS)
    return answer


def step(request: StepCall) -> Verdict:
    """`workflow_step` always passes, but only the main conversation moves a session."""
    if request["is_subagent"] and request["action"] != "status":
        reason = (
            "Only the main conversation moves the workflow. You may ask for its status. "
            "Finish your part and report; the main conversation goes on from there."
        )
        return {"kind": "verdict", "allow": False, "reason": reason, "tool": request["tool"], "rule": "subagent"}
    return {"kind": "verdict", "allow": True, "reason": None, "tool": request["tool"], "rule": "workflow-step"}
