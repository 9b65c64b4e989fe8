"""`handrail serve --stdio --agent NAME`: one process that answers all messages of an agent whose plugin stays loaded.

The plugin keeps this process instead of starting one per event. It speaks what the MCP server speaks, with one more
method: `hook` takes a message of the host and returns Handrail's answer in the host's words.
"""

from __future__ import annotations

from handrail import registry
from handrail.hosts import mcp
from handrail.hosts.answer import respond

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOOK = "hook"


class Hooked(mcp.Server):
    """A connection that also answers hooks. They are quick, so they are answered one after the other."""

    def result(self, method: str, call: mcp.Call) -> dict[str, Any]:
        if method != HOOK:
            return super().result(method, call)
        host = registry.host(self.agent)
        request = host.request(call.params)
        return {"reply": None if request is None else respond(host, self.agent, call.params, request, self.env)}


def main(argv: list[str]) -> int:
    if argv[:1] == ["--stdio"]:
        argv = argv[1:]
    return mcp.main(argv, "serve --stdio", Hooked)
