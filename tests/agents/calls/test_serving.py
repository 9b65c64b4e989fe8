"""One process that answers all messages of an agent: `handrail serve --stdio`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support import Project

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")


class Served:
    """A connection, as a plugin has it."""

    def __init__(self) -> None:
        argv = [HANDRAIL, "serve", "--stdio", "--agent", "claude"]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        assert isinstance(said, dict)
        return said

    def hook(self, project: Project, event: str, **more: Any) -> Any:
        message = {"session_id": "C", "cwd": str(project.folder), "hook_event_name": event, **more}
        return self.ask("hook", **message)["result"]["reply"]


@pytest.fixture
def served(project: Project) -> Iterator[Served]:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    connection = Served()
    yield connection
    connection.process.communicate()
    assert connection.process.returncode == 0


def edit(served: Served, project: Project) -> str:
    said = served.hook(project, "PreToolUse", tool_name="Edit", tool_input={"file_path": "a"})
    return "denied" if "hookSpecificOutput" in said else "allowed"


def test_one_process_answers_hooks_and_the_tool(project: Project, served: Served) -> None:
    assert edit(served, project) == "allowed"
    start = served.hook(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    assert "Do look." in start["hookSpecificOutput"]["additionalContext"]
    assert edit(served, project) == "denied"
    step = {"action": "next", "session_id": "C"}
    moved = served.ask("tools/call", name="workflow_step", arguments=step)["result"]
    assert "Do build." in moved["content"][0]["text"]
    assert edit(served, project) == "allowed"


def test_a_message_that_means_nothing_gets_no_reply(project: Project, served: Served) -> None:
    assert served.hook(project, "Unheard") is None


def test_a_broken_message_is_an_error_and_the_process_goes_on(project: Project, served: Served) -> None:
    assert served.ask("hook", nothing=1)["error"]["code"] == -32603
    assert edit(served, project) == "allowed"


def test_what_others_change_is_seen(project: Project, served: Served) -> None:
    """The process keeps no state of its own."""
    served.hook(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    assert project.run("cancel", "--yes", "--session", "claude-C").code == 0
    assert edit(served, project) == "allowed"


def test_the_agent_has_to_be_known(project: Project) -> None:
    said = project.process("serve", "--stdio", "--agent", "nobody")
    assert said.code == 2
    assert "`handrail serve --stdio --agent` takes one of: claude" in said.err
    assert project.process("serve", "--agent", "claude").code == 2
