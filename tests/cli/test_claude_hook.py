"""The hook of Claude Code, tested with messages only, without Claude Code itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handrail
from support import Project

HOOK = str(Path(handrail.__file__).parent / "hook.py")
TASK_DONE = "<task-notification>the build is over</task-notification>"


@pytest.fixture
def conversation(project: Project) -> Project:
    begin(project)
    return project


def begin(project: Project) -> None:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    begun = tell(project, "UserPromptExpansion", command_name="handrail:workflow", command_args="w make\ntea")
    assert "Do look." in begun["hookSpecificOutput"]["additionalContext"]


def tell(project: Project, event: str, **more: Any) -> dict[str, Any]:
    body = json.dumps({"session_id": "C", "cwd": str(project.folder), "hook_event_name": event, **more})
    argv = [sys.executable, "-I", "-S", HOOK, "claude"]
    ended = subprocess.run(argv, input=body, capture_output=True, text=True, timeout=60, check=True)
    said = json.loads(ended.stdout or "{}")
    assert isinstance(said, dict)
    return said


def sent_on(project: Project) -> bool:
    return "additionalContext" in tell(project, "Stop").get("hookSpecificOutput", {})


@pytest.mark.whole
def test_the_task_may_span_lines(conversation: Project) -> None:
    assert conversation.json("status", "--session", "claude-C")["task"] == "make\ntea"


def test_an_agent_that_stops_early_is_sent_on(conversation: Project) -> None:
    assert sent_on(conversation)


@pytest.mark.whole
def test_a_task_that_ends_after_an_interrupt_does_not_send_the_agent_on(conversation: Project) -> None:
    tell(conversation, "UserPromptSubmit", prompt="go on")
    tell(conversation, "UserPromptSubmit", prompt=TASK_DONE)  # the previous turn never ended with a stop
    assert not sent_on(conversation)
    tell(conversation, "UserPromptSubmit", prompt=TASK_DONE)
    assert not sent_on(conversation)
    tell(conversation, "UserPromptSubmit", prompt="now go on")
    assert sent_on(conversation)


def test_a_task_that_ends_after_a_stop_sends_the_agent_on(conversation: Project) -> None:
    assert not sent_on_with_tasks(conversation)
    tell(conversation, "UserPromptSubmit", prompt=TASK_DONE)
    assert sent_on(conversation)


def sent_on_with_tasks(project: Project) -> bool:
    return "hookSpecificOutput" in tell(project, "Stop", background_tasks=[{"id": "b"}])


@pytest.mark.whole
def test_the_person_is_told_that_an_agent_waits_for_background_work(conversation: Project) -> None:
    said = tell(conversation, "Stop", background_tasks=[{"id": "b"}])
    assert "lets the agent stop while its background work runs" in said["systemMessage"]


@pytest.mark.whole
def test_work_that_never_ends_keeps_no_agent_from_its_task(conversation: Project) -> None:
    """An agent may wait for each piece of background work once."""
    assert not sent_on_with_tasks(conversation)
    assert sent_on_with_tasks(conversation)
    for new in ("new", ""):
        tasks = [{"id": "b"}, {"id": new}]
        assert "hookSpecificOutput" not in tell(conversation, "Stop", background_tasks=tasks)
        assert "hookSpecificOutput" in tell(conversation, "Stop", background_tasks=tasks)


@pytest.mark.whole
def test_an_agent_that_makes_one_call_and_stops_is_let_go_and_the_person_is_told(project: Project) -> None:
    project.write(".handrail/settings.yaml", "reminders: 2\n")
    begin(project)
    for _ in range(2):
        assert tell(project, "PreToolUse", tool_name="Read", tool_input={"file_path": "a"}) == {}
        assert sent_on(project)
    assert tell(project, "PreToolUse", tool_name="Read", tool_input={"file_path": "a"}) == {}
    told = tell(project, "Stop")["systemMessage"]
    assert told.startswith("Handrail lets the agent stop: it is still in the same phase after 2 reminders.")
    assert "/cancel-workflow" in told


@pytest.mark.whole
def test_a_prompt_adds_only_the_current_position(conversation: Project) -> None:
    said = tell(conversation, "UserPromptSubmit", prompt="hello")["hookSpecificOutput"]
    assert said["additionalContext"] == "W > • Look [1/2]"
    assert said["sessionTitle"] == "Workflow: make\ntea"


@pytest.mark.whole
def test_a_second_workflow_in_a_conversation_needs_an_explicit_replace(conversation: Project) -> None:
    other = conversation.folder.parent / "other"
    (other / ".handrail" / "workflows").mkdir(parents=True)
    start = {"command_name": "workflow", "cwd": str(other)}
    refused = tell(conversation, "UserPromptExpansion", command_args="bug-fix x", **start)
    assert "/workflow --replace bug-fix x" in refused["reason"]
    tell(conversation, "UserPromptExpansion", command_args="--replace bug-fix x", **start)
    assert conversation.json("status", "--session", "claude-C")["status"] == "cancelled"


@pytest.mark.whole
def test_an_invalid_request_blocks_only_tool_calls(conversation: Project) -> None:
    assert tell(conversation, "UserPromptSubmit", prompt=TASK_DONE, transcript_path="/nonexistent") != {}
    assert tell(conversation, "NoSuchEvent") == {}
    denied = tell(conversation, "PreToolUse", tool_name="Edit", tool_input={})["hookSpecificOutput"]
    assert denied["permissionDecision"] == "deny"
