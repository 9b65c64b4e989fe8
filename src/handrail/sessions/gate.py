"""The verdict about one tool call, from the gate of the current stop as plain data. Pure.

Runs in a new process for every tool call an agent makes: it imports next to nothing, and the template renderer only
when a call is denied.
"""

from __future__ import annotations

from handrail import STEP_TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from handrail.contracts.messages import GateRules, Verdict


def verdict(gate: GateRules | None, tool: str, aliases: Iterable[str] = (), touches: str | None = None) -> Verdict:
    """Allow, or deny with a reason. `gate` is None if no workflow is active.

    `aliases` are the other names of the tool: an agent calls it one thing, a workflow may say another. `touches` is
    the first protected path that the call would change; that is denied in every phase.
    """
    names = {tool, *aliases}
    if gate is None:
        return _allow(tool, "no-workflow")
    if STEP_TOOL in names:
        return _allow(tool, "workflow-step")
    if touches is not None:
        return _protected(tool, touches)
    deny, allow = gate["deny"], gate["allow"]
    if deny is not None and not names.isdisjoint(deny):
        return _deny(gate, tool, "blacklist")
    if allow is not None and names.isdisjoint(allow):
        return _deny(gate, tool, "whitelist")
    return _allow(tool, "open" if deny is None and allow is None else "listed")


def _allow(tool: str, rule: str) -> Verdict:
    return {"kind": "verdict", "allow": True, "reason": None, "tool": tool, "rule": rule}


def _deny(gate: GateRules, tool: str, rule: str) -> Verdict:
    from handrail.source.templates import render

    reason = render(gate["template"], {**gate["values"], "toolName": tool})
    return {"kind": "verdict", "allow": False, "reason": reason, "tool": tool, "rule": rule}


def _protected(tool: str, path: str) -> Verdict:
    reason = (
        f"{tool} would change {path}, which belongs to Handrail or switches its hooks. While a workflow is active "
        "that is denied in every phase. Go on with the task without it."
    )
    return {"kind": "verdict", "allow": False, "reason": reason, "tool": tool, "rule": "protected"}


def undecided(tool: str, why: str, session: str, aliases: Iterable[str] = ()) -> Verdict:
    """The verdict if a workflow is active and the gate cannot be read: denied, with a way out for a person."""
    if STEP_TOOL in {tool, *aliases}:
        return _allow(tool, "workflow-step")
    reason = (
        f"Handrail cannot decide about `{tool}`: {why}. It stays blocked while the workflow is active. "
        f"A person can free this session in a terminal: `handrail cancel --yes --session {session}`."
    )
    return {"kind": "verdict", "allow": False, "reason": reason, "tool": tool, "rule": "undecided"}
