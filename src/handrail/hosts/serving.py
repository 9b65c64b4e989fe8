"""`handrail serve --stdio --agent NAME`: one process that answers all messages of an agent whose plugin stays loaded.

The plugin keeps this process instead of starting one per event. It speaks what the MCP server speaks, with one more
method: `hook` takes a message of the host and returns Handrail's answer in the host's words. All answers, except those
about tool calls, also say where the session is, so that the plugin can show it and store it in the host's own history.
"""

from __future__ import annotations

from handrail import registry
from handrail.hosts import mcp
from handrail.hosts.answer import respond

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.contracts.messages import BranchPoint, Standing
    from handrail.sessions.links import SessionRef

HOOK = "hook"
KEEPS = "keeps"
"""A parameter of `hook`: False if the plugin cannot store a place in the history now."""


class Hooked(mcp.Server):
    """A connection that also answers hooks. They are quick, so they are answered one after the other."""

    def result(self, method: str, call: mcp.Call) -> dict[str, Any]:
        if method != HOOK:
            return super().result(method, call)
        host = registry.host(self.agent)
        request = host.request(call.params)
        if request is None:
            return {"reply": None}
        before = self.found(request["conversation"])  # the link is gone after the end
        reply = respond(host, self.agent, call.params, request, self.env)
        if request["event"] in ("tool", "step", "model", "names") or call.params.get(KEEPS) is False:
            return {"reply": reply}
        ref = self.found(request["conversation"]) or before
        if ref is None:
            return {"reply": reply, "standing": None}
        is_known = request["event"] == "branch" and request["foreign"] is None and _is_at(request["at"], ref)
        return {"reply": reply, "standing": standing(ref, is_known=is_known)}

    def call_tool(self, call: mcp.Call) -> dict[str, Any]:
        caller = registry.host(self.agent).step_caller(call.params.get("arguments") or {}, call.meta)
        ref = None if caller["is_subagent"] else self.found(caller["conversation"])
        return {**super().call_tool(call), "standing": None if ref is None else standing(ref)}

    def found(self, conversation: str) -> SessionRef | None:
        """The session of a conversation; None if it has none, or if it cannot be read."""
        try:
            return self.session(conversation)
        except (ValueError, OSError):
            return None


def _is_at(at: BranchPoint | None, ref: SessionRef) -> bool:
    """True if the last place on a branch is a place of this session."""
    return at is not None and at["session"] == ref.session


def standing(ref: SessionRef, *, is_known: bool = False) -> Standing | None:
    """Where a session is; None if that cannot be read. The host stores this place if it is new.

    `is_known`: the session was just brought to a place that the host has stored already.
    """
    from handrail.errors import StateError
    from handrail.hosts.context import mark_of
    from handrail.sessions import card as cards
    from handrail.sessions import marks
    from handrail.sessions.current import current_card

    try:
        known = current_card(ref) and cards.read_fresh(ref.folder)
    except (StateError, ValueError, OSError):
        return None
    if not known:
        return None
    number, status = str(known["number"]), known["state"]["status"]
    is_new = not is_known and status != "none" and marks.content(ref.folder, marks.BRANCH) != number
    if is_new:
        marks.set_mark(ref.folder, marks.BRANCH, number)
    return {
        "session": ref.session,
        "project": ref.project,
        "number": known["number"],
        "mark": mark_of(known["state"]),
        "status": status,
        "status_line": known["statusLine"],
        "title": known["title"],
        "is_new": is_new,
    }


def main(argv: list[str]) -> int:
    if argv[:1] == ["--stdio"]:
        argv = argv[1:]
    return mcp.main(argv, "serve --stdio", Hooked)
