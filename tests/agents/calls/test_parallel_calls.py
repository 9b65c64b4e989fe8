"""Several calls in one message of the model: one move at most, and no call beside it that the host asks about early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.claude import host as claude
from handrail.agents.codex import host as codex
from support import Project


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()


def used(message: str, call: str) -> Any:
    return {"message": {"id": message, "content": [{"type": "tool_use", "id": call}]}}


def result(call: str) -> Any:
    return {"message": {"role": "user", "content": [{"tool_use_id": call, "type": "tool_result"}]}}


def test_claude_code_writes_the_message_of_each_call() -> None:
    history = lines(used("m", "a"), used("m", "b"), result("a"), result("b"), used("n", "c"))
    assert claude.in_one_message(history, "a", "b") is True
    assert claude.in_one_message(history, "b", "c") is False
    assert claude.in_one_message(history, "b", "later") is None
    assert claude.in_one_message(history, "unknown", "c") is False


def test_codex_writes_all_calls_of_a_message_before_the_first_result() -> None:
    call = [{"type": "function_call", "call_id": id_} for id_ in "abc"]
    output = [{"type": "function_call_output", "call_id": id_} for id_ in "abc"]
    history = lines(*call[:2], output[0], output[1], call[2], output[2])
    assert codex.in_one_message(history, "a", "b") is True
    assert codex.in_one_message(history, "b", "c") is False
    assert codex.in_one_message(lines(*call[:2]), "a", "b") is False, "nothing shows that the first one was answered"
    assert codex.in_one_message(lines(call[0], output[0]), "a", "b") is None


@pytest.fixture
def active(project: Project) -> Project:
    project.workflow("w", ["one", "two", "three"])
    origin = {"session_id": "c", "cwd": str(project.folder)}
    tell(
        "claude",
        {**origin, "hook_event_name": "UserPromptExpansion", "command_name": "workflow", "command_args": "w x"},
    )
    return project


def step(project: Project, call: str, transcript: Path, action: str = "next") -> bool:
    about = {"session_id": "c", "cwd": str(project.folder), "hook_event_name": "PreToolUse", "tool_use_id": call}
    tool = {"tool_name": claude.OWN_STEP, "tool_input": {"action": action}, "transcript_path": str(transcript)}
    said = tell("claude", {**about, **tool})["hookSpecificOutput"]
    assert said["permissionDecision"] == "allow" or "Read its result first" in said["permissionDecisionReason"]
    return bool(said["permissionDecision"] == "allow")


def test_a_message_moves_the_workflow_once(active: Project, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript"
    transcript.write_bytes(lines(used("m", "a"), used("m", "b"), used("m", "c")))
    assert [step(active, call, transcript) for call in ("a", "b", "c")] == [True, False, False]
    assert step(active, "c", transcript, "status")
    assert step(active, "a", transcript), "two installations are asked about one call"
    transcript.write_bytes(transcript.read_bytes() + lines(used("n", "d")))
    assert step(active, "d", transcript)


def copilot(project: Project, tool: str, message: int, **given: Any) -> str:
    about = {"sessionId": "C", "cwd": str(project.folder), "timestamp": message}
    return str(tell("copilot", {**about, "toolName": tool, "toolArgs": given}).get("permissionDecisionReason", ""))


def test_a_call_beside_a_move_is_denied_where_the_host_asks_about_all_calls_first(project: Project) -> None:
    project.workflow("w", ["one", "two"])
    tell("copilot", {"sessionId": "C", "cwd": str(project.folder), "timestamp": 1, "prompt": "/workflow w x"})
    assert copilot(project, "create", 2, path="a") == ""
    assert copilot(project, "handrail-copilot-workflow_step", 2, action="next") == ""
    assert "Read its result first" in copilot(project, "create", 2, path="a")
    assert "Read its result first" in copilot(project, "handrail-copilot-workflow_step", 2, action="loop")
    assert copilot(project, "create", 3, path="a") == ""
    assert copilot(project, "handrail-copilot-workflow_step", 3, action="next") == ""
