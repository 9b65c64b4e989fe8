"""Flows of AgentWeaver: the params that they have without asking, and what nested ones find in the scope."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.artifacts.agentweaver_params import SCOPE_PARAM_NAMES, SCOPE_PARAMS, TaskArtifacts
from handrail.driven.artifacts.project_files import ProjectFiles
from support import Project

KEY = "task-7"
DESIGN = {
    "summary": "s",
    "goals": ["g"],
    "non_goals": [],
    "components": ["c"],
    "decisions": [{"component": "c", "decision": "d", "rationale": "r"}],
    "risks": [],
    "open_questions": [],
}
PLAN = {
    "summary": "s",
    "prerequisites": [],
    "implementation_steps": [{"id": "1", "title": "t", "details": "d"}],
    "tests": ["t"],
    "rollout_notes": [],
}
QA = {
    "summary": "s",
    "test_scenarios": [{"id": "1", "title": "t", "expected_result": "r"}],
    "non_functional_checks": [],
}
REVIEW = {
    "summary": "s",
    "status": "needs_revision",
    **{key: [] for key in ("blocking_findings", "major_findings", "warnings", "missing_information")},
    **{key: [] for key in ("consistency_checks", "qa_coverage_gaps", "recommended_actions")},
}
TASK = {"form_id": "instant-task-input", "submitted_at": "2026-01-01T00:00:00.000Z", "values": {}}


def scope(project: Project) -> Path:
    return project.folder / ".agentweaver" / "scopes" / KEY


def put(project: Project, name: str, content: Any = None) -> Path:
    """Write a file of the scope: JSON below `.artifacts`, or Markdown."""
    is_json = content is not None
    path = f".agentweaver/scopes/{KEY}/" + (f".artifacts/{name}.json" if is_json else f"{name}.md")
    return project.write(path, json.dumps(content) if is_json else "# text\n")


def planned(project: Project, turn: int) -> None:
    for name, content in (("design", DESIGN), ("plan", PLAN)):
        put(project, f"{name}-{KEY}-{turn}")
        put(project, f"{name}-{KEY}-{turn}", content)


def flow(project: Project, name: str, kind: str, *steps: dict[str, Any]) -> None:
    text = {"kind": kind, "version": 1, "phases": [{"id": "p", "steps": list(steps)}]}
    project.write(f".agentweaver/.flows/{name}.json", json.dumps(text))


def read(*names: str) -> dict[str, Any]:
    """A step whose output has these params."""
    return {"id": "read", "node": "set", "params": {name: {"ref": f"params.{name}"} for name in names}}


def nest(name: str, **params: Any) -> dict[str, Any]:
    values = {"fileName": name, "taskKey": KEY, "labelText": "a title", **params}
    return {"id": "nest", "node": "flow-run", "params": {key: {"const": value} for key, value in values.items()}}


def value(data: dict[str, Any]) -> dict[str, Any]:
    return dict(data["phases"][0]["steps"][0]["value"])


def inner(data: dict[str, Any]) -> dict[str, Any]:
    state = value(data)["executionState"]
    return dict(state["phases"][0]["steps"][0]["value"])


def run(project: Project, name: str, *more: str, code: int = 0) -> dict[str, Any]:
    return project.json("run", name, *more, "--scope", KEY, code=code)


def test_every_flow_has_the_key_of_its_task_and_its_next_iterations(project: Project) -> None:
    names = ("taskKey", "workspaceDir", "iteration", "latestIteration", "planIteration", "extraPrompt", "mdLang")
    flow(project, "f", "f-flow", read(*names, "reviewBlockingSeverities", "projectGuidanceFile", "llmExecutor"))
    put(project, f"review-{KEY}-3")
    put(project, f"plan-{KEY}-x")
    assert value(run(project, "f")) == {
        "taskKey": KEY,
        "workspaceDir": str(scope(project)),
        "iteration": 4,
        "latestIteration": 3,
        "planIteration": 1,
        "extraPrompt": None,
        "mdLang": "en",
        "reviewBlockingSeverities": ["blocker", "critical", "high"],
        "projectGuidanceFile": "not provided",
        "llmExecutor": None,
    }


@pytest.mark.parametrize("task", ["ABC-12", "https://jira.example/browse/ABC-12"])
def test_a_task_that_names_an_issue_has_its_addresses(
    project: Project, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    monkeypatch.setenv("JIRA_BASE_URL", "https://jira.example/")
    flow(project, "f", "f-flow", read("jiraRef", "jiraBrowseUrl", "jiraApiUrl"))
    assert value(run(project, "f", task)) == {
        "jiraRef": task,
        "jiraBrowseUrl": "https://jira.example/browse/ABC-12",
        "jiraApiUrl": "https://jira.example/rest/api/2/issue/ABC-12",
    }


def test_an_issue_on_another_host_is_not_taken_from_the_configured_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_BASE_URL", "https://jira.example/")
    flow(project, "f", "f-flow", read("jiraApiUrl"))
    task = "https://other.example/jira/browse/ABC-12"
    assert value(run(project, "f", task)) == {"jiraApiUrl": "https://other.example/jira/rest/api/2/issue/ABC-12"}


def test_a_given_param_wins(project: Project) -> None:
    flow(project, "f", "f-flow", read("iteration"))
    assert value(run(project, "f", "--param", "iteration=9")) == {"iteration": 9}


def test_a_resumed_run_keeps_its_iterations_and_a_restarted_one_gets_new_ones(project: Project) -> None:
    check = {"id": "gate", "node": "command", "params": {"argv": {"const": ["test", "-e", "go"]}}}
    flow(project, "f", "f-flow", read("iteration"), check, {**read("iteration"), "id": "again"})
    first = run(project, "f", code=1)["run"]
    put(project, f"review-{KEY}-1")
    project.write("go", "")
    resumed = project.json("resume", first)
    assert [step["value"] for step in resumed["phases"][0]["steps"]][::2] == [{"iteration": 1}] * 2
    again = project.json("restart", first)
    assert value(again) == {"iteration": 2}


def test_a_nested_flow_gets_guidance_but_no_title_and_no_other_params(project: Project) -> None:
    flow(project, "child", "child-flow", read("projectGuidanceFile", "x"))
    flow(project, "f", "f-flow", nest("child.json", x=1))
    assert inner(run(project, "f")) == {"projectGuidanceFile": "not provided", "x": 1}
    flow(project, "child", "child-flow", read("labelText"))
    assert "labelText" in run(project, "f", code=1)["error"]


def test_a_design_review_finds_the_newest_complete_plan(project: Project) -> None:
    planned(project, 1)
    planned(project, 2)
    put(project, f"design-{KEY}-3")
    put(project, "instant-task-input-" + KEY, TASK)
    put(project, f"design-review-{KEY}-4")
    names = (
        "planningIteration",
        "iteration",
        "designFile",
        "hasQaArtifacts",
        "qaFile",
        "qaFilePath",
        "taskInputJsonFile",
    )
    flow(project, "child", "design-review-flow", read(*names, "hasJiraTaskFile", "jiraTaskFile"))
    flow(project, "f", "f-flow", nest("child.json"))
    found = inner(run(project, "f"))
    assert found == {
        "planningIteration": 2,
        "iteration": 5,
        "designFile": str(scope(project) / f"design-{KEY}-2.md"),
        "hasQaArtifacts": False,
        "qaFile": "not provided",
        "qaFilePath": None,
        "taskInputJsonFile": str(scope(project) / ".artifacts" / f"instant-task-input-{KEY}.json"),
        "hasJiraTaskFile": False,
        "jiraTaskFile": "not provided",
    }
    flow(project, "f", "f-flow", nest("child.json", iteration=7))
    assert inner(run(project, "f"))["iteration"] == 7


def test_a_design_review_without_a_plan_says_what_is_missing(project: Project) -> None:
    flow(project, "child", "design-review-flow", read("designFile"))
    flow(project, "f", "f-flow", nest("child.json"))
    error = run(project, "f", code=1)["error"]
    assert "this needs a design and a plan from an earlier planning flow; missing: " in error
    assert f"design-{KEY}-1.md" in error


def test_half_a_test_plan_is_an_error_and_an_invalid_one_too(project: Project) -> None:
    planned(project, 1)
    put(project, f"qa-{KEY}-1")
    flow(project, "child", "design-review-flow", read("qaFile"))
    flow(project, "f", "f-flow", nest("child.json"))
    assert "a QA plan is a Markdown file and a JSON file" in run(project, "f", code=1)["error"]
    put(project, f"qa-{KEY}-1", {"summary": ""})
    assert "does not match the schema `qa-plan/v1`" in run(project, "f", code=1)["error"]
    put(project, f"qa-{KEY}-1", QA)
    assert inner(run(project, "f"))["qaFile"].endswith(f"qa-{KEY}-1.md")


def test_a_plan_is_revised_by_the_review_of_its_own_iteration(project: Project) -> None:
    planned(project, 2)
    for turn in (2, 3):
        put(project, f"design-review-{KEY}-{turn}")
        put(project, f"design-review-{KEY}-{turn}", REVIEW)
    flow(project, "child", "plan-revise-flow", read("reviewIteration", "outputIteration", "revisedQaFile"))
    flow(project, "f", "f-flow", nest("child.json"))
    found = inner(run(project, "f"))
    assert found == {
        "reviewIteration": 2,
        "outputIteration": 3,
        "revisedQaFile": str(scope(project) / f"qa-{KEY}-3.md"),
    }
    (scope(project) / f"design-review-{KEY}-2.md").unlink()
    assert inner(run(project, "f"))["reviewIteration"] == 3


def test_a_review_gets_the_plan_only_if_there_is_a_task(project: Project) -> None:
    planned(project, 1)
    flow(project, "child", "review-flow", read("planFile"))
    flow(project, "f", "f-flow", nest("child.json"))
    assert "a design and a plan" in run(project, "f", code=1)["error"]
    put(project, "instant-task-input-" + KEY, TASK)
    assert inner(run(project, "f"))["planFile"].endswith(f"plan-{KEY}-1.md")


@pytest.mark.parametrize("kind", ["review-loop-flow", "review-project-loop-flow"])
def test_a_review_loop_begins_with_the_iteration_that_it_gets(project: Project, kind: str) -> None:
    flow(project, "child", kind, read("baseIteration"))
    flow(project, "f", "f-flow", nest("child.json", iteration=5))
    assert inner(run(project, "f")) == {"baseIteration": 5}


def test_a_design_review_loop_without_an_iteration_begins_with_the_next(project: Project) -> None:
    put(project, f"design-review-{KEY}-2")
    flow(project, "child", "design-review-loop-flow", read("baseIteration"))
    flow(project, "f", "f-flow", nest("child.json"))
    assert inner(run(project, "f")) == {"baseIteration": 3}


def test_what_a_nested_flow_found_is_kept_over_a_resume(project: Project) -> None:
    planned(project, 1)
    put(project, "instant-task-input-" + KEY, TASK)
    check = {"id": "gate", "node": "command", "params": {"argv": {"const": ["test", "-e", "go"]}}}
    flow(project, "child", "design-review-flow", check, read("planningIteration"))
    flow(project, "f", "f-flow", nest("child.json"))
    first = run(project, "f", code=1)["run"]
    planned(project, 2)
    project.write("go", "")
    state = value(project.json("resume", first))["executionState"]
    assert state["phases"][0]["steps"][1]["value"] == {"planningIteration": 1}


def test_a_dry_run_knows_that_the_scope_gives_params(project: Project) -> None:
    flow(project, "child", "design-review-flow", read("designFile", "projectGuidanceFile"))
    flow(project, "f", "f-flow", nest("child.json"))
    data = project.json("run", "f", "--dry-run", "--scope", KEY)
    assert data["ok"] is True


@pytest.mark.parametrize("kind", SCOPE_PARAM_NAMES)
def test_previews_know_the_names_of_all_params_from_the_scope(project: Project, kind: str) -> None:
    planned(project, 1)
    put(project, f"design-review-{KEY}-1")
    put(project, f"design-review-{KEY}-1", REVIEW)
    put(project, "instant-task-input-" + KEY, TASK)
    found = SCOPE_PARAMS[kind](TaskArtifacts(ProjectFiles(str(project.folder)), KEY))
    assert set(found) == set(SCOPE_PARAM_NAMES[kind])


def test_options_of_the_task_are_params(project: Project) -> None:
    flow(project, "f", "f-flow", read("extraPrompt", "reviewBlockingSeverities", "acceptPlaybookDraft", "mdLang"))
    given = ("--prompt", "Be brief.", "--blocking-severities", "Critical, high", "--accept-playbook-draft")
    assert value(run(project, "f", *given, "--md-lang", "ru")) == {
        "extraPrompt": "Be brief.",
        "reviewBlockingSeverities": ["critical", "high"],
        "acceptPlaybookDraft": True,
        "mdLang": "ru",
    }
    said = project.run("run", "f", "--blocking-severities", "hihg")
    assert (said.code, "did you mean `high`?" in said.err) == (2, True)


def test_the_scope_of_an_issue_is_its_key(project: Project) -> None:
    flow(project, "f", "f-flow", read("taskKey"))
    found = value(project.json("run", "f", "ABC-12"))["taskKey"]
    assert found.startswith("abc-12@")


def test_phases_lists_what_from_and_until_take(project: Project) -> None:
    flow(project, "deep/f", "f-flow", read("taskKey"))
    assert project.json("phases", "f") == {"phases": [{"id": "p", "steps": ["read"]}]}
    assert project.run("phases", "f").out.splitlines()[1].split() == ["p", "read"]
