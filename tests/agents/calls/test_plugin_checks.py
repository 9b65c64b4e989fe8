"""`workflow_step` runs the exit checks that plugins of the project add, also for an agent that is built in."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from extensions.plugins.acme import as_folder
from handrail.app import App
from handrail.guided.sessions.sessions import Conversation
from support import Project


def test_a_check_of_a_plugin_runs_at_next(project: Project) -> None:
    as_folder(project)
    project.workflow("w", ["a", "b"])
    project.phase("w", "a", "exit:\n  - acme/loud: LOUD\n")
    app = App(str(project.folder), os.environ)
    app.start("w", "x", conversation=Conversation("claude", "c-1"))
    call = {"name": "workflow_step", "arguments": {"action": "next", "session_id": "c-1"}}
    argv = [sys.executable, "-m", "handrail", "mcp", "--agent", "claude"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
    assert answer["result"]["isError"] is False
    assert app.sessions.status("claude-c-1").state.at == 1
