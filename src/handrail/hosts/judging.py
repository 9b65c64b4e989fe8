"""The verdict about a tool call that is described on the command line, the same as a host's hook gives."""

from __future__ import annotations

import os

from handrail import registry
from handrail.hosts.protection import touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.app import App
    from handrail.contracts.messages import Verdict


def judge(app: App, agent: str | None, tool: str, given: dict[str, Any], session: str | None) -> Verdict:
    """The verdict. Without an agent, the tool may have any agent's name for it: `Edit` is `edit`."""
    name = agent or _owner(tool)
    host = registry.host(name)
    cwd = os.getcwd()
    touches = touched(host, host.arguments(tool, given, cwd), cwd, app.places, app.env, app.project)
    return app.sessions.gate(tool, session, host.aliases(tool), touches)


def _owner(tool: str) -> str:
    """The agent whose name for a tool this is. Handrail's own names come first."""
    is_own = tool in registry.tool_names(registry.OWN_TOOLS)[0]
    owners = [name for name in registry.built_in_hosts() if registry.host(name).aliases(tool)]
    return owners[0] if owners and not is_own else registry.OWN_TOOLS


def doubt(agent: str | None, tool: str) -> str | None:
    """A warning if no agent has such a tool: the verdict about it says nothing about a real call."""
    from handrail.workflows.toolnames import unknown_tool

    hint = unknown_tool(tool, registry.built_in_hosts() if agent is None else [agent, registry.OWN_TOOLS])
    return None if hint is None else f"there is no tool `{tool}`; {hint}"
