"""A misspelt key of Handrail's own files is an error, and who starts a definition sees its warnings."""

from __future__ import annotations

import pytest

from agents.calls.talking import tell
from support import Project

FLOW = "phases:\n  - id: a\n    steps:\n      - {id: b, node: set, params: {x: 1}%s}\n"


def codes(project: Project, *argv: str) -> list[tuple[str, str]]:
    return [(found["code"], found["severity"]) for found in project.run("validate", *argv, "--json").data["problems"]]


@pytest.mark.parametrize("more", ["tool:\n  blacklist: [edit]\n", "exits:\n  - run: make test\n"])
def test_a_misspelt_key_of_a_phase_is_an_error(project: Project, more: str) -> None:
    project.workflow("w", ["a"])
    project.phase("w", "a", more)
    assert codes(project) == [("misspelt-key", "error")]
    assert project.run("start", "w", "task").code == 2


@pytest.mark.parametrize("more", [", make: [{path: x}]", ", rerty: {attempts: 2}", ", expct: []"])
def test_a_misspelt_key_of_a_step_is_an_error(project: Project, more: str) -> None:
    project.write(".handrail/flows/f.yaml", FLOW % more)
    assert codes(project) == [("misspelt-key", "error")]
    assert project.run("run", "f").code == 2


def test_a_key_that_resembles_no_other_is_a_warning(project: Project) -> None:
    project.workflow("w", ["a"])
    project.phase("w", "a", "reviewed-by: Ada\n_id: 1\n")
    assert codes(project) == [("unknown-key", "warning")] * 2


def test_files_of_other_programs_may_have_unknown_keys(project: Project) -> None:
    project.workflow("w", ["a"], root=".pi/workflows")
    project.phase("w", "a", "exits: none\n", root=".pi/workflows")
    project.write(".agentweaver/.flows/f.yaml", FLOW % ", rerty: {attempts: 2}")
    assert codes(project) == [("unknown-key", "warning")] * 2
    assert codes(project, ".pi/workflows/w", ".agentweaver/.flows/f.yaml") == [("unknown-key", "warning")] * 2
    assert project.run("run", "f").code == 0


def test_a_misspelt_required_key_is_one_problem(project: Project) -> None:
    project.write(".handrail/workflows/w/workflow.yaml", "nmae: W\ncomandName: w\ninitialMessage: go\nphases: [a.md]\n")
    project.phase("w", "a", "exit:\n  - rnu: make test\n")
    assert codes(project) == [("misspelt-key", "error")] * 3


def test_strict_makes_warnings_fail(project: Project) -> None:
    project.workflow("w", ["a"])
    project.phase("w", "a", "tools:\n  blacklist: [bash, edti]\n")
    assert project.json("validate")["ok"] is True
    assert project.json("validate", "--strict", code=2)["ok"] is False


def test_who_starts_a_workflow_sees_its_warnings(project: Project) -> None:
    project.workflow("inner", ["deep"])
    project.phase("inner", "deep", "tools:\n  blacklist: [bash, wirte]\n")
    project.workflow("w", ["a", "@inner"])
    project.phase("w", "a", "tools:\n  blacklist: [bash, edti]\n")
    project.workflow("other", ["b"])
    project.phase("other", "b", "tools:\n  blacklist: [bash, raed]\n")
    said = project.run("start", "w", "task")
    place = ".handrail/workflows/w/a.md:6:21"
    assert f"warning: {place}: there is no tool `edti`; did you mean `edit`?" in said.err
    assert "wirte" in said.err
    assert "raed" not in said.err
    message = {"hook_event_name": "UserPromptExpansion", "session_id": "S", "cwd": str(project.folder)}
    typed = {"expansion_type": "slash_command", "command_name": "workflow", "command_args": "w task"}
    assert "edti" in str(tell("claude", {**message, **typed}))


def test_who_runs_a_flow_or_a_workflow_sees_its_warnings(project: Project) -> None:
    project.write(".handrail/flows/inner.yaml", FLOW % ", reviewer: Bob")
    nested = FLOW.replace("node: set, params: {x: 1}", "node: flow-run, params: {fileName: inner}")
    project.write(".handrail/flows/f.yaml", nested % ", reviewer: Ada")
    said = project.run("run", "f")
    assert said.code == 0
    assert said.err.count("unknown key `reviewer`") == 2
    project.workflow("w", ["a"])
    project.phase("w", "a", "tools:\n  blacklist: [bash, edti]\n")
    assert "edti" in project.run("run", "w", "task", "--dry-run").err


@pytest.mark.whole
@pytest.mark.parametrize("tools", ["{forbid: [edit, write]}", "{blacklist: [edti, writ]}", "{}"])
def test_a_phase_whose_tools_limit_nothing_does_not_start(project: Project, tools: str) -> None:
    project.workflow("w", ["a"])
    project.phase("w", "a", f"tools: {tools}\n")
    assert codes(project) == [("tools-open", "error")]
    assert project.run("start", "w", "task").code == 2


@pytest.mark.parametrize("tools", ["{forbid: [edit, write]}", "{blacklist: [edti, writ]}", "{}"])
def test_tools_that_limit_nothing_are_no_error_in_files_of_pi_workflows(project: Project, tools: str) -> None:
    project.workflow("w", ["a"], root=".pi/workflows")
    project.phase("w", "a", f"tools: {tools}\n", root=".pi/workflows")
    assert all(severity == "warning" for _, severity in codes(project))
    assert project.run("start", "w", "task").code == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("auto-status", "`handrail scope KEY`"),
        ("auto-reset", "`handrail scope reset KEY`"),
    ],
)
def test_a_command_of_agentweaver_leads_to_what_handrail_has(project: Project, name: str, told: str) -> None:
    assert told in project.run(name).err
    assert told in project.run("explain", name).err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ABC-1", "`handrail auto ABC-1`"),
        ("octo/tea#12", "`handrail plan 'octo/tea#12'`"),
        ("plan ABC-1 --resume", "`handrail resume last`"),
        ("plan ABC-1 --continue", "`handrail continue last`"),
        ("plan ABC-1 --restart", "`handrail restart last`"),
        ("auto-golang --help-phases", "`handrail show FLOW --phases`"),
        ("--help-phases", "`handrail show FLOW --phases`"),
        ("plan ABC-1 --force", "leave it out"),
        ("--force", "leave it out"),
        ("web --listen-all", "`handrail web --host 0.0.0.0`"),
        ("plan ABC-1 --dry", "`--dry-run`"),
    ],
)
def test_an_option_of_agentweaver_leads_to_what_handrail_has(project: Project, line: str, told: str) -> None:
    said = project.run(*line.split())
    assert (said.code, told in said.err) == (2, True), said


@pytest.mark.parametrize("name", ["auto-golang", "review-loop"])
def test_a_flow_is_no_code_that_can_be_explained(project: Project, name: str) -> None:
    assert f"`handrail run {name}`" in project.run("explain", name).err
