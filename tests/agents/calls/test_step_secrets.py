"""What the agent tells and is told through `workflow_step` has no secrets in it, and neither has the journal."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from handrail.agents.calls.servers import McpServer
from handrail.app import App
from handrail.extensions.registry import Registry
from handrail.guided.sessions.sessions import Conversation
from support import Project

SECRET = "own-secret-0815"


@pytest.mark.parametrize("name", ["MY_TOKEN", "SONAR_PROJECT_KEY"])
def test_the_output_of_a_check_and_the_summary_are_masked(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, SECRET)
    project.write(".handrail/settings.yaml", "secrets: {add: [SONAR_*]}\n")
    project.workflow("w", ["a", "b"])
    project.phase("w", "a", f"exit:\n  - run: echo it is ${name}; test -e ready\n")
    app = App(str(project.folder), os.environ)
    app.start("w", "x", conversation=Conversation("claude", "c-1"))
    said: list[dict[str, Any]] = []

    def step(number: int) -> str:
        server = McpServer("claude", Registry(), os.environ, said.append)
        arguments = {"action": "next", "summary": f"used {SECRET}", "session_id": "c-1"}
        call = {"name": "workflow_step", "arguments": arguments}
        server.take(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}))
        server.threads[-1].join()
        text: str = said[-1]["result"]["content"][0]["text"]
        return text

    assert "it is [hidden]" in step(1)
    project.write("ready", "")
    step(2)
    assert app.sessions.status("claude-c-1").state.summaries == (("A", "used [hidden]"),)
    assert SECRET not in json.dumps(said)
    for path in project.home.rglob("*"):
        assert not path.is_file() or SECRET not in path.read_text(errors="replace"), path
