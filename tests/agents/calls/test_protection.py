"""While a workflow is active, no call may change Handrail's state or the files that control its hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import handrail
from agents.calls.talking import tell
from handrail.agents.calls.servers import McpServer
from handrail.extensions.registry import Registry
from handrail.settings.folders import UserFolders
from support import Project

PACKAGE = Path(handrail.__file__).parent


@pytest.fixture
def active(project: Project) -> Project:
    project.workflow("w", ["look", "build"])
    begun = said(project, "UserPromptExpansion", command_name="handrail:workflow", command_args="w make tea")
    assert "Do look." in begun["hookSpecificOutput"]["additionalContext"]
    return project


def said(project: Project, event: str, **more: Any) -> dict[str, Any]:
    return tell("claude", {"session_id": "C", "cwd": str(project.folder), "hook_event_name": event, **more})


def reason(project: Project, tool: str, **given: str) -> str | None:
    output = said(project, "PreToolUse", tool_name=tool, tool_input=given).get("hookSpecificOutput", {})
    told = output.get("permissionDecisionReason")
    return None if told is None else str(told)


def home(project: Project) -> Path:
    return project.folder.parent / "user"


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/handrail/bin/gate",
        ".claude/skills/workflow/SKILL.md",
        ".claude/agents/helper.md",
        ".claude/skills/helper/SKILL.md",
        ".claude/commands/team/helper.md",
        ".mcp.json",
    ],
)
def test_the_hosts_settings_in_the_project_are_protected(active: Project, path: str) -> None:
    assert "denied in every phase" in (reason(active, "Write", file_path=str(active.folder / path), content="{}") or "")
    assert "denied in every phase" in (reason(active, "Edit", file_path=path) or "")
    assert "denied in every phase" in (reason(active, "Bash", command=f"echo '{{}}' > {path}") or "")


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".claude/skills/handrail/hooks/hooks.json",
        ".claude/plugins/installed_plugins.json",
        ".claude/skills/helper/SKILL.md",
        ".claude/commands/helper.md",
        ".claude.json",
    ],
)
def test_the_hosts_settings_of_the_user_are_protected(active: Project, path: str) -> None:
    assert reason(active, "Write", file_path=str(home(active) / path), content="{}")
    assert reason(active, "Bash", command=f"rm ~/{path}")


@pytest.mark.parametrize("path", ["settings.json", "plugins/installed_plugins.json", ".claude.json", ".config.json"])
def test_another_configuration_folder_of_the_host_is_protected(
    active: Project, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    elsewhere = active.folder.parent / "elsewhere"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    assert "denied in every phase" in (reason(active, "Write", file_path=str(elsewhere / path), content="{}") or "")
    assert "denied in every phase" in (reason(active, "Bash", command=f"rm {elsewhere / path}") or "")


def test_our_own_state_is_protected(active: Project) -> None:
    link = active.home / "state" / "hosts" / "claude" / "C"
    assert link.exists()
    assert "denied in every phase" in (reason(active, "Write", file_path=str(link), content="") or "")
    for command in (f"rm -rf {active.home}", f"cd {active.home}/state && rm -rf hosts"):
        assert "denied in every phase" in (reason(active, "Bash", command=command) or "")
    assert link.exists()


def test_a_link_to_a_protected_file_is_protected(active: Project) -> None:
    (home(active) / ".claude").mkdir(parents=True)
    (home(active) / ".claude" / "settings.json").write_text("{}")
    (active.folder / "notes.json").symlink_to(home(active) / ".claude" / "settings.json")
    assert reason(active, "Write", file_path="notes.json", content="{}")
    assert reason(active, "Bash", command="echo x > notes.json")
    assert reason(active, "Bash", command="cp other notes.json")


@pytest.mark.parametrize("path", [".cl\\aude/set\\tings.json", "'.cl'aude/'sett'ings.json", '".mc""p.json"'])
def test_quotes_do_not_hide_a_protected_file(active: Project, path: str) -> None:
    assert reason(active, "Bash", command=f"echo x > {path}")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "src/settings.json", "content": "{}"}),
        ("Read", {"file_path": ".claude/settings.json"}),
        ("Bash", {"command": "cat .claude/settings.json | head"}),
        ("Bash", {"command": "pytest . && git status"}),
        ("Bash", {"command": "grep -r handrail ."}),
        ("Read", {"file_path": ".claude/skills/helper/SKILL.md"}),
        ("Skill", {"skill": "helper"}),
        ("Bash", {"command": "cat .claude/skills/*/SKILL.md ~/.claude/commands/helper.md"}),
        ("Bash", {"command": ".claude/skills/helper/bin/fill --form a.pdf > filled.pdf"}),
        ("Bash", {"command": "cp -r .claude/commands/helper.md .mcp.json notes"}),
        ("Bash", {"command": "python3 .claude/skills/helper/bin/fill.py a.pdf --out filled.pdf"}),
        ("Bash", {"command": "find ~/.claude/skills -name '*.md' | xargs sed -n 1,3p"}),
        ("Bash", {"command": "awk 'NR > 1' .claude/skills/helper/SKILL.md"}),
    ],
)
def test_all_other_calls_follow_the_rules_of_the_phase(active: Project, tool: str, given: dict[str, str]) -> None:
    assert reason(active, tool, **given) is None


def test_without_a_workflow_nothing_is_protected(active: Project) -> None:
    said(active, "UserPromptExpansion", command_name="cancel-workflow", command_args="")
    assert reason(active, "Write", file_path=".mcp.json", content="{}") is None


def test_the_command_line_gives_the_same_verdict(active: Project) -> None:
    given = json.dumps({"file_path": ".mcp.json"})
    told = active.json("gate", "Write", "--input", given, "--agent", "claude", "--session", "claude-C")
    assert (told["allow"], told["rule"]) == (False, "protected")
    own = json.dumps({"path": str(active.home / "state" / "x")})
    assert active.json("gate", "write", "--input", own, "--session", "claude-C")["rule"] == "protected"
    assert active.json("gate", "write", "--input", '{"path": "a"}', "--session", "claude-C")["allow"] is True


def test_arguments_that_are_not_an_object_are_refused(active: Project) -> None:
    assert active.run("gate", "write", "--input", "[1]").code == 2
    assert active.run("gate", "write", "--input", "{").code == 2


@pytest.mark.whole(4)
@pytest.mark.parametrize(
    "line",
    [
        "echo '{}' | handrail hook claude",
        "handrail --project . hook claude < message",
        "/usr/bin/env python3 -m handrail hook claude < message",
        "cat message | timeout 5 handrail serve --stdio --agent claude",
        "handrail mcp --agent claude",
        f"python3 -I -S {PACKAGE}/hook.py claude < message",
        "~/.claude/skills/handrail/bin/command < message",
        "sh .claude/handrail/bin/command < message",
        "bash -c 'handrail hook claude < message'",
    ],
)
def test_an_agent_cannot_pretend_to_be_its_host(active: Project, line: str) -> None:
    """A forged message of a hook would be taken for a command that a person typed."""
    assert "denied in every phase" in (reason(active, "Bash", command=line) or "")


@pytest.mark.parametrize(
    "line", ["handrail status", "grep -rn hook handrail", "git log handrail/hook.py", "echo handrail hook"]
)
def test_other_commands_may_name_them(active: Project, line: str) -> None:
    assert reason(active, "Bash", command=line) is None


def test_an_agent_may_change_files_in_a_worktree_but_not_the_records_of_worktrees(active: Project) -> None:
    state = active.home / "state"
    inside = str(state / "trees" / "project-r-1" / "a.py")
    assert reason(active, "Write", file_path=inside, content="x") is None
    assert reason(active, "Bash", command=f"echo x > {inside}") is None
    for path in (state / "worktrees" / "x.json", state / "trees" / ".." / "runs" / "x", state / "trees"):
        assert "denied in every phase" in (reason(active, "Write", file_path=str(path), content="x") or "")
    (state / "trees" / "project-r-1").mkdir(parents=True)
    (state / "trees" / "project-r-1" / "link").symlink_to(state)
    led = str(state / "trees" / "project-r-1" / "link" / "runs" / "x")
    assert "denied in every phase" in (reason(active, "Write", file_path=led, content="x") or "")


def test_the_transcript_that_hooks_believe_is_protected(active: Project, tmp_path: Path) -> None:
    transcript = tmp_path / "C.jsonl"
    more = {"tool_name": "Bash", "tool_input": {"command": f"echo x >> {transcript}"}}
    denied = said(active, "PreToolUse", transcript_path=str(transcript), **more)
    assert "denied in every phase" in denied["hookSpecificOutput"]["permissionDecisionReason"]


PLANTED = "switches hooks off"


def test_a_setting_that_switches_hooks_off_is_said_at_the_start_and_when_the_conversation_is_resumed(
    project: Project,
) -> None:
    project.workflow("w", ["look", "build"])
    assert project.run("install", "claude").code == 0
    begun = said(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    assert "systemMessage" not in begun
    assert said(project, "SessionStart", source="resume") == {}
    settings = home(project) / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "disableAllHooks": True}))
    assert PLANTED in said(project, "SessionStart", source="resume")["systemMessage"]
    begun = said(project, "UserPromptExpansion", command_name="workflow", command_args="--replace w tea")
    assert PLANTED in begun["systemMessage"]


def test_a_changed_stub_is_said(project: Project) -> None:
    project.workflow("w", ["look", "build"])
    assert project.run("install", "claude").code == 0
    begun = said(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    assert "systemMessage" not in begun
    (home(project) / ".claude/skills/handrail/bin/gate").write_text("exit 0\n")
    begun = said(project, "UserPromptExpansion", command_name="workflow", command_args="--replace w tea")
    assert "not as `handrail install claude` writes it" in begun["systemMessage"]


@pytest.mark.parametrize("damage", ["", "[]", "[1, 2]", "\0", "[" * 3000, "a FIFO", "a folder"])
def test_a_damaged_record_of_the_last_comparison_hides_nothing(project: Project, damage: str) -> None:
    project.workflow("w", ["look", "build"])
    assert project.run("install", "claude").code == 0
    assert "systemMessage" not in said(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    (record,) = Path(UserFolders(os.environ).state, "compared").iterdir()
    record.unlink()
    if damage == "a FIFO":
        os.mkfifo(record)
    elif damage == "a folder":
        record.mkdir()
    else:
        record.write_text(damage)
    assert said(project, "SessionStart", source="resume") == {}
    settings = home(project) / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "disableAllHooks": True}))
    assert PLANTED in said(project, "SessionStart", source="resume")["systemMessage"]


def test_a_planted_setting_of_the_project_is_said(project: Project) -> None:
    project.workflow("w", ["look", "build"])
    assert project.run("install", "claude", "--project").code == 0
    begun = said(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    assert "systemMessage" not in begun
    (project.folder / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    assert PLANTED in said(project, "SessionStart", source="resume")["systemMessage"]


def test_the_tool_says_that_hooks_do_not_run(active: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "C")
    answers: list[dict[str, Any]] = []
    server = McpServer("claude", Registry(), os.environ, answers.append)
    call = {"name": "workflow_step", "arguments": {"action": "next"}}
    server.take(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))
    server.close()
    assert "Handrail's hook did not see this call" in answers[0]["result"]["content"][0]["text"]
    assert active.json("status", "--session", "claude-C")["steps"] == 0


def test_a_settings_file_that_the_agent_wrote_anew_is_as_it_was_installed(project: Project) -> None:
    project.workflow("w", ["look", "build"])
    assert project.run("install", "claude").code == 0
    settings = home(project) / ".claude" / "settings.json"
    settings.write_text(json.dumps({"model": "sonnet", **json.loads(settings.read_text())}, separators=(",", ":")))
    begun = said(project, "UserPromptExpansion", command_name="workflow", command_args="w tea")
    assert "systemMessage" not in begun
