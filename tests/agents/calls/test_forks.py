"""A forked conversation finds its parent's place at its first call, also if that call is `workflow_step`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from support import Project


@pytest.fixture
def forked(project: Project, tmp_path: Path) -> Path:
    """A transcript that a fork of a conversation with a workflow has."""
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    say(project, "parent", "UserPromptExpansion", command_name="workflow", command_args="w make tea")
    task = project.json("status", "--session", "claude-parent")["taskId"]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(f'{{"told": "{task}"}}\n', encoding="utf-8")
    return transcript


def say(project: Project, conversation: str, event: str, **more: Any) -> dict[str, Any]:
    where = {"session_id": conversation, "cwd": str(project.folder), "hook_event_name": event}
    return tell("claude", {**where, **more})


@pytest.mark.parametrize(
    ("tool", "given"), [("Read", {"file_path": "a"}), ("mcp__handrail__workflow_step", {"action": "next"})]
)
def test_the_first_call_gives_the_fork_a_session(
    project: Project, forked: Path, tool: str, given: dict[str, str]
) -> None:
    say(project, "child", "SessionStart", source="fork", transcript_path=str(forked) + ".later")
    assert "claude-child" not in sessions(project)
    say(project, "child", "PreToolUse", tool_name=tool, tool_input=given, transcript_path=str(forked))
    assert sessions(project)["claude-child"] == "active"
    assert project.json("status", "--session", "claude-child")["phase"]["id"] == "look"


def sessions(project: Project) -> dict[str, str]:
    return {row["session"]: row["status"] for row in project.json("sessions")["sessions"]}
