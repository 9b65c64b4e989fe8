"""What an agent is told about its role, its tools and its progress, in our files and in files of pi-workflows."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from guided.sessions.definitions import phase, plan, workflow
from handrail.guided.workflows.plan import plan_from_json, plan_to_json
from support import Project

OURS, PROJECT = ".handrail/workflows", ".pi/workflows"
CHANGE_NOTHING = "change no files by any means"


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        (
            "blacklist: [edit, write]",
            f"{CHANGE_NOTHING} (edit, write are denied; do not write through the shell either)",
        ),
        ("blacklist: [Write, Edit, bash]", f"{CHANGE_NOTHING} (Write, Edit, bash are denied)"),
        ("blacklist: [edit]", "`edit` is denied"),
        ("blacklist: [edit, fetch]", "`edit`, `fetch` are denied"),
        ("whitelist: [read, grep]", "only these tools are allowed: read, grep"),
        (
            "whitelist: [read, bash]",
            "only these tools are allowed: read, bash; change no files, also not through the shell",
        ),
        ("whitelist: [read, bash, edit]", "only these tools are allowed: read, bash, edit"),
        ("whitelist: []", "no tool is allowed but workflow_step"),
    ],
)
def test_the_agent_is_told_the_rules_of_its_phase(project: Project, tools: str, told: str) -> None:
    project.workflow("w", ["open", "look"])
    project.phase("w", "look", f"tools:\n  {tools}\n")
    project.json("start", "w", "make tea")
    line = f"**Tools:** In this phase, {told}."
    assert "**Tools:**" not in project.run("context").out
    assert line in project.json("next")["message"].splitlines()
    assert line in project.run("context").out.splitlines()
    if "is denied" not in told:
        denied = project.json("gate", "write")["reason"] or project.json("gate", "edit")["reason"]
        assert denied is None or f"In this phase, {told}." in denied


def test_a_denial_does_not_invite_a_write_through_the_shell(project: Project) -> None:
    project.workflow("w", ["look"])
    project.phase("w", "look", "tools:\n  blacklist: [edit, write]\n")
    project.json("start", "w", "make tea")
    reason = project.json("gate", "write")["reason"]
    assert "all except" not in reason
    assert CHANGE_NOTHING in reason


def test_a_text_of_a_workflow_can_contain_the_rules(project: Project) -> None:
    project.workflow("w", ["look"], head="blockReasonTemplate: '{toolName}: {toolRules} ({allowedTools})'\n")
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    project.json("start", "w", "make tea")
    assert project.json("gate", "edit")["reason"] == "edit: `edit` is denied (all except: edit)"


def test_files_of_pi_workflows_make_the_agent_an_orchestrator(project: Project) -> None:
    project.workflow("w", ["look", "build"], root=PROJECT)
    project.json("start", "w", "make tea")
    said = project.run("context").out
    assert "You coordinate the workflow W" in said
    assert "change no files yourself" in said
    assert "subagents" in said
    assert 'action "loop"' in said


@pytest.mark.whole
@pytest.mark.parametrize(("root", "count"), [(OURS, 0), (PROJECT, 1)])
def test_an_agent_of_pi_workflows_that_stops_early_is_told_about_loop(project: Project, root: str, count: int) -> None:
    project.workflow("w", ["look"], root=root)
    project.json("start", "w", "make tea", "--session", "S")
    script = project.write("script.yaml", "- stop: true\n")
    argv = [sys.executable, "-m", "handrail.agents.scripted", str(script), str(project.folder), "S"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    (stopped,) = [event for event in map(json.loads, ended.stdout.splitlines()) if event["event"] == "stopped"]
    assert stopped["sendOn"].count('"loop"') == count


def test_the_users_files_for_pi_do_so_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(project.folder.parent / "agent"))
    project.workflow("w", ["look"], root="../agent/workflows")
    project.json("start", "w", "make tea")
    assert "You coordinate the workflow W" in project.run("context").out


def test_our_own_files_keep_neutral_texts(project: Project) -> None:
    project.workflow("w", ["look", "build"], root=OURS)
    project.json("start", "w", "make tea")
    said = project.run("context").out
    assert "This session follows the workflow W" in said
    assert "subagents" not in said
    assert "loop" not in said


def test_texts_in_the_files_win_over_both_defaults(project: Project) -> None:
    project.workflow("w", ["look"], head="roleInstruction: You are a cook.\nadvanceReminder: Go on.\n", root=PROJECT)
    project.json("start", "w", "make tea")
    said = project.run("context").out
    assert "You are a cook." in said
    assert "coordinate" not in said
    assert said.rstrip().endswith("Go on.")


@pytest.mark.parametrize("root", [OURS, PROJECT])
def test_a_subworkflow_counts_as_one_phase_everywhere(project: Project, root: str) -> None:
    project.workflow("inner", ["look", "build"], root=root)
    project.workflow("w", ["@inner", "ship"], head="completionMessage: 'after {phaseCount} phases'\n", root=root)
    assert [line.split()[2] for line in project.run("list").out.splitlines() if line.startswith("w ")] == ["2"]
    assert "W > Inner [1/2] > • Look [1/2]" in project.run("start", "w", "make tea").out
    shown = [line.strip() for line in project.run("status").out.splitlines()]
    assert {"● 1.1. Inner > • Look", "○ 1.2. Inner > • Build", "○ 2. • Ship"} <= set(shown)
    for _ in range(2):
        project.json("next")
    assert "after 2 phases" in project.run("next").out


def test_a_plan_that_0_1_0_stored_is_still_read() -> None:
    known = plan(workflow("w", phase("look")))
    data = plan_to_json(known)
    del data["orchestrates"]
    assert plan_from_json(data) == known
