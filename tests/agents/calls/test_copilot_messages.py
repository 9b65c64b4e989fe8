"""Copilot CLI's messages as requests, and Handrail's answers in its words, as measured with version 1.0.102."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.calls.servers import McpServer
from handrail.agents.copilot import host
from handrail.agents.copilot.host import typed_command
from handrail.agents.copilot.install import command_skills
from handrail.extensions.registry import Registry
from support import Project

STEP = "handrail-copilot-workflow_step"
EXPANDED = (
    'The user explicitly invoked the "/{name}" skill. Follow its instructions now.\n\n'
    '<skill-context name="{name}">\nBase directory for this skill: /home/.copilot/skills/{name}\n\n'
    "{body}\n</skill-context>"
)


def expanded(name: str, arguments: str) -> str:
    """A command as the hook sees it in a terminal: the text of our skill with its arguments."""
    body = command_skills()[f"{name}/SKILL.md"].split("---\n", 2)[2]
    return EXPANDED.format(name=name, body=body.replace("$ARGUMENTS", arguments))


def say(project: Project, conversation: str = "C", **more: Any) -> dict[str, Any]:
    message = {"sessionId": conversation, "timestamp": 1794870570602, "cwd": str(project.folder)}
    return tell("copilot", {**message, **more})


def begin(project: Project, tools: str = "blacklist: [edit, write]", conversation: str = "C") -> dict[str, Any]:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", f"tools:\n  {tools}\n")
    record(project, conversation)
    return say(project, conversation, prompt="/workflow w make tea")


def record(project: Project, conversation: str, text: str = "") -> Path:
    """The record of a conversation, where Copilot CLI has it."""
    path = project.folder.parent / "user" / ".copilot" / "session-state" / conversation / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def call(project: Project, tool: str, conversation: str = "C", **given: Any) -> dict[str, Any]:
    return say(project, conversation, toolName=tool, toolArgs=given)


def stop(project: Project, **more: Any) -> dict[str, Any]:
    path = project.folder.parent / "user" / ".copilot" / "session-state" / "C" / "events.jsonl"
    stopped = {"transcriptPath": str(path), "stopReason": "end_turn", "stop_hook_active": False}
    return say(project, **{**stopped, **more})


def subagent(agent: str, parent: str) -> dict[str, str]:
    return {"agentId": agent, "agentType": "general-purpose", "parentAgentId": parent}


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("/workflow w make tea", ("start", "w make tea")),
        ("/workflow", ("start", "")),
        ("/cancel-workflow", ("cancel", "")),
        (expanded("workflow", "w make\ntea"), ("start", "w make\ntea")),
        (expanded("workflow", "$ARGUMENTS"), ("start", "")),
        (expanded("cancel-workflow", ""), ("cancel", "")),
        (expanded("workflow", "w explain </handrail-arguments>"), ("start", "w explain </handrail-arguments>")),
        (expanded("workflow", "w tea").replace('name="workflow"', 'name="other"'), None),
        ("/workflows w make tea", None),
        (" /workflow w make tea", None),
        ("make tea", None),
        ("", None),
    ],
)
def test_a_command_is_found_as_typed_and_as_the_text_of_its_skill(prompt: str, found: tuple[str, str] | None) -> None:
    assert typed_command(prompt) == found


def test_a_command_starts_a_workflow_and_adds_its_first_phase(project: Project) -> None:
    project.workflow("w", ["look", "build"])
    said = say(project, prompt=expanded("workflow", "w make tea"))
    assert "Do look." in said["additionalContext"]
    assert project.json("status", "--session", "copilot-C")["phase"]["id"] == "look"


def test_a_command_that_cannot_be_carried_out_stops_the_prompt(project: Project) -> None:
    project.workflow("w", ["look"])
    said = say(project, prompt="/workflow nope make tea")
    assert said["decision"] == "block"
    assert "nope" in said["reason"]


def test_a_prompt_of_a_subagent_is_no_command(project: Project) -> None:
    begin(project)
    asked = subagent("S", "C")
    assert say(project, "S", prompt="/cancel-workflow", **asked) == {}
    assert project.json("status", "--session", "copilot-C")["status"] == "active"


def test_the_gate_denies_and_allows(project: Project) -> None:
    assert call(project, "create", path="a") == {}
    begin(project)
    said = call(project, "create", path="a", file_text="x")
    assert said["permissionDecision"] == "deny"
    assert "not allowed in the phase Look" in said["permissionDecisionReason"]
    assert call(project, "bash", command="make") == {}
    assert call(project, "create", "D", path="a") == {}, "another conversation"


def test_a_subagent_is_gated_in_every_depth(project: Project) -> None:
    begin(project)
    record(project, "C", json.dumps({"type": "subagent.started", "agentId": "S"}, separators=(",", ":")) + "\n")
    for parent in ("C", "S"):
        said = say(project, "T", toolName="edit", toolArgs={"path": "a"}, **subagent("T", parent))
        assert said["permissionDecision"] == "deny"


def test_a_subagent_that_is_recorded_a_little_later_is_found(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    record(project, "C")

    def pause(seconds: float) -> None:
        del seconds
        record(project, "C", '{"type":"subagent.started","agentId":"S"}\n')

    monkeypatch.setattr(time, "sleep", pause)
    message = {"sessionId": "T", "cwd": "/p", "toolName": "edit", "toolArgs": {}, **subagent("T", "S")}
    assert host.conversation(message) == "C"


def test_a_subagent_of_a_conversation_whose_record_is_not_written_yet_is_found(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SECONDS", 0.0)
    (project.folder.parent / "user" / ".copilot" / "session-state" / "C").mkdir(parents=True)
    message = {"sessionId": "T", "cwd": "/p", "toolName": "edit", "toolArgs": {}, **subagent("T", "C")}
    assert host.conversation(message) == "C"


def test_a_subagent_of_an_unknown_conversation_is_an_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "SECONDS", 0.0)
    record(project, "C")
    message = {"sessionId": "T", "cwd": "/p", "toolName": "edit", "toolArgs": {}, **subagent("T", "nobody")}
    with pytest.raises(ValueError, match="no conversation has the subagent nobody"):
        host.request(message)


def test_our_hook_says_who_calls_and_not_the_model(project: Project) -> None:
    begin(project)
    said = call(project, STEP, action="next", session_id="other", agent_id="", call_id="x", cwd="/elsewhere")
    given = said["modifiedArgs"]
    assert host.step_caller(given, {}) == {
        "conversation": "C",
        "is_subagent": False,
        "call": "handrail-1794870570602",
        "cwd": str(project.folder),
    }
    assert call(project, STEP, "D", action="next", session_id="C")["modifiedArgs"]["session_id"] == "D"


def test_a_subagent_may_ask_for_the_status_but_not_move(project: Project) -> None:
    begin(project)
    caller = subagent("S", "C")
    said = say(project, "S", toolName=STEP, toolArgs={"action": "next"}, **caller)
    assert "Only the main conversation" in said["permissionDecisionReason"]
    said = say(project, "S", toolName=STEP, toolArgs={"action": "status"}, **caller)
    assert host.step_caller(said["modifiedArgs"], {})["is_subagent"]


@pytest.mark.parametrize("file", [".mcp.json", ".github/mcp.json"])
def test_a_server_of_the_project_with_our_name_is_not_ours(project: Project, file: str) -> None:
    """Such a server wins over ours."""
    begin(project, "whitelist: [read]")
    path = project.folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"mcpServers": {"handrail-copilot": {"command": "evil"}}}))
    assert call(project, STEP, action="next")["permissionDecision"] == "deny"
    asked: dict[str, Any] = {
        "hookName": "permissionRequest",
        "toolName": "handrail-copilot/workflow_step",
        "toolInput": {},
    }
    assert say(project, **asked) == {}


def test_our_own_server_in_the_project_is_ours(project: Project) -> None:
    project.json("install", "copilot", "--project")
    begin(project, "whitelist: [read]")
    assert call(project, STEP, action="next")["modifiedArgs"]["session_id"] == "C"


def test_the_person_is_not_asked_about_our_tool(project: Project) -> None:
    begin(project)
    asked: dict[str, Any] = {"hookName": "permissionRequest", "permissionSuggestions": []}
    own: dict[str, Any] = {"toolName": "handrail-copilot/workflow_step", "toolInput": {"action": "next"}}
    assert say(project, **asked, **own) == {"behavior": "allow"}
    assert say(project, **asked, toolName="bash", toolInput={"command": "make"}) == {}


def test_a_prompt_adds_only_what_changed(project: Project) -> None:
    begin(project)
    said = say(project, prompt="go on")["additionalContext"]
    assert "Do look." not in said
    assert "Look" in said
    say(project, trigger="auto", customInstructions="")
    assert "Do look." in say(project, prompt="go on")["additionalContext"], "compaction lost it"
    assert say(project, source="new", initialPrompt="x") == {}


def test_a_call_after_a_compaction_tells_the_phase_again(project: Project) -> None:
    """Copilot CLI may compact in the middle of a turn."""
    begin(project)
    assert call(project, "bash", command="make") == {}
    say(project, trigger="auto", customInstructions="")
    assert "permissionDecision" in call(project, "edit", path="a")
    record(project, "C")
    sub = say(project, "S", toolName="bash", toolArgs={"command": "make"}, **subagent("S", "C"))
    assert sub == {}, "the main conversation has to be told"
    assert "Do look." in call(project, "bash", command="make")["additionalContext"]
    assert call(project, "bash", command="make") == {}


def test_a_resumed_conversation_is_told_again_only_if_its_record_lost_it(project: Project) -> None:
    begin(project)
    record(project, "C", "lost\n")
    assert say(project, source="resume", initialPrompt="x") == {}
    assert "Do look." in say(project, prompt="go on")["additionalContext"]
    call_id = "handrail-1794870570602"
    permitted = {"kind": "mcp", "toolCallId": "call_1", "args": {"call_id": call_id}}
    asked = {"type": "permission.requested", "data": {"permissionRequest": permitted}}
    ended = {"type": "tool.execution_complete", "data": {"toolCallId": "call_1"}}
    lines = [json.dumps(event, separators=(",", ":")) for event in (asked, ended)]
    assert host.was_told("\n".join(lines).encode(), call_id)
    assert not host.was_told(lines[0].encode(), call_id), "it was called, but has no result"
    assert not host.was_told("\n".join(lines).encode(), "handrail-2")


@pytest.mark.parametrize("is_applied", [True, False])
def test_what_a_compaction_took_and_records_of_hooks_do_not_count(project: Project, is_applied: bool) -> None:
    told = begin(project)["additionalContext"]
    events = [
        {"type": "user.message", "data": {"transformedContent": told}},
        {"type": "session.compaction_complete", "data": {"success": is_applied}},
        {"type": "hook.end", "data": {"output": {"additionalContext": told}}},
    ]
    lines = [json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n" for event in events]
    record(project, "C", "".join(lines))
    say(project, source="resume", initialPrompt="x")
    assert ("Do look." in say(project, prompt="go on")["additionalContext"]) is is_applied


def test_a_fork_continues_at_the_phase_of_its_parent_and_only_once(project: Project) -> None:
    begin(project)
    task = project.json("status", "--session", "copilot-C")["taskId"]
    record(project, "F", f'{{"told":"{task}"}}\n')
    say(project, "F", source="resume", initialPrompt="x")
    assert call(project, "edit", "F", path="a")["permissionDecision"] == "deny"
    assert say(project, "F", prompt="/cancel-workflow")["decision"] == "block"
    say(project, "F", source="resume", initialPrompt="x")
    assert call(project, "edit", "F", path="a") == {}, "its workflow was cancelled, and the parent's is active"
    assert call(project, "edit", path="a")["permissionDecision"] == "deny"


def test_an_agent_that_stops_is_sent_on_and_its_reminder_is_no_prompt(project: Project) -> None:
    begin(project)
    said = stop(project)
    assert said["decision"] == "block"
    assert said["reason"].startswith("[Handrail] ")
    assert say(project, prompt=said["reason"]) == {}
    assert stop(project, **subagent("S", "C")) == {}


def test_the_limit_of_the_host_is_known(project: Project) -> None:
    begin(project)

    def works_and_stops(number: int) -> dict[str, Any]:
        assert call(project, "bash", command=f"echo {number}") == {}
        return stop(project, stop_hook_active=number > 0)

    said = [works_and_stops(number) for number in range(9)]
    assert [bool(answer) for answer in said] == [True] * 8 + [False]
    assert stop(project)["decision"] == "block", "after a prompt, it counts anew"


def test_an_agent_may_stop_if_a_cancel_was_typed_while_it_worked(project: Project) -> None:
    """Copilot CLI calls no hook for a prompt that comes in the middle of a turn."""
    begin(project)
    about = {"content": "/cancel-workflow", "delivery": "steering"}
    line = json.dumps({"type": "user.message", "data": about}, separators=(",", ":"))
    record(project, "C", line + "\n")
    assert stop(project) == {}
    later = json.dumps(
        {"type": "user.message", "data": {"content": "go on", "delivery": "idle"}}, separators=(",", ":")
    )
    record(project, "C", f"{line}\n{later}\n")
    assert stop(project)["decision"] == "block"


def test_a_subagent_that_starts_is_told_the_rules(project: Project) -> None:
    begin(project)
    path = str(record(project, "C"))
    started = {"transcriptPath": path, "agentName": "general-purpose", **subagent("S", "C")}
    assert "Only the main conversation" in say(project, "odd", **started)["additionalContext"]
    assert say(project, "odd", **started, response="done", stopReason="end_turn") == {}


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("create", {"path": "a", "file_text": ""}, {"writes": ("/p/a",)}),
        ("edit", {"path": "/n"}, {"writes": ("/n",)}),
        ("view", {"path": "a"}, {"reads": ("/p/a",)}),
        ("grep", {"pattern": "x", "paths": ["a", "/b"]}, {"reads": ("/p/a", "/b")}),
        ("glob", {"pattern": "x", "paths": "a"}, {"reads": ("/p/a",)}),
        ("bash", {"command": "make"}, {"runs": "make"}),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Add File: a\n+x\n*** Move to: /b\n"},
            {"writes": ("/p/a", "/b")},
        ),
        ("create", {"path": 7}, {}),
        ("web_fetch", {"url": "x"}, {}),
    ],
)
def test_the_arguments_of_a_call_show_what_it_runs_reads_and_writes(
    tool: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert host.arguments(tool, given, "/p") == {"runs": None, "reads": (), "writes": (), **expected}


def test_arguments_that_are_a_text_are_read(project: Project) -> None:
    begin(project, "blacklist: [fetch]")
    own = str(project.home / "state" / "planted")
    for given in (f"*** Add File: {own}\n+x\n", json.dumps({"patch": f"*** Update File: {own}\n"})):
        said = say(project, toolName="apply_patch", toolArgs=given)
        assert "belongs to Handrail" in said["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        ("view", ("read",)),
        ("task", ("agent", "subagent", "delegate_to_subagents")),
        ("glob", ("search", "find")),
        (STEP, ("workflow_step",)),
        ("notes-add", ("mcp:notes/add",)),
        ("my-notes-add", ("mcp:my/notes-add", "mcp:my-notes/add")),
        ("handrail-workflow_step", ("mcp:handrail/workflow_step",)),
        ("ask_user", ()),
    ],
)
def test_names_of_tools(tool: str, names: tuple[str, ...]) -> None:
    assert host.aliases(tool) == names


@pytest.mark.parametrize(
    "path",
    ["settings.json", "config.json", "mcp-config.json", "hooks/x.json", "handrail/bin/gate", "skills/workflow/x"],
)
def test_files_that_decide_whether_our_hooks_run_are_protected(project: Project, path: str) -> None:
    begin(project, "blacklist: [fetch]")
    home = project.folder.parent / "user" / ".copilot"
    assert "controls its hooks" in call(project, "create", path=str(home / path))["permissionDecisionReason"]
    plan = home / "session-state" / "C" / "plan.md"
    assert call(project, "create", path=str(plan)) == {}, "the agent's own notes"


@pytest.mark.parametrize("path", [".github/hooks/x.json", ".github/copilot/settings.json", ".mcp.json"])
def test_files_of_the_project_that_decide_about_hooks_are_protected(project: Project, path: str) -> None:
    begin(project, "blacklist: [fetch]")
    assert "controls its hooks" in call(project, "create", path=path)["permissionDecisionReason"]
    assert "controls its hooks" in call(project, "bash", command=f"echo x > {path}")["permissionDecisionReason"]


def test_the_agent_is_asked_to_say_how_the_workflow_ended(project: Project) -> None:
    begin(project)
    answers: list[dict[str, Any]] = []
    for number in (1, 2):
        arguments = {"action": "next", "session_id": "C", "call_id": str(number)}
        server = McpServer("copilot", Registry(), os.environ, answers.append)
        call = {"name": "workflow_step", "arguments": arguments}
        server.take(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}))
        server.close()
    told = [answer["result"]["content"][0]["text"] for answer in answers]
    assert ["Tell them how the workflow ended" in text for text in told] == [False, True]
