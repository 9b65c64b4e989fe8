"""The verdict about a tool call. Runs at every call, so it imports little, and only from the standard library."""

from __future__ import annotations

from handrail.hosts.protection import is_as_installed, touched
from handrail.sessions import marks
from handrail.sessions.current import current_card
from handrail.sessions.gate import too_early, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.contracts import Host
    from handrail.contracts.messages import Call, StepCall, ToolCall, Verdict
    from handrail.project import Places
    from handrail.sessions.links import SessionRef


def judge(host: Host, ref: SessionRef | None, request: ToolCall, places: Places, env: Mapping[str, str]) -> Verdict:
    """The verdict about a call. An allowed call counts as progress.

    A harmless tool is denied if the blacklist names it, but a whitelist does not have to name it: the agent has to be
    able to find a tool that the whitelist allows, and to ask the person. The main agent may return its result only
    after the workflow: the conversation ends with it.
    """
    answer = _judge(host, ref, request, places, env)
    if not answer["allow"] and ref is not None:
        _leave_trail(ref, answer, request["call"], env)
    return answer


def _leave_trail(ref: SessionRef, answer: Verdict, call: Call | None, env: Mapping[str, str]) -> None:
    """Record a denied call for people."""
    import time

    from handrail.sessions.trail import add

    add(ref.folder, answer, call, env, time.time())


def _judge(host: Host, ref: SessionRef | None, request: ToolCall, places: Places, env: Mapping[str, str]) -> Verdict:
    card = current_card(ref) if ref is not None else None
    gate = card["gate"] if card is not None else None
    if ref is None or gate is None:
        return verdict(None, request["tool"], request["aliases"])
    if request.get("is_last") and not request["is_subagent"]:
        return too_early(request["tool"])
    if request["is_harmless"]:
        gate = {**gate, "allow": None}
    answer = verdict(gate, request["tool"], request["aliases"])
    for names in request.get("also", ()):
        answer = verdict(gate, names[0], names) if answer["allow"] else answer
    if answer["allow"] and answer["rule"] != "workflow-step":
        touches = touched(host, request["call"], request["cwd"], places, env, ref.project)
        answer = answer if touches is None else verdict(gate, request["tool"], request["aliases"], touches)
    if answer["allow"] and not marks.is_set(ref.folder, marks.PROGRESS):
        marks.set_mark(ref.folder, marks.PROGRESS)
    if answer["allow"] and request.get("runs_subagent"):
        marks.begin_subagent(ref.folder)
    if answer["allow"] and request.get("takes_context") and not request["is_subagent"] and card is not None:
        from handrail.hosts.context import news

        answer["context"] = news(ref.folder, card)
    return answer


def step(agent: str, ref: SessionRef | None, request: StepCall, places: Places) -> Verdict:
    """`workflow_step` is always allowed, but only the main conversation may move a session."""
    proof = request.get("installed")
    if proof is not None and (ref is None or not is_as_installed(places, agent, ref.project, proof)):
        card = current_card(ref) if ref is not None else None
        return verdict(card["gate"] if card is not None else None, request["tool"], request["aliases"])
    if ref is not None and "call_id" in request:
        marks.see_call(ref.folder, request["call_id"])
    is_subagent = request["is_subagent"] or (ref is not None and marks.has_subagent(ref.folder))
    if is_subagent and request["action"] != "status":
        reason = (
            "Only the main conversation moves the workflow. You may ask for its status. "
            "Finish your part and report your result; the main conversation continues from there."
        )
        return {"kind": "verdict", "allow": False, "reason": reason, "tool": request["tool"], "rule": "subagent"}
    return {"kind": "verdict", "allow": True, "reason": None, "tool": request["tool"], "rule": "workflow-step"}
