"""The server of `workflow_step` imports what a call needs before the first call."""

from __future__ import annotations

import json
from typing import Any

from handrail.agents.calls.servers import McpServer
from handrail.extensions.registry import Registry


def test_a_server_that_cannot_prepare_still_answers() -> None:
    said: list[dict[str, Any]] = []
    server = McpServer("nobody", Registry(), {}, said.append)
    for number, method in enumerate(["tools/list", "ping"]):
        server.take(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}))
    assert [(answer["id"], "result" in answer) for answer in said] == [(0, True), (1, True)]
