"""`handrail FLOW` runs a flow. Commands come first, and a mistyped name gets a suggestion."""

from __future__ import annotations

import pytest

from handrail.cli import table
from support import Project

STEP = "{id: x, node: set, params: {n: '${params.n}', t: '${params.task}'}}"
FLOW = f"params: {{task: {{default: none}}, n: 1}}\nphases: [{{id: a, steps: [{STEP}]}}]\n"


def test_the_name_of_a_flow_runs_it_with_all_options_of_run(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", FLOW)
    ended = project.json("ship", "two", "words", "--param", "n=3")
    assert ended["name"] == "ship"
    assert ended["phases"][0]["steps"][0]["value"] == {"n": 3, "t": "two words"}
    assert project.run("--quiet", "ship").code == 0


@pytest.mark.parametrize(
    "argv", [("--project", "sub", "ship"), ("ship", "--project", "sub"), ("ship", "--project=sub")]
)
def test_the_flow_of_another_project_is_found(project: Project, argv: tuple[str, ...]) -> None:
    project.write("sub/.handrail/flows/ship.yaml", FLOW)
    assert project.json(*argv)["status"] == "completed"


def test_a_shipped_flow_runs_by_any_of_its_ids(project: Project) -> None:
    for name in ("check-loop", "bugz/bug-analyze"):
        assert project.run(name, "true", "--dry-run", "--agent", "scripted").code == 0


def test_a_flow_with_errors_shows_them(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", "phases: 1\n")
    said = project.run("ship")
    assert (said.code, "`.handrail/flows/ship.yaml` has 1 error" in said.err) == (2, True), said


@pytest.mark.parametrize("name", ["list", "runs", "status"])
def test_a_flow_never_hides_a_command(project: Project, name: str) -> None:
    project.write(f".handrail/flows/{name}.yaml", FLOW)
    project.run(name)
    assert project.json("runs")["runs"] == []
    assert project.json("run", name)["name"] == name


@pytest.mark.parametrize(
    ("typed", "meant"), [("lst", "`list`"), ("resum", "`resume`"), ("review-lop", "`review-loop`"), ("shipp", "`ship`")]
)
def test_a_mistyped_name_gets_commands_and_flows_as_suggestions(project: Project, typed: str, meant: str) -> None:
    project.write(".handrail/flows/ship.yaml", FLOW)
    said = project.run(typed)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: there is no command and no flow `{typed}`\n")
    assert meant in said.err


def test_what_agentweaver_called_a_command_is_told(project: Project) -> None:
    assert "`handrail scope KEY`" in project.run("auto-status").err


def test_no_shipped_flow_has_the_name_of_a_command(project: Project) -> None:
    shipped = {flow["id"] for flow in project.json("list", "--shipped")["flows"]}
    assert shipped & set(table.COMMANDS) == set()
