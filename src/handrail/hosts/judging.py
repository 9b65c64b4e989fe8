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
    host = registry.host(agent or registry.OWN_TOOLS)
    cwd = os.getcwd()
    touches = touched(host, host.arguments(tool, given, cwd), cwd, app.places, app.env, app.project)
    return app.sessions.gate(tool, session, host.aliases(tool), touches)
