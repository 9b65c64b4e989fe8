"""A forked conversation finds its parent's place at its first call, also if that call is `workflow_step`."""

from __future__ import annotations

import threading
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


HEAD = '{"type":"custom-title","customTitle":"Workflow: tea"}\n'
PROMPT = '{"type":"user","message":{"role":"user","content":"go on"}}\n'


def test_the_first_call_waits_for_a_history_that_is_written_late(project: Project, forked: Path) -> None:
    history = forked.read_text(encoding="utf-8")
    forked.write_text(HEAD, encoding="utf-8")
    say(project, "child", "SessionStart", source="fork", transcript_path=str(forked))
    written = threading.Timer(0.3, lambda: forked.write_text(HEAD + history + PROMPT, encoding="utf-8"))
    written.start()
    answer = edited(project, forked)
    written.join()
    assert answer["permissionDecision"] == "deny"
    assert sessions(project)["claude-child"] == "active"


def test_a_fork_without_a_history_is_denied_and_one_without_a_parent_is_free(project: Project, forked: Path) -> None:
    forked.write_text(HEAD, encoding="utf-8")
    say(project, "child", "SessionStart", source="fork", transcript_path=str(forked))
    answer = edited(project, forked)
    assert answer["permissionDecision"] == "deny"
    assert "not written yet" in answer["permissionDecisionReason"]
    forked.write_text(HEAD + PROMPT, encoding="utf-8")
    assert edited(project, forked).get("permissionDecision") != "deny"


def edited(project: Project, transcript: Path) -> dict[str, Any]:
    given = {"file_path": str(project.folder / "a"), "old_string": "a", "new_string": "b"}
    answer = say(project, "child", "PreToolUse", tool_name="Edit", tool_input=given, transcript_path=str(transcript))
    return dict(answer.get("hookSpecificOutput") or {})


def sessions(project: Project) -> dict[str, str]:
    return {row["session"]: row["status"] for row in project.json("sessions")["sessions"]}
