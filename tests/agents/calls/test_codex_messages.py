"""Codex's hook messages as requests, and Handrail's answers as hook output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.agents.codex import host

COMMON = {
    "session_id": "01a1e69f-d894-75a2-a801-7ca682bf2cd0",
    "turn_id": "01a1e69f-dc55-7822-8cee-b231641b5f38",
    "transcript_path": "/h/.codex/sessions/rollout.jsonl",
    "cwd": "/p",
    "model": "gpt-5.5",
    "permission_mode": "bypassPermissions",
}
SUBAGENT = {"agent_id": "01a1e6a1-bd56-7fd0-9c57-c46e451a2de8", "agent_type": "default"}
SHELL = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "call_84af1be9cd104e9aa492"}
REQUEST: Any = {}
"""`reply` does not look at the request."""
MOVE = {"tool_name": "mcp__handrail__workflow_step", "tool_input": {"action": "next"}, "tool_use_id": "call_1"}


def message(event: str, **more: Any) -> dict[str, Any]:
    return {**COMMON, "hook_event_name": event, **more}


def asked(event: str, **more: Any) -> Any:
    return host.request(message(event, **more))


def context(**more: Any) -> Any:
    return {"kind": "context", "text": None, "title": None, "status_line": None, "notice": None, **more}


def test_a_call_is_a_request_about_a_tool() -> None:
    found = asked("PreToolUse", **SHELL)
    assert (found["event"], found["tool"], found["is_subagent"]) == ("tool", "Bash", False)
    assert found["conversation"] == COMMON["session_id"]
    assert found["call"] == {"runs": "make", "reads": (), "writes": ()}
    assert asked("PreToolUse", **SHELL, **SUBAGENT)["is_subagent"]


def test_a_move_is_a_request_about_the_workflow() -> None:
    found = asked("PreToolUse", **MOVE)
    assert (found["event"], found["action"], "installed" in found) == ("step", "next", False)
    assert found["call_id"] == "call_1"
    assert asked("PreToolUse", **MOVE, **SUBAGENT)["is_subagent"]


def test_a_server_in_the_settings_of_a_project_has_to_be_as_installed(tmp_path: Any) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.handrail]\ncommand = "mine"\n')
    below = tmp_path / "src"
    below.mkdir()
    found = asked("PreToolUse", **MOVE, cwd=str(below))
    assert found["installed"] == (".codex/config.toml", "mcp_servers", "handrail")
    assert found["aliases"] == ("mcp:handrail/workflow_step",)


@pytest.mark.parametrize(
    ("prompt", "name", "arguments"),
    [
        ("$workflow w make tea", "start", "w make tea"),
        ("/workflow w make\ntea", "start", "w make\ntea"),
        ("  /workflow", "start", ""),
        ("$cancel-workflow", "cancel", ""),
        ("/cancel-workflow now", "cancel", "now"),
    ],
)
def test_a_command_is_typed_as_a_prompt(
    prompt: str, name: str, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODEX_THREAD_ID", raising=False)
    found = asked("UserPromptSubmit", prompt=prompt)
    assert (found["event"], found["name"], found["arguments"]) == ("command", name, arguments)


@pytest.mark.parametrize(
    "prompt",
    ["workflow w", "\n$workflow w make tea", "$workflows w", "use $workflow", "$", "/", "", "/other:workflow x"],
)
def test_another_prompt_is_a_prompt(prompt: str) -> None:
    found = asked("UserPromptSubmit", prompt=prompt)
    assert (found["event"], found["starts"], found["by_person"]) == ("prompt", None, True)


def test_a_prompt_from_the_shell_of_an_agent_is_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_THREAD_ID", "01a1e69f-d894-75a2-a801-7ca682bf2cd0")
    assert asked("UserPromptSubmit", prompt="$cancel-workflow")["event"] == "prompt"


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "SessionStart"])
def test_what_a_subagent_is_told_and_when_it_stops_is_not_about_the_conversation(event: str) -> None:
    assert asked(event, prompt="$cancel-workflow", source="resume", **SUBAGENT) is None


@pytest.mark.parametrize(("source", "meant"), [("resume", "resume"), ("compact", "compact"), ("fork", "fork")])
def test_a_conversation_opens(source: str, meant: str) -> None:
    assert asked("SessionStart", source=source)["source"] == meant


def test_other_events_mean_nothing() -> None:
    assert asked("SessionEnd", reason="other") is None
    assert asked("SubagentStart", **SUBAGENT)["event"] == "subagent"
    assert asked("Stop", stop_hook_active=True)["event"] == "stop"


def test_a_denied_call_has_exactly_the_keys_that_codex_knows() -> None:
    verdict: Any = {"kind": "verdict", "allow": False, "reason": "not now", "tool": "Bash", "rule": "blacklist"}
    said = host.reply(message("PreToolUse"), REQUEST, verdict)
    assert json.loads(json.dumps(said)) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not now",
        }
    }
    allowed: Any = {**verdict, "allow": True}
    assert host.reply(message("PreToolUse"), REQUEST, allowed) == {}


@pytest.mark.parametrize(
    ("event", "answer", "said"),
    [
        ("Stop", {"send_on": "go on", "let_go": None}, {"decision": "block", "reason": "go on"}),
        ("Stop", {"send_on": None, "let_go": "it is stuck"}, {"systemMessage": "it is stuck"}),
        ("Stop", {"send_on": None, "let_go": None}, None),
    ],
)
def test_a_stop_is_refused_or_explained(event: str, answer: dict[str, Any], said: Any) -> None:
    policy: Any = {"kind": "stop", "farewell": None, **answer}
    assert host.reply(message(event), REQUEST, policy) == said


def test_the_agent_gets_the_text_and_the_person_the_status_line() -> None:
    said = host.reply(message("UserPromptSubmit"), REQUEST, context(text="Do look.", status_line="W: Look"))
    assert said == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "Do look."},
        "systemMessage": "W: Look",
    }
    assert host.reply(message("SessionStart"), REQUEST, context()) is None


def test_a_held_command_gives_the_model_no_turn() -> None:
    said = host.reply(message("UserPromptSubmit"), REQUEST, {"kind": "held", "text": "No workflow."})
    assert said == {"decision": "block", "reason": "No workflow."}


META = {
    "callId": "call_bed14939865947ea9b6e",
    "x-codex-turn-metadata": {"thread_source": "user"},
    "threadId": "S",
    "sessionId": "S",
}


def test_codex_itself_tells_who_calls_workflow_step() -> None:
    given = {"action": "next", "session_id": "another", "sessionId": "another"}
    caller = host.step_caller(given, META)
    assert caller == {
        "conversation": "S",
        "is_subagent": False,
        "call": "call_bed14939865947ea9b6e",
        "needs_hook": True,
    }


@pytest.mark.parametrize("more", [{"threadId": "T"}, {"x-codex-turn-metadata": {"thread_source": "subagent"}}])
def test_a_subagent_has_its_own_thread(more: dict[str, Any]) -> None:
    assert host.step_caller({}, {**META, **more})["is_subagent"]


def test_without_an_id_nobody_is_named() -> None:
    assert host.step_caller({"session_id": "S"}, {})["conversation"] == ""


def test_the_result_of_a_call_is_found_in_the_history() -> None:
    called = b'{"payload":{"type":"function_call","name":"workflow_step","call_id":"call_1"}}\n'
    result = b'{"payload":{"type":"function_call_output","id":"fco_1","call_id":"call_1","output":"ok"}}\n'
    assert not host.was_told(called, "call_1")
    assert host.was_told(called + result, "call_1")
    assert not host.was_told(called + result, "call_2")


def test_everything_that_decides_about_hooks_is_protected() -> None:
    found = host.protected({}, "/h", "/p")
    assert {"/h/.codex/config.toml", "/h/.codex/hooks.json", "/h/.codex/handrail", "/p/.codex"} <= set(found)
    assert "/own/hooks.json" in host.protected({"CODEX_HOME": "/own"}, "/h", "/p")
