"""The verdict about one tool call, from the gate of the current stop as plain data. Pure.

Runs in a fresh process for every tool call an agent makes: no imports but the template renderer, and that
only when a call is denied.
"""

from __future__ import annotations

from handrail import STEP_TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def verdict(gate: dict[str, Any] | None, tool: str, aliases: Iterable[str] = ()) -> dict[str, Any]:
    """Allow, or deny with a reason. `gate` is nothing when no workflow is active.

    `aliases` are the other names of the tool: an agent calls it one thing, a workflow may say another.
    """
    names = {tool, *aliases}
    if gate is None:
        return _allow(tool, "no-workflow")
    if STEP_TOOL in names:
        return _allow(tool, "workflow-step")
    deny, allow = gate["deny"], gate["allow"]
    if deny is not None and not names.isdisjoint(deny):
        return _deny(gate, tool, "blacklist")
    if allow is not None and names.isdisjoint(allow):
        return _deny(gate, tool, "whitelist")
    return _allow(tool, "open" if deny is None and allow is None else "listed")


def _allow(tool: str, rule: str) -> dict[str, Any]:
    return {"allow": True, "reason": None, "tool": tool, "rule": rule}


def _deny(gate: dict[str, Any], tool: str, rule: str) -> dict[str, Any]:
    from handrail.source.templates import render

    reason = render(gate["template"], {**gate["values"], "toolName": tool})
    return {"allow": False, "reason": reason, "tool": tool, "rule": rule}


def undecided(tool: str, why: str, session: str, aliases: Iterable[str] = ()) -> dict[str, Any]:
    """The answer when a workflow is active and the gate cannot be read: closed, with a way out."""
    if STEP_TOOL in {tool, *aliases}:
        return _allow(tool, "workflow-step")
    reason = (
        f"Handrail cannot decide about `{tool}`: {why}. It stays blocked while the workflow is active. "
        f"A person can free this session in a terminal: `handrail cancel --yes --session {session}`."
    )
    return {"allow": False, "reason": reason, "tool": tool, "rule": "undecided"}
