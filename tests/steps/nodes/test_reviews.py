"""The nodes for reviews: what blocks a merge, which findings are selected, and what an agent is told to fix."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from handrail.driven.artifacts.project_files import ProjectFiles
from steps.nodes.single import KEY, SCOPE, alone, artifact, as_flow, read, refused, value
from support import Project

REVIEW = f".artifacts/review-{KEY}-%d.json"
READY = f"{SCOPE}/ready-to-merge.md"


def finding(severity: str, title: str, **more: Any) -> dict[str, Any]:
    return {"severity": severity, "title": title, "description": "d", **more}


def review(project: Project, *findings: dict[str, Any], turn: int = 1, **more: Any) -> str:
    data = {"summary": " All in all. ", "ready_to_merge": False, "findings": list(findings), **more}
    return str(artifact(project, REVIEW % turn, data))


def test_a_review_without_blocking_findings_is_ready(project: Project) -> None:
    path = review(project, finding("medium", "Names"), extra={"n": 1.5})
    ended = as_flow(project, "review-verdict", taskKey=KEY)
    assert value(ended) == {
        "readyToMerge": True,
        "blockingSeverities": ["blocker", "critical", "high"],
        "blockingFindingTitles": [],
        "blockingFindingsCount": 0,
        "summary": " All in all. ",
        "reviewJsonFile": path,
        "writtenFiles": [path, str(project.folder / READY)],
    }
    found = read(project, path)
    assert (found["ready_to_merge"], found["extra"], list(found)[:2]) == (
        True,
        {"n": 1.5},
        ["summary", "ready_to_merge"],
    )
    assert (project.folder / path).read_text().endswith("}\n")
    assert "All in all." in (project.folder / READY).read_text()
    published = {(made["path"], made["schema"]) for made in ended["artifacts"]}
    assert published == {(f"{SCOPE}/{REVIEW % 1}", "review-findings/v1"), (READY, "markdown/v1")}


def test_a_blocking_finding_removes_the_mark_and_the_agents_own_verdict(project: Project) -> None:
    artifact(project, "ready-to-merge.md", "old")
    path = review(project, finding("critical", "Race"), finding("low", "Typo"), ready_to_merge=True)
    for _ in range(2):
        found = alone(project, "review-verdict", taskKey=KEY)
        assert (found["readyToMerge"], found["blockingFindingTitles"]) == (False, ["Race"])
        assert read(project, path)["ready_to_merge"] is False
        assert not (project.folder / READY).exists()
        assert found["writtenFiles"] == [path]


def test_the_newest_review_is_judged_unless_an_iteration_is_given(project: Project) -> None:
    review(project, finding("blocker", "Old"), turn=2)
    review(project, turn=10)
    assert alone(project, "review-verdict", taskKey=KEY)["readyToMerge"] is True
    assert alone(project, "review-verdict", taskKey=KEY, iteration=2)["blockingFindingTitles"] == ["Old"]


@pytest.mark.parametrize(
    ("given", "env", "blocks"),
    [
        (["medium"], "", True),
        (None, "medium, info", True),
        (["low"], "medium", False),
        ([], "", False),
        ([" MEDIUM "], "", True),
    ],
)
def test_the_severities_that_block_come_from_the_step_then_from_the_environment(
    project: Project, given: list[str] | None, env: str, *, blocks: bool
) -> None:
    review(project, finding("medium", "Names"))
    found = alone(
        project,
        "review-verdict",
        {"AGENTWEAVER_REVIEW_BLOCKING_SEVERITIES": env},
        taskKey=KEY,
        blockingSeverities=given,
    )
    assert found["readyToMerge"] is not blocks


@pytest.mark.parametrize("given", [["hihg"], ["high", "hihg"], [1], "hihg"])
def test_a_misspelt_severity_is_refused(project: Project, given: Any) -> None:
    review(project)
    assert refused(project, "review-verdict", taskKey=KEY, blockingSeverities=given)[0] == "severities"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "inputs-missing"),
        ("{", "inputs-invalid"),
        ("[]", "inputs-invalid"),
        ('{"summary": "s", "ready_to_merge": false, "findings": [{"severity": "high"}]}', "inputs-invalid"),
        ('{"summary": "s", "ready_to_merge": false, "findings": NaN}', "inputs-invalid"),
        ("[" * 100_000, "inputs-invalid"),
    ],
)
def test_a_review_that_cannot_be_judged_changes_nothing(project: Project, content: str | None, code: str) -> None:
    artifact(project, "ready-to-merge.md", "old")
    path = None if content is None else artifact(project, REVIEW % 1, content)
    assert refused(project, "review-verdict", taskKey=KEY)[0] == code
    assert (project.folder / READY).read_text() == "old"
    assert path is None or path.read_text() == content


@pytest.mark.parametrize("node", ["review-verdict", "design-review-verdict", "clear-ready-to-merge", "planning-bundle"])
@pytest.mark.parametrize("key", ["../..", "a/b", "", None, ["x"]])
def test_a_task_key_cannot_leave_the_scopes(project: Project, node: str, key: Any) -> None:
    assert refused(project, node, taskKey=key)[0] == ("artifact-name" if isinstance(key, str) and key else "params")


def test_an_iteration_has_to_be_a_number(project: Project) -> None:
    code, message = refused(project, "review-verdict", taskKey=KEY, iteration="../1")
    assert (code, message) == ("params", "`review-verdict`: `iteration` has to be a whole number, found `../1`")


def test_a_mark_that_is_a_link_is_removed_itself(project: Project) -> None:
    kept = project.write("kept.md", "mine")
    artifact(project, "x", "")
    os.symlink(kept, project.folder / READY)
    assert alone(project, "clear-ready-to-merge", taskKey=KEY) == {"cleared": True}
    assert alone(project, "clear-ready-to-merge", taskKey=KEY) == {"cleared": False}
    assert kept.read_text() == "mine"


def test_a_scope_that_is_a_link_out_of_the_project_is_refused(project: Project) -> None:
    outside = project.folder.parent / "outside"
    outside.mkdir()
    (outside / "ready-to-merge.md").write_text("mine")
    (project.folder / ".agentweaver/scopes").mkdir(parents=True)
    os.symlink(outside, project.folder / SCOPE)
    assert refused(project, "clear-ready-to-merge", taskKey=KEY)[0] == "path-escape"
    assert (outside / "ready-to-merge.md").exists()


DESIGN_LISTS = ("blocking_findings", "major_findings", "warnings", "missing_information", "consistency_checks",
                "qa_coverage_gaps", "recommended_actions")  # fmt: skip


@pytest.mark.parametrize("status", ["approved", "approved_with_warnings", "needs_revision"])
def test_a_design_review_says_whether_work_may_begin(project: Project, status: str) -> None:
    data = {"summary": "Fine.", "status": status, **{name: [] for name in DESIGN_LISTS}}
    artifact(project, f".artifacts/design-review-{KEY}-3.json", data)
    found = value(as_flow(project, "design-review-verdict", taskKey=KEY))
    needs = status == "needs_revision"
    assert found == {"status": status, "canProceed": not needs, "needsRevision": needs, "verdict": "Fine."}


def test_a_design_review_of_another_status_is_refused(project: Project) -> None:
    data = {"summary": "Fine.", "status": "great", **{name: [] for name in DESIGN_LISTS}}
    artifact(project, f".artifacts/design-review-{KEY}-1.json", data)
    assert refused(project, "design-review-verdict", taskKey=KEY)[0] == "inputs-invalid"


def select(project: Project, **more: Any) -> Any:
    params = {"outputFile": "out/selection.json", "reviewFindingsJsonFile": f"{SCOPE}/{REVIEW % 1}"}
    return as_flow(project, "write-selection-file", **params, selectionMode="auto-blocking-severities", **more)


def test_open_blocking_findings_are_selected(project: Project) -> None:
    review(project, finding("high", "A"), finding("blocker", "B", disposition="Resolved"), finding("low", "C"))
    ended = select(project)
    assert value(ended) == {
        "outputFile": "out/selection.json",
        "findingsCount": 1,
        "selectedFindings": ["A"],
        "applyAll": False,
    }
    found = read(project, "out/selection.json")
    assert ProjectFiles(str(project.folder)).against_schema("out/selection.json", "user-input/v1") is None
    assert found["values"] == {"apply_all": False, "selected_findings": ["A"], "extra_notes": ""}
    assert [made["path"] for made in ended["artifacts"]] == ["out/selection.json"]


def test_a_selection_needs_a_known_mode_and_stays_in_the_project(project: Project) -> None:
    params = {"reviewFindingsJsonFile": f"{SCOPE}/{REVIEW % 1}", "blockingSeverities": None}
    review(project)
    given = {"outputFile": "x.json", "selectionMode": "all"}
    assert refused(project, "write-selection-file", **params, **given)[0] == "params"
    given = {"outputFile": "../x.json", "selectionMode": "auto-blocking-severities"}
    assert refused(project, "write-selection-file", **params, **given)[0] == "path-escape"
    assert not (project.folder.parent / "x.json").exists()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"apply_all": True, "selected_findings": []}, "Fix all findings"),
        ({"apply_all": False, "selected_findings": ["A", "B"]}, "- A\n- B"),
        ({"apply_all": False, "selected_findings": []}, "No finding is selected"),
        ({"apply_all": True, "extra_notes": "Mind the gap."}, "Mind the gap."),
    ],
)
def test_an_agent_is_told_what_was_selected(project: Project, values: dict[str, Any], told: str) -> None:
    data = {"form_id": "review-fix-selection", "submitted_at": "now", "values": values}
    path = str(project.write("s.json", json.dumps(data)))
    found = value(as_flow(project, "build-review-fix-prompt", selectionFile=path, autoMode=True))
    assert told in found["promptSuffix"]
    assert path in found["promptSuffix"]
    assert (found["selectionMode"], found["applyAll"]) == ("auto", values["apply_all"])


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "inputs-missing"),
        ("{}", "inputs-invalid"),
        ('{"form_id": "f", "submitted_at": "now", "values": {"selected_findings": [1]}}', "inputs-invalid"),
    ],
)
def test_a_selection_that_cannot_be_read_is_named(project: Project, content: str | None, code: str) -> None:
    if content is not None:
        project.write("s.json", content)
    assert refused(project, "build-review-fix-prompt", selectionFile="s.json", autoMode=True)[0] == code
    assert refused(project, "build-review-fix-prompt", selectionFile=None, autoMode=True)[0] == "params"


DESIGN = {"summary": "s", "goals": ["g"], "non_goals": [], "components": ["c"], "risks": [], "open_questions": [],
          "decisions": [{"component": "c", "decision": "d", "rationale": "r"}]}  # fmt: skip
STEPS = [{"id": "1", "title": "t", "details": "d"}]
PLAN = {"summary": "s", "prerequisites": [], "implementation_steps": STEPS, "tests": ["t"], "rollout_notes": []}
QA = {
    "summary": "s",
    "test_scenarios": [{"id": "1", "title": "t", "expected_result": "e"}],
    "non_functional_checks": [],
}


def plan(project: Project, turn: int, *, without: str = "") -> None:
    for name, data in (("design", DESIGN), ("plan", PLAN), ("qa", QA)):
        if name != without:
            artifact(project, f"{name}-{KEY}-{turn}.md", "# x")
            artifact(project, f".artifacts/{name}-{KEY}-{turn}.json", data)


def test_the_newest_plan_is_found(project: Project) -> None:
    plan(project, 1)
    plan(project, 2)
    found = value(as_flow(project, "planning-bundle", taskKey=KEY))
    assert found["planningIteration"] == 2
    assert found["qaJsonFile"] == str(project.folder / SCOPE / f".artifacts/qa-{KEY}-2.json")
    assert all(os.path.isfile(path) for name, path in found.items() if name != "planningIteration")


def test_an_incomplete_newest_plan_is_not_passed_over(project: Project) -> None:
    assert refused(project, "planning-bundle", taskKey=KEY)[0] == "inputs-missing"
    plan(project, 1)
    plan(project, 2, without="qa")
    code, message = refused(project, "planning-bundle", taskKey=KEY)
    assert (code, f"qa-{KEY}-2.json" in message) == ("inputs-missing", True)
    plan(project, 2)
    artifact(project, f".artifacts/plan-{KEY}-2.json", {**PLAN, "tests": []})
    assert refused(project, "planning-bundle", taskKey=KEY)[0] == "inputs-invalid"
