"""Decides about one tool call by the gate rules of the current stop, and finds the card that has these rules.

Usually the card is one small file; an outdated card is rebuilt from the journal. This runs in a new process for every
tool call, so it imports almost nothing: the template renderer only to deny a call, the store only to rebuild a card.
"""

from __future__ import annotations

import os

from handrail import STEP_TOOL
from handrail.guided.sessions import hook_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from handrail.extensions.contracts.messages import CardBody, GateRules, ToolCall, Verdict
    from handrail.guided.sessions.hook_files import SessionRef


def verdict(gate: GateRules | None, tool: str, aliases: Iterable[str] = (), touches: str | None = None) -> Verdict:
    """Allow the call, or deny it with a reason. `gate` is None if no workflow is active.

    `aliases` are other names of the tool that a workflow may use. `touches` is the first protected path that the call
    would change, or None. A call that changes a protected path is denied in every phase.
    """
    names = {tool, *aliases}
    if gate is None:
        return verdict_by("no-workflow", tool)
    if STEP_TOOL in names:
        return verdict_by("workflow-step", tool)
    if touches is not None:
        reason = (
            f"{tool} would change or call {touches}, which belongs to Handrail or controls its hooks. While a workflow "
            "is active, this is denied in every phase. Continue the task without it."
        )
        return verdict_by("protected", tool, reason)
    deny, allow = gate["deny"], gate["allow"]
    is_denied = deny is not None and not names.isdisjoint(deny)
    if is_denied or (allow is not None and names.isdisjoint(allow)):
        from handrail.source.templates import render

        reason = render(gate["template"], {**gate["values"], "toolName": tool})
        return verdict_by("blacklist" if is_denied else "whitelist", tool, reason)
    rule = "open" if deny is None and allow is None else "unlisted" if allow is None else "listed"
    return verdict_by(rule, tool)


_WORK = ("edit", "write", "bash")


def may_work(names: Iterable[str]) -> bool:
    """True if a tool with these names may write or run something. What a tool of an MCP server does is not known."""
    return any(name in _WORK or name.startswith("mcp:") for name in names)


def is_work(request: ToolCall) -> bool:
    """True if a call may write or run something."""
    call, others = request["call"], request.get("also", ())
    names = (request["tool"], *request["aliases"], *(name for names in others for name in names))
    return not request["is_harmless"] and bool(call["writes"] or call["runs"] is not None or may_work(names))


def verdict_by(rule: str, tool: str, reason: str | None = None) -> Verdict:
    """The verdict by a rule. A call is denied if there is a reason."""
    return {"kind": "verdict", "allow": reason is None, "reason": reason, "tool": tool, "rule": rule}


def too_early(tool: str) -> Verdict:
    """The verdict about a call that ends the conversation while a workflow is active."""
    reason = (
        f"{tool} ends the conversation, and the workflow is not done yet. Finish its phases first; "
        f'call {STEP_TOOL} with action "status" to see where you are. Then call {tool} again.'
    )
    return verdict_by("too-early", tool, reason)


def undecided(tool: str, why: str, session: str, aliases: Iterable[str] = ()) -> Verdict:
    """The verdict if a workflow is active but its gate cannot be read: deny, and say how a person can cancel."""
    if STEP_TOOL in {tool, *aliases}:
        return verdict_by("workflow-step", tool)
    reason = (
        f"Handrail cannot decide about `{tool}`: {why}. It stays blocked while the workflow is active. "
        f"A person can free this session in a terminal: `handrail cancel --yes --session {session}`."
    )
    return verdict_by("undecided", tool, reason)


def current_card(ref: SessionRef) -> CardBody | None:
    """The card of a session, rebuilt if it is older than the journal; None if there is no session.

    Raises `ValueError` or `StateError` if there is a session, or a link to one, but its state cannot be read.
    """
    card: CardBody | None = hook_files.read_fresh_card(ref.folder)
    if card is not None:
        return card
    if hook_files.journal_size(ref.folder) is None and hook_files.read_card(ref.folder) is None:
        if ref.link is not None or os.path.lexists(os.path.join(ref.folder, hook_files.ABOUT)):
            raise ValueError("the files of its session are missing")
        return None
    from time import time

    from handrail.guided.sessions.store import Session

    card = Session(ref, time).card()
    if card is None:
        raise ValueError("the journal of its session has no valid record")
    return card
