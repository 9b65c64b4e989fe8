"""The names of Codex's tools, and what a call of them runs, reads and writes."""

from __future__ import annotations

from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.codex import host
from handrail.agents.codex.host import only_reads
from support import Project

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: /b\n*** Move to: c/d e.txt\n@@\n*** End Patch\n"
WRITES = ("/p/a.txt", "/b", "/p/c/d e.txt")


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("Bash", "bash"),
        ("Bash", "exec_command"),
        ("apply_patch", "edit"),
        ("apply_patch", "write"),
        ("view_image", "read"),
        ("collaborationspawn_agent", "agent"),
        ("collaborationspawn_agent", "spawn_agent"),
        ("spawn_agent", "delegate_to_subagents"),
        ("mcp__notes__add", "mcp:notes/add"),
        ("mcp__handrail__workflow_step", "workflow_step"),
    ],
)
def test_a_tool_has_the_names_of_the_common_vocabulary(tool: str, name: str) -> None:
    assert name in host.aliases(tool)


def test_a_tool_of_another_server_is_not_ours() -> None:
    assert host.aliases("mcp__other__workflow_step") == ("mcp:other/workflow_step",)
    assert host.aliases("clockwork") == ()


@pytest.mark.parametrize(
    ("tool", "given", "call"),
    [
        ("Bash", {"command": "make"}, {"runs": "make", "reads": (), "writes": ()}),
        ("apply_patch", {"command": PATCH}, {"runs": None, "reads": (), "writes": WRITES}),
        ("view_image", {"path": "a.png"}, {"runs": None, "reads": ("/p/a.png",), "writes": ()}),
        ("Bash", {"command": 7}, {"runs": None, "reads": (), "writes": ()}),
        ("mcp__notes__add", {"command": "x"}, {"runs": None, "reads": (), "writes": ()}),
    ],
)
def test_the_arguments_of_a_call_show_what_it_does(tool: str, given: dict[str, Any], call: dict[str, Any]) -> None:
    assert host.arguments(tool, given, "/p") == call


def test_a_patch_in_the_shell_writes_where_the_shell_is() -> None:
    command = f"cd sub && apply_patch <<'EOF'\n{PATCH}EOF"
    found = host.arguments("Bash", {"command": command}, "/p")["writes"]
    assert {"/p/a.txt", "/p/sub/a.txt", "/b"} <= set(found)


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}EOF",
        f"applypatch '{PATCH}'",
        "apply_patch < x.patch",
        "cat x | /usr/bin/apply_patch",
        'bash -lc "apply_patch < x"',
        "echo $(apply_patch<x)",
    ],
)
def test_a_shell_command_that_applies_a_patch_is_also_a_patch(command: str) -> None:
    assert host.other_tools("Bash", {"command": command}) == (host.PATCH,)


@pytest.mark.parametrize("command", ["make", "git apply x.patch", "ls patches", "cat apply_patch.md"])
def test_another_shell_command_is_no_patch(command: str) -> None:
    assert host.other_tools("Bash", {"command": command}) == ()


@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt",
        "rg -n 'a|b > c' src | head -20",
        "sed -n '1,20p' a.py",
        "git status --short && git diff HEAD~1",
        "find . -name '*.py' -type f",
        "ls -la; pwd\nwc -l a.txt",
        'grep -rn "some words" .',
        "sort a.txt | uniq -c",
    ],
)
def test_a_command_that_surely_only_reads_is_called_read(command: str) -> None:
    assert only_reads(command)
    assert {"read", "search", "bash"} <= set(host.call_aliases("Bash", {"command": command}))


@pytest.mark.parametrize(
    "command",
    [
        "",
        "echo x > a",
        "cat a >> b",
        "cat <<EOF\nx\nEOF",
        "cat $(rm a)",
        "cat `rm a`",
        'cat "$(rm a)"',
        "cat $X",
        "rm a",
        "cat a; rm b",
        "cat a & rm b",
        "cat a\nrm b",
        "cat a | tee b",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint out",
        "rg --pre ./x a",
        "rg --pr ./x a",
        "sort -o out a",
        "sort -rno out a",
        "sort --output=out a",
        "sort --out out a",
        "uniq a out",
        "git checkout .",
        "git -c core.pager=x log",
        "git diff --output=x",
        "git log --outp=x",
        "git branch -D x",
        "sed -n '1w out' a",
        "sed -i s/a/b/ x",
        "sed -n 1p -i a",
        "awk '{print > \"x\"}' a",
        "X=1 cat a",
        "env cat a",
        "{ cat a; }",
        "cat 'a",
        "cat a \\; rm b",
        "! cat a",
        "tree -o x",
        "file -C -m x",
        "python -c 'x'",
    ],
)
def test_every_other_command_is_only_bash(command: str) -> None:
    assert not only_reads(command)


def say(project: Project, event: str, **more: Any) -> dict[str, Any]:
    return tell("codex", {"session_id": "C", "cwd": str(project.folder), "hook_event_name": event, **more})


def is_denied(project: Project, tools_: str, tool: str, command: str) -> bool:
    """Whether a phase with these tool lists denies a call."""
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", f"tools:\n  {tools_}\n")
    begun = say(project, "UserPromptSubmit", prompt="$workflow w make tea")
    assert "Do look." in begun["hookSpecificOutput"]["additionalContext"]
    said = say(project, "PreToolUse", tool_name=tool, tool_input={"command": command})
    return bool(said.get("hookSpecificOutput", {}).get("permissionDecision") == "deny")


@pytest.mark.parametrize(
    ("lists", "tool", "command", "denied"),
    [
        ("blacklist: [edit]", "Bash", "apply_patch < x.patch", True),
        ("blacklist: [write]", "Bash", f"apply_patch <<'E'\n{PATCH}E", True),
        ("whitelist: [bash]", "Bash", "apply_patch < x.patch", True),
        ("whitelist: [bash, edit]", "Bash", "apply_patch < x.patch", False),
        ("blacklist: [bash]", "Bash", "apply_patch < x.patch", True),
        ("whitelist: [read]", "Bash", "cat a.txt", False),
        ("whitelist: [search]", "Bash", "rg word src", False),
        ("whitelist: [read]", "Bash", "cat a > b", True),
        ("blacklist: [bash]", "Bash", "cat a.txt", True),
        ("blacklist: [edit]", "Bash", "make", False),
        ("whitelist: [read]", "apply_patch", PATCH, True),
        ("blacklist: [agent]", "collaborationspawn_agent", "", True),
        ("whitelist: [read]", "update_plan", "", False),
    ],
)
def test_the_gate_sees_what_a_call_does(project: Project, lists: str, tool: str, command: str, denied: bool) -> None:
    assert is_denied(project, lists, tool, command) == denied


@pytest.mark.parametrize(
    "command",
    [
        "echo x > .codex/hooks.json",
        "cat > .codex/config.toml <<EOF\nx\nEOF",
        "rm -rf .codex",
        "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: .codex/hooks.json\n*** End Patch\nE",
        "cd .codex && apply_patch <<'E'\n*** Begin Patch\n*** Delete File: hooks.json\n*** End Patch\nE",
    ],
)
def test_files_that_decide_about_hooks_are_protected(project: Project, command: str) -> None:
    assert is_denied(project, "blacklist: [fetch]", "Bash", command)
