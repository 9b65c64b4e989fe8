"""Which of Claude Code's commands, tools and turns are ours, and which belong to somebody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.claude import host
from handrail.guided.sessions import hook_files
from support import Project

PLUGIN = "mcp__plugin_handrail_handrail__workflow_step"
LISTED = "mcp__handrail__workflow_step"
DONE = "<task-notification>\n<task-id>b1</task-id>"


def say(project: Project, event: str, **more: Any) -> dict[str, Any]:
    return tell("claude", {"session_id": "C", "cwd": str(project.folder), "hook_event_name": event, **more})


def begin(project: Project, tools: str = "whitelist: [read]", command: str = "handrail:workflow") -> dict[str, Any]:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", f"tools:\n  {tools}\n")
    return say(project, "UserPromptExpansion", command_name=command, command_args="w make tea", prompt_id="P1")


def decision(project: Project, tool: str, source: str | None = None, **given: Any) -> dict[str, Any]:
    server = {} if source is None else {"mcp_server": {"name": "handrail", "source": source}}
    said = say(project, "PreToolUse", tool_name=tool, tool_input=given, **server)
    found = said.get("hookSpecificOutput", {})
    assert isinstance(found, dict)
    return found


def is_denied(project: Project, tool: str, source: str | None = None, **given: Any) -> bool:
    return decision(project, tool, source, **given).get("permissionDecision") == "deny"


@pytest.mark.parametrize("command", ["workflow", "handrail:workflow"])
def test_our_command_starts_with_and_without_our_prefix(project: Project, command: str) -> None:
    assert "Do look." in begin(project, command=command)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("command", ["other:workflow", "handrail:other:workflow", "x-handrail:workflow"])
def test_a_workflow_command_of_another_plugin_is_not_ours(project: Project, command: str) -> None:
    assert begin(project, command=command) == {}
    assert say(project, "UserPromptSubmit", prompt=f"/{command} w make tea") == {}
    assert not (project.home / "state" / "hosts").exists()


def test_a_queued_cancel_of_another_plugin_is_not_ours() -> None:
    def queued(text: str) -> bool:
        entry = {"type": "queue-operation", "operation": "enqueue", "content": text}
        return host.has_queued_cancel([entry])

    assert queued("/cancel-workflow")
    assert queued("/handrail:cancel-workflow now")
    assert not queued("/other:cancel-workflow")
    assert not queued("please /cancel-workflow")


@pytest.mark.parametrize("tool", ["ToolSearch", "AskUserQuestion", "ExitPlanMode"])
def test_a_whitelist_does_not_have_to_name_tools_that_change_nothing(project: Project, tool: str) -> None:
    begin(project)
    assert not is_denied(project, tool)


def test_the_result_may_be_returned_after_the_workflow_and_by_subagents(project: Project) -> None:
    """Claude Code ends a conversation with `StructuredOutput`, and no hook can keep it going."""
    begin(project)
    said = say(project, "PreToolUse", tool_name="StructuredOutput", tool_input={})["hookSpecificOutput"]
    assert "the workflow is not done yet" in said["permissionDecisionReason"]
    assert say(project, "PreToolUse", tool_name="StructuredOutput", tool_input={}, agent_id="a") == {}
    assert project.run("cancel", "--yes", "--session", "claude-C").code == 0
    assert not is_denied(project, "StructuredOutput")


def test_a_blacklist_can_name_a_tool_that_changes_nothing(project: Project) -> None:
    begin(project, "blacklist: [AskUserQuestion]")
    assert is_denied(project, "AskUserQuestion")


@pytest.mark.parametrize(
    ("tools", "denied"),
    [
        ("blacklist: [bash]", True),
        ("blacklist: [edit, write]", False),
        ("whitelist: [read]", True),
        ("whitelist: [read, bash]", False),
        ("whitelist: [read, Skill]", False),
    ],
)
def test_a_skill_counts_as_a_shell(project: Project, tools: str, denied: bool) -> None:
    begin(project, tools)
    assert is_denied(project, "Skill", skill="release") is denied


def test_the_tool_of_our_plugin_is_allowed_without_a_question(project: Project) -> None:
    begin(project)
    for source in ("plugin", None):  # versions before 2.1.325 do not tell the source
        said = decision(project, PLUGIN, source, action="status")
        assert said["permissionDecision"] == "allow"
        assert said["updatedInput"]["session_id"] == "C"


@pytest.mark.parametrize(("tool", "source"), [(LISTED, "project"), (LISTED, "user"), (PLUGIN, "project")])
def test_the_tool_of_another_server_with_our_name_is_a_foreign_tool(project: Project, tool: str, source: str) -> None:
    project.write(".mcp.json", json.dumps({"mcpServers": {"handrail": {"command": "other"}}}))
    begin(project)
    assert is_denied(project, tool, source, action="next")
    begin(project, "blacklist: [edit]")
    say(project, "UserPromptExpansion", command_name="workflow", command_args="--replace w make tea")
    assert decision(project, tool, source, action="next") == {}, "the person is asked, as for every other tool"


def test_the_tool_of_an_installation_for_the_project_is_ours_until_its_entry_changes(project: Project) -> None:
    project.json("install", "claude", "--project")
    begin(project)
    assert decision(project, LISTED, "project", action="status")["updatedInput"]["session_id"] == "C"
    listed = project.folder / ".mcp.json"
    listed.write_text(listed.read_text().replace('"mcp"', '"other"'))
    assert is_denied(project, LISTED, "project", action="status")


def session(project: Project) -> str:
    return str(next((project.home / "state" / "sessions").glob("*/claude-C")))


def test_a_notification_in_the_middle_of_a_turn_is_not_an_interrupt(project: Project) -> None:
    begin(project)
    say(project, "UserPromptSubmit", prompt=DONE, prompt_id="P1")
    assert not hook_files.has_mark(session(project), hook_files.PAUSED)
    assert "not done yet" in str(say(project, "Stop", prompt_id="P1"))


def test_a_notification_after_a_turn_that_never_ended_is_one(project: Project) -> None:
    begin(project)
    say(project, "UserPromptSubmit", prompt=DONE, prompt_id="P2")
    assert hook_files.has_mark(session(project), hook_files.PAUSED)
    assert say(project, "Stop", prompt_id="P2") == {}
    say(project, "UserPromptSubmit", prompt="go on", prompt_id="P3")
    say(project, "UserPromptSubmit", prompt=DONE, prompt_id="P3")
    assert "not done yet" in str(say(project, "Stop", prompt_id="P3"))
