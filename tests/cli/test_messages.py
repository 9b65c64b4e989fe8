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
    assert "`--session NAME`" in project.run("start", "w", "y").err


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
