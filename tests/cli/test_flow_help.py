"""`handrail run FLOW --help` is made from the file of the flow."""

from __future__ import annotations

import pytest

from handrail.driven.flows.shipped_flows import ShippedFlows
from handrail.settings.folders import shipped_flows
from support import Project

FLOW = """\
description: Ships a version
also: [team/ship]
examples: [1.2 --param mode=full]
env: [CI]
params:
  task: {about: the version}
  mode: {default: fast, choices: [fast, full], about: how much is checked}
  target: {required: true, about: where it goes}
phases:
  - id: check
    steps: [{id: tests, node: command, params: {argv: [make, test]}}]
  - repeat: {var: round, max: 3, until: {exists: done}, onExhausted: continue}
    phases:
      - id: fix-${round}
        steps:
          - id: agent
            node: llm-prompt
            routingGroup: review
            prompt: Fix it.
            makes: [{path: fix.json, schema: review-fix-report/v1}]
  - id: end
    steps:
      - id: ask
        node: user-input
        params: {formId: go, title: Go?, fields: [{id: ok, type: boolean, label: OK?}]}
"""


def help_of(project: Project, *argv: str) -> str:
    said = project.run(*argv, "--help")
    assert (said.code, said.err) == (0, ""), said
    return said.out


def test_help_has_all_that_the_file_declares(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    project.write(".handrail/flows/ship.yaml", FLOW)
    project.write(".handrail/settings.yaml", "routes: {review: 'scripted:big'}\n")
    assert help_of(project, "run", "ship") == (
        "Usage: handrail run ship [TASK...] --param target=… [OPTIONS]\n"
        "       handrail ship [TASK...] --param target=… [OPTIONS]\n\n"
        "  Ships a version\n\n"
        "Also: team/ship\n"
        "From: .handrail/flows/ship.yaml\n\n"
        "Parameters (`--param NAME=VALUE`):\n"
        "  task, TASK  the version\n"
        "  mode        how much is checked; one of fast, full; default: fast\n"
        "  target      where it goes; required\n\n"
        "Phases:\n"
        "  check: tests (command)\n"
        "  up to 3 rounds:\n"
        "    fix-N: agent (llm-prompt)\n"
        "  end: ask (user-input)\n\n"
        "Writes:\n"
        "  fix.json  review-fix-report/v1\n\n"
        "Agents, by routing group (`--route GROUP=AGENT`):\n"
        "  review  scripted:big\n\n"
        "Asks (`--answers FILE`):\n"
        "  go\n\n"
        "Variables:\n"
        "  CI\n\n"
        "Examples:\n"
        "  handrail run ship 1.2 --param mode=full\n\n"
        "`handrail run --help` shows the options, and `handrail show ship` the whole flow.\n"
    )
    assert help_of(project, "ship") == help_of(project, "run", "team/ship")
    assert "  review  scripted\n" in help_of(project, "ship", "--agent", "scripted")


def test_a_value_that_is_no_choice_is_refused_before_the_run(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", FLOW)
    said = project.run("run", "ship", "--param", "target=x", "--param", "mode=slow")
    assert said.code == 2
    assert "`mode` of flow `ship` has to be one of `fast`, `full`, found `slow`" in said.err
    assert project.json("runs")["runs"] == []


def test_the_help_for_programs_is_one_object(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", FLOW)
    told = project.json("ship", "--help")
    mode = {"name": "mode", "required": False, "default": "fast", "about": "how much is checked"}
    assert told["params"][1] == {**mode, "choices": ["fast", "full"], "type": None}
    assert told["phases"] == [
        {"id": "check", "steps": ["tests"]},
        {"id": "fix-N", "steps": ["agent"]},
        {"id": "end", "steps": ["ask"]},
    ]
    assert told["writes"] == [{"path": "fix.json", "schema": "review-fix-report/v1"}]
    assert told["routes"] == [{"group": "review", "agent": None}]


def test_texts_of_a_flow_cannot_control_the_terminal(project: Project) -> None:
    evil = '"red \\e[31m\\u202e\\a"'
    flow = f"description: {evil}\nexamples: [{evil}]\nparams: {{x: {{about: {evil}, choices: [{evil}]}}}}\n"
    step = f"{{id: {evil}, node: set, params: {{n: 1}}, makes: [{evil}]}}"
    project.write(".handrail/flows/ship.yaml", f"{flow}phases: [{{id: {evil}, steps: [{step}]}}]\n")
    out = help_of(project, "run", "ship")
    assert [char for char in out if not char.isprintable() and char != "\n"] == []


def test_a_workflow_has_a_help_too(project: Project) -> None:
    assert "Drives an agent through the workflow Plan, Build, Review." in help_of(project, "run", "plan-build-review")


def test_without_a_name_it_is_the_help_of_run(project: Project) -> None:
    assert help_of(project, "run").startswith("Usage: handrail run [OPTIONS] NAME [TASK]...")
    assert project.run("run", "--agent", "--help").code == 2


def test_a_name_that_nothing_has_gets_a_suggestion(project: Project) -> None:
    said = project.run("run", "review-lop", "--help")
    assert (said.code, "`review-loop`" in said.err) == (1, True), said


VISIBLE = [entry.id for entry in ShippedFlows(shipped_flows()).entries() if entry.visible]


@pytest.mark.whole(22)
@pytest.mark.parametrize("id_", VISIBLE)
def test_every_shipped_flow_tells_its_params_phases_and_examples(project: Project, id_: str) -> None:
    told = project.json("run", f"flow:{id_}", "--help")
    assert told["id"] == id_
    assert all(param["about"] for param in told["params"])
    assert told["phases"]
    assert project.json("show", f"flow:{id_}")["examples"]
    assert all(line.startswith(f"handrail run {id_}") for line in told["examples"])
