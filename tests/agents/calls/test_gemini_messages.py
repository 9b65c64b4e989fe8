"""Gemini CLI's hook messages as requests, and Handrail's answers as hook output. The samples are real messages."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.gemini import host, install
from handrail.agents.gemini.host import CANCELS, TOOLS

COMMON = {
    "session_id": "fc9bd5dc-3a19-4bd5-aa09-7d9874e49a03",
    "transcript_path": "/home/me/.gemini/tmp/p/chats/session-2026-11-16T23-14-fc9bd5dc.jsonl",
    "cwd": "/p",
    "timestamp": "2026-11-16T23:14:09.541Z",
}
OURS = {
    "server_name": "handrail",
    "tool_name": "workflow_step",
    "command": sys.executable,
    "args": ["-I", "-m", "handrail", "mcp", "--agent", "gemini"],
}


def message(event: str, **more: Any) -> dict[str, Any]:
    return {**COMMON, "hook_event_name": event, **more}


def step(**server: Any) -> dict[str, Any]:
    given = {"action": "next", "session_id": "another", "call_id": "x"}
    return message(
        "BeforeTool", tool_name="mcp_handrail_workflow_step", tool_input=given, mcp_context={**OURS, **server}
    )


def request(data: dict[str, Any]) -> Any:
    asked = host.request(data)
    assert asked is not None
    return asked


def context(**fields: str | None) -> Any:
    return {"kind": "context", "text": None, "title": None, "status_line": None, "notice": None, **fields}


def test_a_call_is_a_request_with_its_names_and_paths() -> None:
    asked = request(message("BeforeTool", tool_name="write_file", tool_input={"file_path": "a", "content": ""}))
    assert asked["event"] == "tool"
    assert asked["conversation"] == COMMON["session_id"]
    assert asked["aliases"] == ("write",)
    assert asked["call"] == {"runs": None, "reads": (), "writes": ("/p/a",)}
    assert not asked["runs_subagent"]


def test_a_subagent_is_noted_because_its_calls_look_like_those_of_the_main_agent() -> None:
    given = {"agent_name": "generalist", "prompt": "do it"}
    assert request(message("BeforeTool", tool_name="invoke_agent", tool_input=given))["runs_subagent"]
    ended = message("AfterTool", tool_name="invoke_agent", tool_input=given, tool_response={"llmContent": "x"})
    assert request(ended)["event"] == "subagent-end"
    assert host.request(message("AfterTool", tool_name="read_file", tool_input={})) is None


def test_only_our_server_has_workflow_step() -> None:
    assert request(step())["event"] == "step"
    for other in ({"command": "/other/python"}, {"args": ["server.py"]}, {"server_name": "other"}, {"args": None}):
        asked = request(step(**other))
        assert asked["event"] == "tool"
        assert "workflow_step" not in asked["aliases"]
    assert request({**step(), "mcp_context": None})["event"] == "tool", "a tool that names no server is not ours"


def test_the_gate_says_who_calls_workflow_step_whatever_the_model_wrote() -> None:
    data = step()
    allowed: Any = {"kind": "verdict", "allow": True, "reason": None, "tool": "x", "rule": "workflow-step"}
    said = host.reply(data, request(data), allowed)
    assert said is not None
    given = said["hookSpecificOutput"]["tool_input"]
    assert given["action"] == "next"
    caller = host.step_caller(given, {})
    assert caller["conversation"] == COMMON["session_id"]
    assert (caller["call"], caller.get("cwd")) == (COMMON["timestamp"], "/p")
    assert host.was_told(b'{"args":{"call_id":"2026-11-16T23:14:09.541Z","cwd":"/p"},"result":[]}', caller["call"])
    assert not host.was_told(b"{}", caller["call"])


def test_verdicts_in_the_words_of_the_host() -> None:
    data = message("BeforeTool", tool_name="replace", tool_input={"file_path": "a"})
    asked = request(data)
    denied: Any = {"kind": "verdict", "allow": False, "reason": "no", "tool": "replace", "rule": "deny"}
    assert host.reply(data, asked, denied) == {"decision": "deny", "reason": "no"}
    allowed: Any = {**denied, "allow": True}
    assert host.reply(data, asked, allowed) == {}


def test_what_the_commands_expand_to_is_recognised() -> None:
    typed = {name: tomllib.loads(text)["prompt"] for name, text in install.command_files().items()}
    text = typed["workflow.toml"].replace("{{args}}", "release the login\nand more")
    start = request(message("BeforeAgent", prompt=text))
    assert (start["event"], start["name"], start["arguments"]) == ("command", "start", "release the login\nand more")
    bare = request(message("BeforeAgent", prompt=typed["workflow.toml"].replace("{{args}}", "")))
    assert (bare["name"], bare["arguments"]) == ("start", "")
    assert request(message("BeforeAgent", prompt=typed["cancel-workflow.toml"]))["name"] == "cancel"


@pytest.mark.parametrize("text", ["hello", "Start a Handrail workflow: how?", "Please cancel the Handrail workflow."])
def test_other_prompts_are_prompts_of_a_person(text: str) -> None:
    asked = request(message("BeforeAgent", prompt=text))
    assert (asked["event"], asked["by_person"], asked["starts"]) == ("prompt", True, None)


def test_a_reminder_is_no_prompt_of_a_person() -> None:
    stop = message("AfterAgent", prompt="hello", prompt_response="I stop", stop_hook_active=False)
    policy: Any = {"kind": "stop", "send_on": "Go on.", "let_go": None, "farewell": None}
    said = host.reply(stop, request(stop), policy)
    assert said is not None
    assert said["decision"] == "deny"
    assert host.request(message("BeforeAgent", prompt=said["reason"])) is None


@pytest.mark.parametrize("name", ["let_go", "farewell"])
def test_the_person_is_told_why_the_agent_stopped(name: str) -> None:
    stop = message("AfterAgent", prompt="hello", prompt_response="I stop", stop_hook_active=True)
    policy: Any = {"kind": "stop", "send_on": None, "let_go": None, "farewell": None}
    assert host.reply(stop, request(stop), policy) is None
    told: Any = {**policy, name: "why"}
    assert host.reply(stop, request(stop), told) == {"systemMessage": "why"}


def test_a_held_command_costs_no_call_of_the_model() -> None:
    data = message("BeforeAgent", prompt=CANCELS)
    said = host.reply(data, request(data), {"kind": "held", "text": "Cancelled."})
    assert said == {"decision": "deny", "reason": "Cancelled.", "systemMessage": "Cancelled."}


def test_a_prompt_gets_the_context_and_the_person_sees_the_status_line() -> None:
    data = message("BeforeAgent", prompt="go on")
    said = host.reply(data, request(data), context(text="the phase", status_line="W > Look"))
    assert said == {
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "the phase"},
        "systemMessage": "W > Look",
    }
    assert host.reply(data, request(data), context()) is None


def test_a_call_of_the_model_keeps_its_messages_and_gets_one_more() -> None:
    old = [{"role": "user", "content": "do it"}]
    data = message("BeforeModel", llm_request={"model": "m", "messages": old, "config": {"topK": 64}})
    asked = request(data)
    assert (asked["event"], asked["messages"]) == ("model", 1)
    assert host.reply(data, asked, context()) is None
    said = host.reply(data, asked, context(text="the phase"))
    assert said is not None
    changed = said["hookSpecificOutput"]["llm_request"]
    assert changed == {"messages": [*old, {"role": "user", "content": "the phase"}]}


@pytest.mark.parametrize(
    ("event", "more", "source"),
    [("SessionStart", {"source": "resume"}, "resume"), ("PreCompress", {"trigger": "manual"}, "compacting")],
)
def test_a_conversation_that_comes_back_is_told_at_its_next_prompt(
    event: str, more: dict[str, Any], source: str
) -> None:
    asked = request(message(event, **more))
    assert (asked["event"], asked["source"], asked["waits"]) == ("begin", source, True)


@pytest.mark.parametrize(
    ("tool", "given", "call"),
    [
        ("replace", {"file_path": "/a"}, {"runs": None, "reads": (), "writes": ("/a",)}),
        ("read_file", {"file_path": "a"}, {"runs": None, "reads": ("/p/a",), "writes": ()}),
        ("list_directory", {"dir_path": "d"}, {"runs": None, "reads": ("/p/d",), "writes": ()}),
        ("run_shell_command", {"command": "make"}, {"runs": "make", "reads": (), "writes": ()}),
        (
            "run_shell_command",
            {"command": "make", "dir_path": "it's"},
            {"runs": "cd 'it'\"'\"'s' && make", "reads": (), "writes": ()},
        ),
        ("write_file", {"file_path": 7}, {"runs": None, "reads": (), "writes": ()}),
        ("web_fetch", {"prompt": "x"}, {"runs": None, "reads": (), "writes": ()}),
    ],
)
def test_the_arguments_of_a_call_show_what_it_runs_reads_and_writes(
    tool: str, given: dict[str, Any], call: dict[str, Any]
) -> None:
    assert host.arguments(tool, given, "/p") == call


def test_every_word_of_the_vocabulary_names_a_tool() -> None:
    known = {name for tool in TOOLS for name in host.aliases(tool)}
    assert {"read", "write", "edit", "bash", "search", "fetch", "agent", "grep", "find", "ls"} <= known


def test_tools_of_other_servers_have_their_own_names() -> None:
    assert host.aliases("mcp_notes_add") == ("mcp:notes/add",)
    assert set(host.aliases("mcp_my_notes_add")) == {"mcp:my/notes_add", "mcp:my_notes/add"}
    server = {"server_name": "my_notes", "tool_name": "add", "command": "x", "args": []}
    asked = request(message("BeforeTool", tool_name="mcp_my_notes_add", tool_input={}, mcp_context=server))
    assert asked["aliases"] == ("mcp:my_notes/add",)
    assert host.aliases("write_todos") == ()


def test_protected_files_are_those_that_decide_whether_hooks_run() -> None:
    found = host.protected({}, "/h", "/p")
    for path in (
        "/h/.gemini/settings.json",
        "/p/.gemini/settings.json",
        "/h/.gemini/handrail",
        "/p/.gemini/.env",
        "/p/.env",
        "/h/.gemini/trustedFolders.json",
        "/h/.gemini/policies",
    ):
        assert path in found
    assert "/own/.gemini/settings.json" in host.protected({"GEMINI_CLI_HOME": "/own"}, "/h", "/p")


USER = '{"id":"1","timestamp":"t","type":"user","content":[{"text":"go on"}]}'
ANSWER = '{"id":"2","timestamp":"t","type":"gemini","content":"A stop."}'
CANCELLED = '{"id":"3","timestamp":"t","type":"info","content":"Request cancelled."}'
REWRITTEN = '{"$set":{"messages":[{"type":"gemini","content":"old"}]}}'
TOLD = '{"id":"4","timestamp":"t","type":"info","content":"W > Look"}'


@pytest.mark.parametrize(
    ("lines", "is_interrupt"),
    [
        ([USER, ANSWER], False),
        ([USER, ANSWER, REWRITTEN, TOLD], False),
        ([USER, ANSWER, USER, CANCELLED, REWRITTEN], True),
        ([USER, ANSWER, USER, REWRITTEN], True),
        ([], False),
    ],
)
def test_a_turn_without_an_answer_was_interrupted(tmp_path: Path, lines: list[str], is_interrupt: bool) -> None:
    record = tmp_path / "session.jsonl"
    record.write_text("\n".join(lines))
    stop = message("AfterAgent", prompt="go on", prompt_response="x", stop_hook_active=False)
    assert request({**stop, "transcript_path": str(record)})["was_aborted"] == is_interrupt
    assert not request({**stop, "transcript_path": "/gone"})["was_aborted"]
