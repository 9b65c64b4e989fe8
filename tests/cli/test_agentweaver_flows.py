"""Flow files of AgentWeaver: what is found before they run, and how they are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.driven.artifacts.agentweaver_params import PARAM_NAMES, TaskArtifacts
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.flows.load import flow_resources, load_flow
from handrail.driven.runs.agentweaver import implicit_params
from handrail.driven.runs.request import RunRequest
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source
from support import Project

FLOWS = ".agentweaver/.flows"
READS_PLAN = {"plan_file": {"ref": "params.planFile"}, "text": {"ref": "params.taskContextJsonFile"}}


def flow(project: Project, name: str, kind: str, step: dict[str, Any]) -> None:
    phases = [{"id": "a", "steps": [{"id": "s", **step}]}]
    project.write(f"{FLOWS}/{name}.json", json.dumps({"kind": kind, "version": 1, "phases": phases}))


def reading(name: str) -> dict[str, Any]:
    return {"node": "set", "params": {"x": {"ref": f"params.{name}"}}}


def test_a_misspelt_param_is_a_warning_with_a_suggestion(project: Project) -> None:
    flow(project, "own", "own-flow", reading("taskKye"))
    (problem,) = project.json("validate")["problems"]
    assert (problem["code"], problem["severity"]) == ("ref-param", "warning")
    assert "did you mean `taskKey`?" in problem["hint"]


@pytest.mark.parametrize("name", ["taskKey", "planFile", "latestIteration", "colour"])
def test_a_param_that_agentweaver_gives_or_a_person_may_give_is_no_problem(project: Project, name: str) -> None:
    flow(project, "own", "own-flow", reading(name))
    assert project.json("validate")["problems"] == []


def test_the_names_of_given_params_are_complete(project: Project) -> None:
    text = json.dumps({"kind": "k", "version": 1, "phases": [{"id": "a", "steps": [{"id": "s", "node": "set"}]}]})
    plan, _ = load_flow(Source(str(project.folder / FLOWS / "x.json"), text), "x", flow_resources(Registry()))
    assert plan is not None
    project.write(".agentweaver/scopes/t/review-t-1.md", "x")
    assert TaskArtifacts(ProjectFiles(str(project.folder)), "t").newest("review-file") == 1
    given = implicit_params(plan, RunRequest(params={}, scope="t"), {}, str(project.folder))
    assert given.keys() <= PARAM_NAMES


def test_a_review_without_a_plan_is_refused_before_it_starts(project: Project) -> None:
    flow(project, "review", "review-flow", {"node": "set", "params": READS_PLAN})
    said = project.run("run", "review", "--scope", "fresh", "--agent", "scripted")
    assert said.code == 1
    assert "needs a task, a design and a plan" in said.err
    assert "`handrail run plan TASK` makes a design and a plan" in said.err


def test_a_nested_review_without_a_plan_says_what_it_needs(project: Project) -> None:
    flow(project, "review", "review-flow", {"node": "set", "params": READS_PLAN})
    params = {"fileName": {"const": "review.json"}, "taskKey": {"ref": "params.taskKey"}}
    flow(project, "loop", "own-flow", {"node": "flow-run", "params": params})
    said = project.run("run", "loop", "--scope", "fresh", "--agent", "scripted")
    assert said.code == 1
    assert "needs a task, a design and a plan" in said.err


def test_a_fix_without_a_review_is_refused_before_it_starts(project: Project) -> None:
    flow(project, "review-fix", "review-fix-flow", reading("latestIteration"))
    said = project.run("run", "review-fix", "--scope", "fresh", "--agent", "scripted")
    assert said.code == 1
    assert "there is no review whose findings can be fixed" in said.err
    assert "`handrail run review` makes one" in said.err
