"""`resume --param`: another value for the steps that are not done."""

from __future__ import annotations

import pytest

from support import Project

FLOW = """
params: {to: nowhere, version: {type: text, default: "1.0"}}
phases:
- id: a
  steps:
  - {id: first, node: set, params: {to: "${params.to}"}}
- id: b
  steps:
  - id: second
    node: %s
"""
PLAIN = """command
    params: {argv: [test, "${params.to}", "=", home]}
  - {id: third, node: set, params: {to: "${params.to}", version: "${params.version}"}}
"""
NESTED = """flow-run
    params: {fileName: inner, to: "${params.to}"}
"""
INNER = """
params: {to: {}}
phases: [{id: c, steps: [{id: fourth, node: command, params: {argv: [test, "${params.to}", "=", home]}}]}]
"""


@pytest.fixture
def failed(project: Project) -> str:
    project.write(".handrail/flows/f.yaml", FLOW % PLAIN)
    run: str = project.json("run", "f", code=1)["run"]
    return run


def values(ended: dict[str, list[dict[str, list[dict[str, object]]]]]) -> list[object]:
    return [step["value"] for phase in ended["phases"] for step in phase["steps"]]


def test_a_step_that_is_not_done_gets_the_new_value_and_a_finished_one_keeps_the_old(
    project: Project, failed: str
) -> None:
    ended = project.json("resume", failed, "--param", "to=home", "--param", "version=1.10")
    assert (values(ended)[0], values(ended)[2]) == ({"to": "nowhere"}, {"to": "home", "version": "1.10"})
    assert "to=home" in project.run("log", failed).out


def test_the_new_value_holds_in_later_lives_and_attempts(project: Project, failed: str) -> None:
    project.json("resume", failed, "--param", "to=nowhere", "--param", "version=2", code=1)
    ended = project.json("resume", failed, "--param", "to=home")
    assert values(ended)[2] == {"to": "home", "version": "2"}
    again = values(project.json("restart", failed))
    assert (again[0], again[2]) == ({"to": "home"}, {"to": "home", "version": "2"})


def test_a_nested_flow_that_failed_gets_it(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW % NESTED)
    project.write(".handrail/flows/inner.yaml", INNER)
    run = project.json("run", "f", code=1)["run"]
    assert project.json("resume", run, "--param", "to=home")["status"] == "completed"


def test_a_param_that_the_flow_does_not_have_is_refused_and_nothing_runs(project: Project, failed: str) -> None:
    said = project.run("resume", failed, "--param", "ot=home")
    assert (said.code, "no param `ot`" in said.err, "`to`" in said.err) == (2, True, True)
    assert project.json("runs", failed)["status"] == "failed"
