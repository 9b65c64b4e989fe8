"""Flows in AgentWeaver's own form, which Handrail's tests bring: each shape of its language, each of its nodes.

They lie in `cases` as they would in `.agentweaver/.flows`. Every run is checked by what it leaves.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentweaver.agent import Mood
from agentweaver.listening import listen
from agentweaver.scene import ISSUE, KEY, MERGE_REQUEST, Scene
from agentweaver.test_shapes import CASES, FILES, PARAMS

PLAN = ("task-context", "design", "plan", "qa")
NOT_PROVIDED = "not provided"
CHECK = """test -e fixed && result='"ok": true, "exitCode": 0' || result='"ok": false, "exitCode": 3'
echo "looking, attempt $1"
echo "{$result, \\"kind\\": \\"check\\", \\"stage\\": \\"own\\", \\"summary\\": \\"s\\", \\"command\\": \\"c\\"}"
"""


@pytest.fixture
def cases(scene: Scene) -> Scene:
    """The scene with all cases."""
    scene.flows(str(CASES))
    return scene


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prompts that agents get."""
    return listen(monkeypatch, "scripted", "codex", "opencode")


def ended_well(scene: Scene, flow: str, *words: str) -> dict[str, Any]:
    """Run a flow to its end, and return how it ended."""
    ended = scene.run(flow, *words)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    return ended


def values(ended: dict[str, Any]) -> dict[str, Any]:
    """The values of the steps that are done, by `PHASE/STEP`."""
    steps = [(f"{phase['id']}/{step['id']}", step) for phase in ended["phases"] for step in phase["steps"]]
    return {path: step["value"] for path, step in steps if step["status"] == "done"}


def data(scene: Scene, kind: str, turn: int = 1) -> Any:
    return json.loads(scene.file(kind, turn).read_text(encoding="utf-8"))


def keys(scene: Scene) -> set[str]:
    """The published artifacts of the last run, by their keys."""
    return {item["name"] for item in scene.project.json("artifacts", "last")["artifacts"]}


def test_the_cases_are_valid(cases: Scene) -> None:
    found = cases.project.json("validate", "--strict")
    assert (found["problems"], found["checked"]["flows"]) == ([], len(FILES))


def test_a_flow_gets_all_its_params(cases: Scene) -> None:
    cases.has("review")
    found = values(ended_well(cases, "given", ISSUE, "--prompt", "Be quick.", "--lang", "de"))
    folder = str(cases.project.folder / ".agentweaver/scopes" / KEY)
    told = dict(zip(PARAMS, json.loads(cases.messages[0]), strict=True))
    assert told == {
        "taskKey": KEY,
        "scopeKey": KEY,
        "jiraRef": ISSUE,
        "jiraBrowseUrl": f"{cases.webs.jira.url}/browse/{ISSUE}",
        "jiraApiUrl": f"{cases.webs.jira.url}/rest/api/2/issue/{ISSUE}",
        "jiraTaskFile": f"{folder}/.artifacts/{KEY}.json",
        "workspaceDir": folder,
        "extraPrompt": "Be quick.",
        "reviewFixPoints": None,
        "reviewBlockingSeverities": ["blocker", "critical", "high"],
        "mdLang": "de",
        "llmExecutor": "scripted",
        "llmModel": None,
        **dict.fromkeys([name for name in PARAMS if "Guidance" in name], NOT_PROVIDED),
        "launchProfile": "scripted",
        "executionRouting": "scripted",
        **dict.fromkeys([name for name in PARAMS if name.endswith("Iteration")], 1),
        "iteration": 2,
        "baseIteration": 2,
        "latestIteration": 1,
        "forceRefresh": False,
    }
    where = cases.project.folder
    assert cases.messages[1:] == [f"Params of {KEY} ({ISSUE}) in {where}, 5 rounds, in de by scripted"]
    assert found["tell/selection"] == {"exists": False}


def test_an_issue_becomes_the_context_of_a_task(cases: Scene, heard: list[str]) -> None:
    ended = ended_well(cases, "from-issue", ISSUE, "--prompt", "Look at the order.")
    found = values(ended)
    assert found["fetch/issue"]["downloadedAttachments"] == 1
    assert data(cases, "jira-task-file")["key"] == ISSUE
    assert "Keep the order." in cases.file("jira-attachments-context-file").read_text(encoding="utf-8")
    assert data(cases, "task-context-json-file")["title"]
    assert ended["summary"] == "# task-context 1"
    assert cases.messages == [f"{ISSUE}: Bug"]
    (prompt,) = heard
    task, more = prompt.split("# Additional instructions")
    assert task.startswith("# Task\n")
    assert str(cases.file("jira-attachments-context-file")) in task
    assert more.strip().startswith("Look at the order.")
    assert keys(cases) == {
        "artifacts/jira-task.json",
        "artifacts/jira-attachments.json",
        "jira-attachments-context.txt",
        "artifacts/task-context.json",
    }


def test_without_an_issue_a_phase_is_skipped(cases: Scene) -> None:
    ended = ended_well(cases, "from-issue")
    assert {step["status"] for phase in ended["phases"] for step in phase["steps"]} == {"skipped"}
    assert (cases.webs.jira.asked, cases.messages) == ([], [])


def test_a_task_is_asked_for_and_planned(cases: Scene, heard: list[str]) -> None:
    found = values(ended_well(cases, "ask-and-plan", "--prompt", "Be quick."))
    assert found["ask/task"]["values"]["task_description"] == "Keep the order of the items."
    assert data(cases, "instant-task-input-json-file")["form_id"] == "instant-task-input"
    assert found["ask/form"]["questionCount"] == 1
    assert data(cases, "planning-answers-json-file")["values"] == {"speed": "fast"}
    bundle = found["plan/bundle"]
    assert (bundle["planningIteration"], bundle["qaJsonFile"]) == (1, str(cases.file("qa-json-file")))
    more = heard[0].partition("# Additional instructions")[2]
    assert more.index("Be quick.") < more.index("Keep the order of the items.")
    assert keys(cases) == {
        *(f"{name}.md" for name in ("design", "plan", "qa")),
        *(f"artifacts/{name}.json" for name in ("design", "plan", "qa", "planning-answers", "instant-task-input")),
    }


@pytest.mark.whole
@pytest.mark.parametrize(("bad", "turns"), [(0, 1), (1, 2)])
def test_a_plan_is_revised_until_it_is_approved(cases: Scene, heard: list[str], bad: int, turns: int) -> None:
    cases.has(*PLAN)
    cases.agent(Mood(bad_designs=bad))
    ended = ended_well(cases, "design-rounds")
    found = values(ended)
    inner = found[f"critique_{turns}/critique"]
    assert (inner["flowKind"], inner["flowVersion"]) == ("design-review-flow", 3)
    assert inner["executionState"]["terminationOutcome"] == "success"
    assert data(cases, "design-review-json-file", turns)["status"] == "approved"
    assert cases.file("plan-json-file", turns).is_file()
    assert not cases.file("plan-json-file", turns + 1).exists()
    assert f"This is round {turns}." in heard[-1]
    assert str(cases.file("plan-json-file", turns)) in heard[-1]
    assert NOT_PROVIDED not in heard[-1], "there is no issue, so no line speaks of one"
    assert len(heard) == turns * 2 - 1


@pytest.mark.whole
def test_a_plan_that_is_never_approved_fails_with_the_message_of_its_flow(cases: Scene) -> None:
    cases.has(*PLAN)
    cases.agent(Mood(bad_designs=8))
    ended = cases.run("design-rounds", code=1)
    assert (ended["status"], ended["reason"]) == ("failed", "expectation at never/fail")
    assert "The plan was not approved in two rounds: " in ended["error"]
    assert cases.file("plan-json-file", 3).is_file()


@pytest.mark.whole
def test_a_nested_flow_that_stops_does_not_stop_its_parent(cases: Scene) -> None:
    cases.has(*PLAN)
    cases.agent(Mood(bad_designs=8))
    ended = cases.run("stopped", code=1)
    assert (ended["status"], ended["outcome"]) == ("stopped", "stopped")
    assert cases.messages == ["design-review-flow stopped"]
    assert data(cases, "task-describe-input-json-file")["values"] == {}
    assert [phase["status"] for phase in ended["phases"]] == ["done", "skipped"]
    cases.agent(Mood())
    ended_well(cases, "stopped")
    assert cases.messages[1:] == ["design-review-flow success", "not sent", "not sent"]


@pytest.mark.whole
def test_findings_are_selected_by_rule_then_by_a_person(cases: Scene, heard: list[str]) -> None:
    cases.has(*PLAN)
    cases.agent(Mood(bad_reviews=2))
    marker = cases.file("ready-to-merge-file")
    marker.write_text("old")
    cases.answer("review-fix-selection", selected_findings=["A wrong result"], extra_notes="Add a test.")
    found = values(ended_well(cases, "review-rounds", "--prompt", "Be careful."))
    assert found["prepare/clear"] == {"cleared": True}
    assert "Ready to merge" in marker.read_text(encoding="utf-8")
    assert found["select_1/by_rule"]["selectedFindings"] == ["A wrong result"]
    assert found["select_2/by_person"]["values"]["extra_notes"] == "Add a test."
    assert "select_3/prompt" not in found
    assert [data(cases, "review-json-file", turn)["ready_to_merge"] for turn in (1, 2, 3)] == [False, False, True]
    assert cases.file("review-fix-json-file", 2).is_file()
    assert not cases.file("review-fix-json-file", 3).exists()
    first = heard[1].partition("# Additional instructions")[2]
    assert first.index("Be careful.") < first.index("A wrong result")
    assert NOT_PROVIDED not in heard[1]


@pytest.mark.whole
def test_only_some_severities_block(cases: Scene) -> None:
    cases.has(*PLAN)
    cases.agent(Mood(bad_reviews=8))
    found = values(ended_well(cases, "review-rounds", "--blocking-severities", "blocker"))
    inner = found["review_1/inspect"]["executionState"]["phases"][0]["steps"][1]["value"]
    assert (inner["blockingSeverities"], inner["blockingFindingsCount"]) == (["blocker"], 0)


def test_changes_are_committed_in_two_commits(cases: Scene) -> None:
    cases.project.write("other.txt", "new\n")
    cases.answer("git-commit", selected_files=["other.txt"], commit_message="Add other", confirm=True)
    found = values(ended_well(cases, "commit"))
    assert {file["file"] for file in data(cases, "git-status-json-file")["files"]} == {"code.txt", "other.txt"}
    assert "+two" in cases.file("git-diff-file").read_text(encoding="utf-8")
    assert cases.repository.subjects[:2] == [f"{KEY}: Add other", "ABC-1: Keep the order"]
    assert cases.repository.committed() == {"other.txt"}
    assert found["second/commit"]["commitHash"] == cases.repository.head


def test_a_merge_request_becomes_findings(cases: Scene) -> None:
    found = values(ended_well(cases, "merge-request"))
    assert found["ask/address"]["values"]["merge_request_url"] == cases.webs.gitlab.url + MERGE_REQUEST
    assert (found["read/changes"]["filesCount"], found["read/comments"]["commentsCount"]) == (1, 1)
    (finding,) = data(cases, "review-json-file")["findings"]
    assert (finding["severity"], "Adds one too many" in finding["description"]) == ("medium", True)
    assert found["sum_up/short"]["created"] is True
    assert "Adds one too many" in data(cases, "task-summary-json-file")["summary"]
    assert cases.messages == [found["sum_up/text"]["summary"]]


def test_a_check_is_repaired_until_it_passes(cases: Scene, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SHELL", "/bin/sh")
    cases.project.write("check.sh", CHECK)
    found = values(ended_well(cases, "checks"))
    assert found["prepare/programs"]["resolved"][0]["path"] == "/bin/sh"
    assert data(cases, "run-go-tests-result-json-file", 1)["exitCode"] == 3
    assert data(cases, "run-go-tests-result-json-file", 2)["ok"] is True
    assert not cases.file("run-go-tests-result-json-file", 3).exists()
    assert json.loads(found["check_1/read"]["text"])["exitCode"] == 3
    assert "check_2/explain" not in found, "the flow stopped behind its own step"
    explanation, repair = heard
    assert "looking, attempt 1" in explanation
    assert found["check_1/explain"]["summaryText"] in repair
    assert (cases.project.folder / "fixed").is_file()


@pytest.mark.whole
def test_a_playbook_is_made_and_used(cases: Scene) -> None:
    cases.has("task-context")
    found = values(ended_well(cases, "playbook"))
    assert (found["before/ensure"]["status"], found["make/write"]["status"]) == ("missing_playbook", "written")
    assert found["guide/ensure"]["status"] == "skipped_valid_existing"
    answers = data(cases, "playbook-answers-json-file")
    assert answers["final_write_accepted"] is True
    assert "PostgreSQL" in json.dumps(answers)
    rules = cases.project.folder / ".handrail/playbook/practices/r.md"
    assert "Test it." in rules.read_text(encoding="utf-8")
    assert found["guide/guidance"]["status"] == "available"
    assert data(cases, "project-guidance-review-json-file")["phase"] == "review"
    again = values(ended_well(cases, "playbook"))
    assert "make/write" not in again


@pytest.mark.whole
def test_prompts_of_every_form_reach_an_agent(cases: Scene, heard: list[str]) -> None:
    cases.has("review")
    ended = ended_well(cases, "agents")
    found = values(ended)
    plain, headed, older, routed = heard
    assert plain.startswith("Add a line to notes/codex.md.\n\nIt costs $$5 and $& more.\n\nBe short.\n\n")
    assert headed.startswith("# Task\n\nAdd a line to notes/opencode.md.\n\n# Additional instructions\n\ndone\n\n")
    assert older == "Add a line to notes/plan.md.\nNo heading."
    assert str(cases.file("review-summary-file")) in routed
    assert (ended["summary"], found["prompts/show"]) == ("changed", {"text": "changed"})
    assert {path.name for path in (cases.project.folder / "notes").iterdir()} == {
        "codex.md",
        "opencode.md",
        "plan.md",
        "summary.md",
    }


@pytest.mark.whole
def test_a_node_or_a_param_chooses_the_agent_if_the_command_does_not(cases: Scene, heard: list[str]) -> None:
    found = values(cases.project.json("run", "agents", "--scope", KEY))
    agents = {path: value["executor"] for path, value in found.items() if "executor" in value}
    assert agents == {
        "prompts/plain": "codex",
        "prompts/headed": "opencode",
        "prompts/older": "codex",
        "prompts/routed": "codex",
    }
    assert len(heard) == 4
