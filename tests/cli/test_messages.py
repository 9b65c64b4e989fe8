"""Short messages that people read: numbers, times, and what to do next."""

from __future__ import annotations

import re

import pytest

from handrail.extensions.registry import Registry
from support import Project


def test_prune_counts_one_thing_as_one(project: Project) -> None:
    project.workflow("w", ["look"])
    assert project.run("prune").out == "nothing to remove; no runs and sessions are kept\n"
    project.run("start", "w", "x", "--session", "a")
    assert project.run("prune").out == "nothing to remove; 1 run or session is kept\n"
    project.run("start", "w", "x", "--session", "b")
    assert project.run("prune").out == "nothing to remove; 2 runs and sessions are kept\n"


def test_prune_shows_times_as_the_lists_do(project: Project) -> None:
    project.workflow("w", ["look"])
    project.run("start", "w", "x", "--session", "a")
    project.run("next")
    said = project.run("prune", "--keep", "0").out.splitlines()[0]
    assert re.fullmatch(r"would remove: session a  W  done  \d{4}-\d\d-\d\d \d\d:\d\d", said)


def test_ended_sessions_are_not_called_no_sessions(project: Project) -> None:
    project.workflow("w", ["look"])
    assert project.run("sessions").out.startswith("no sessions in this project")
    project.run("start", "w", "x")
    project.run("next")
    assert project.run("sessions", "--active").out.startswith("no active sessions in this project")


def test_a_start_while_another_workflow_is_active_says_how_to_have_two(project: Project) -> None:
    project.workflow("w", ["look"])
    project.run("start", "w", "x")
    assert "`--session second`" in project.run("start", "w", "y").err


@pytest.mark.parametrize("command", ["log", "resume", "artifacts", "stop"])
def test_the_last_run_of_a_project_without_runs(project: Project, command: str) -> None:
    said = project.run(command, "last")
    assert said.code == 1
    assert said.err.startswith("error: there are no runs in this project yet\n")


def test_quiet_does_not_list_the_files_of_an_installation(project: Project) -> None:
    said = project.run("install", "claude", "--project", "-q").out
    assert re.fullmatch(r"installed into claude; restart it, then type \S+.*\n", said)
    assert len(project.run("uninstall", "claude", "--project", "--dry-run", "-q").out.splitlines()) > 1
    assert project.run("uninstall", "claude", "--project", "-q").out == "removed\n"


def test_an_agent_that_is_no_host_is_told_apart_from_a_misspelt_one(project: Project) -> None:
    said = project.run("install", "scripted").err
    assert "Handrail cannot be installed into `scripted`" in said
    assert f"possible today: {', '.join(Registry().installable())}" in said
    assert "did you mean `claude`?" in project.run("install", "cladue").err


def test_show_names_a_schema_and_shortens_a_check(project: Project) -> None:
    step = "{id: x, node: set, makes: [{path: a.json, schema: s}], expect: [{file: a.json}, {run: make test}]}"
    project.write(".handrail/schemas/s.json", "{}")
    project.write(".handrail/flows/f.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    said = project.run("show", "f").out
    assert "makes a.json, schema s\n" in f"{said}\n"
    assert "expects file: a.json\n" in said
    assert "expects run: make test" in said


STEP = "{id: x, node: set, params: {v: '${params.version}'}}"
FLOW = f"params: {{version: {{required: true}}}}\nphases: [{{id: a, steps: [{STEP}]}}]\n"


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (("run", "ship"), "give parameters with `--param version=VALUE`"),
        (("run", "ship", "1.2"), "give its parameters by name: `--param version=VALUE`; or declare"),
        (("run", "ship", "--version=1.2"), "a parameter of the flow is `--param version=VALUE`; "),
    ],
)
def test_a_flow_that_is_called_in_a_wrong_way_says_the_right_one(
    project: Project, argv: tuple[str, ...], hint: str
) -> None:
    project.write(".handrail/flows/ship.yaml", FLOW)
    said = project.run(*argv)
    assert said.code in (1, 2)
    assert f"\nhint: {hint}" in said.err


def test_a_field_that_a_question_does_not_have_is_named(project: Project) -> None:
    form = "formId: go, title: Release?, fields: [{id: note, type: text, label: New?}]"
    step = f"{{id: go, node: user-input, params: {{{form}}}}}"
    project.write(".handrail/flows/ask.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    project.run("run", "ask")
    said = project.run("answer", "last", "other=1").err
    assert "`other=1`: there is no field `other`; fields: note" in said
    assert "`other`: write FIELD=VALUE; fields: note" in project.run("answer", "last", "other").err


def test_a_failed_line_is_called_by_itself_and_a_long_one_by_the_shell(project: Project) -> None:
    for name, line in (("short", "exit 3"), ("long", f"exit 3 # {'x' * 60}")):
        project.write(f".handrail/flows/{name}.yaml", f"phases: [{{id: a, steps: [{{id: x, run: '{line}'}}]}}]\n")
    assert project.json("run", "short", code=1)["error"] == "`exit 3` ended with 3"
    assert project.json("run", "long", code=1)["error"] == "`/bin/sh` ended with 3"
