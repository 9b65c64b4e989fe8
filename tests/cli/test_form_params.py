"""A flow with `form: agentweaver` may declare some of its params: it gets the others too."""

from __future__ import annotations

import re

from support import Project

FLOW = """form: agentweaver
params:
  tries: {default: 5, about: how often}
phases:
  - id: a
    steps:
      - {id: x, node: set, params: {n: '${params.tries}', key: '${params.taskKey}', at: '${context.started}'}}
"""
CALLER = "phases: [{id: a, steps: [{id: x, node: flow-run, params: {fileName: f, taskKey: k, more: 1}}]}]\n"


def value(project: Project, *argv: str) -> dict[str, object]:
    found: dict[str, object] = project.json("run", *argv)["phases"][0]["steps"][0]["value"]
    return found


def test_declared_params_have_defaults_and_others_are_given(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW)
    assert value(project, "f", "--scope", "s")["key"] == "s"
    assert value(project, "f")["n"] == 5
    assert value(project, "f", "--param", "tries=2")["n"] == 2


def test_a_required_one_is_still_needed(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW.replace("default: 5", "required: true"))
    assert "no value for `tries`" in project.run("run", "f").err


def test_params_and_tasks_that_it_does_not_use_are_told(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW)
    said = project.run("run", "f", "some", "words", "--param", "trys=2")
    assert (said.code, "does not use the param `trys`" in said.err, "`some words` is ignored" in said.err) == (
        0,
        True,
        True,
    ), said


def test_another_flow_may_give_it_more_than_it_declares(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW)
    project.write(".handrail/flows/caller.yaml", CALLER)
    assert project.json("validate")["problems"] == []
    assert project.json("run", "caller")["status"] == "completed"


def test_a_run_knows_when_it_was_started(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*", str(value(project, "f")["at"]))
