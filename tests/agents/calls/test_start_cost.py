"""What a session costs before its first tool call: no import that takes longer than starting Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from support import Project

COSTLY = {"asyncio", "email", "logging", "ssl"}
START = {
    "session_id": "11111111-2222-4333-8444-555555555555",
    "hook_event_name": "UserPromptExpansion",
    "expansion_type": "slash_command",
    "command_name": "workflow",
    "command_args": "review a task",
}
PREPARE = (
    "import sys; from handrail.agents.calls.servers import McpServer;"
    "from handrail.extensions.registry import Registry;"
    "McpServer('claude', Registry(), {}, print).prepare(); print(*sys.modules)"
)


def test_the_hook_that_starts_a_workflow_imports_nothing_costly(project: Project) -> None:
    project.run("install", "claude")
    message = json.dumps({**START, "cwd": str(project.folder), "transcript_path": str(project.folder / "none.jsonl")})
    argv = [sys.executable, "-I", "-X", "importtime", "-m", "handrail", "hook", "claude"]

    def loaded(message: str) -> set[str]:
        ended = subprocess.run(argv, input=message, capture_output=True, text=True, cwd=project.folder, check=True)
        assert "Workflow path" in ended.stdout
        return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}

    first, second = loaded(message), loaded(message.replace("11111111", "22222222"))
    assert "handrail.agents.calls.install" in first
    assert not first & COSTLY
    assert "handrail.app" in second
    assert not second & {"handrail.agents.calls.install", "dataclasses", "inspect", *COSTLY}, "nothing changed since"


def test_the_server_of_workflow_step_prepares_without_costly_imports() -> None:
    argv = [sys.executable, "-I", "-c", PREPARE]
    loaded = set(subprocess.run(argv, capture_output=True, text=True, env=os.environ, check=True).stdout.split())
    assert "handrail.guided.sessions.sessions" in loaded
    assert not loaded & COSTLY
