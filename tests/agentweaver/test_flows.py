"""Every flow of AgentWeaver runs to its end: those that Handrail ships, and those of a folder, unchanged.

`HANDRAIL_AGENTWEAVER_FLOWS` names a folder with the flow files that AgentWeaver publishes, or its package.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentweaver.agent import Mood
from agentweaver.published import copy_flows
from agentweaver.scene import FOREIGN, ISSUE, KEY, Scene

GIVEN = os.environ.get("HANDRAIL_AGENTWEAVER_FLOWS", "")
FOLDER = Path(GIVEN).expanduser().absolute()
PLAN = ("task-context", "design", "plan", "qa")
BUG = ("bug-analyze", "bug-fix-design", "bug-fix-plan")


class Case(NamedTuple):
    """A flow: what its scope has before, the words of its command, and a kind of file that it makes."""

    flow: str
    has: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    makes: str | None = None
    is_hidden: bool = False


CASES = (
    Case("auto-common", words=(ISSUE,), makes="ready-to-merge-file"),
    Case("auto-common-guided", words=(ISSUE, "--accept-playbook-draft"), makes="project-guidance-review-file"),
    Case("auto-golang", words=(ISSUE,), makes="run-go-tests-result-json-file"),
    Case("auto-simple", words=(ISSUE,), makes="ready-to-merge-file"),
    Case("bugz/bug-analyze", words=(ISSUE,), makes="bug-fix-plan-json-file"),
    Case("bugz/bug-fix", BUG),
    Case("design-review", PLAN, makes="design-review-json-file"),
    Case("design-review/design-review-loop", PLAN, makes="design-review-json-file", is_hidden=True),
    Case("git-commit", makes="commit-message-output-json-file"),
    Case("gitlab/gitlab-diff-review", makes="review-json-file"),
    Case("gitlab/gitlab-review", makes="review-assessment-json-file"),
    Case("gitlab/mr-description", ("jira",), makes="mr-description-json-file"),
    Case("go/run-go-linter-loop", makes="run-go-linter-result-json-file"),
    Case("go/run-go-tests-loop", makes="run-go-tests-result-json-file"),
    Case("implement", PLAN),
    Case("instant-task", makes="ready-to-merge-file"),
    Case("normalize-task-source", ("instant-task-input",), makes="task-context-json-file", is_hidden=True),
    Case("plan", ("task-context",), makes="qa-json-file"),
    Case("plan-revise", (*PLAN, "design-review")),
    Case("playbook-init", makes="playbook-write-result-json-file"),
    Case("review/review", PLAN, makes="review-json-file"),
    Case("review/review-fix", (*PLAN, "review"), makes="review-fix-json-file"),
    Case("review/review-loop", PLAN, makes="ready-to-merge-file"),
    Case("review/review-project", makes="review-json-file", is_hidden=True),
    Case("review/review-project-loop", makes="ready-to-merge-file", is_hidden=True),
    Case("task-describe", makes="jira-description-json-file"),
    Case("task-source/jira-fetch", words=(ISSUE,), makes="jira-task-file", is_hidden=True),
    Case("task-source/manual-input", makes="instant-task-input-json-file", is_hidden=True),
)
SOURCES = [
    "shipped",
    pytest.param("given", marks=pytest.mark.skipif(not GIVEN, reason="HANDRAIL_AGENTWEAVER_FLOWS is not set")),
]
NAMED = {case.flow: case for case in CASES}


@pytest.fixture(params=SOURCES)
def flows(request: pytest.FixtureRequest, scene: Scene) -> Scene:
    """The scene with flows that Handrail ships, or with those of the folder."""
    if request.param == "given":
        copy_flows(FOLDER, scene.project.folder / FOREIGN, NAMED)
    return scene


def play(scene: Scene, name: str, *words: str, code: int = 0) -> dict[str, Any]:
    """Run a flow as its case says, and return how it ended."""
    case = NAMED[name]
    scene.has(*case.has)
    flow = scene.wrap(f"{os.path.basename(name)}.json") if case.is_hidden else name
    return scene.run(flow, *case.words, *words, code=code)


def succeed(scene: Scene, name: str, *words: str) -> dict[str, Any]:
    ended = play(scene, name, *words)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    made = NAMED[name].makes
    assert made is None or scene.file(made).is_file()
    return ended


def test_a_case_for_every_flow() -> None:
    assert len({case.flow for case in CASES}) == 28


@pytest.mark.whole(21)
@pytest.mark.parametrize("name", NAMED)
def test_a_flow_runs_to_its_end(flows: Scene, name: str) -> None:
    succeed(flows, name)


@pytest.mark.whole
@pytest.mark.parametrize("name", ["review/review-project-loop", "instant-task"])
def test_findings_are_fixed_and_reviewed_again(flows: Scene, name: str) -> None:
    flows.agent(Mood(bad_reviews=2))
    succeed(flows, name)
    assert flows.file("review-fix-json-file", 2).is_file()
    assert flows.file("review-json-file", 3).is_file()
    assert not flows.file("review-fix-json-file", 3).exists()
    assert flows.file("ready-to-merge-file").is_file()


@pytest.mark.whole
def test_a_review_that_is_never_clean_fails_after_its_last_round(flows: Scene) -> None:
    """AgentWeaver's flow goes on to its last round; the shipped one ends when a review says the same three times."""
    flows.agent(Mood(bad_reviews=8))
    ended = play(flows, "review/review-loop", code=1)
    reason = ended["reason"].split()[0]
    assert (ended["status"], reason in ("expectation", "same-failure")) == ("failed", True)
    rounds = 6 if reason == "expectation" else 3
    assert flows.file("review-json-file", rounds).is_file()
    assert not flows.file("review-json-file", rounds + 1).exists()
    assert not flows.file("ready-to-merge-file").exists()


@pytest.mark.whole
@pytest.mark.parametrize("name", ["design-review/design-review-loop", "instant-task"])
def test_a_plan_is_revised_after_its_review(flows: Scene, name: str) -> None:
    flows.agent(Mood(bad_designs=1))
    succeed(flows, name)
    assert flows.file("design-json-file", 2).is_file()
    assert flows.file("design-review-json-file", 2).is_file()
    assert not flows.file("design-json-file", 3).exists()


@pytest.mark.whole
def test_a_person_may_use_a_plan_that_is_never_approved(flows: Scene) -> None:
    flows.agent(Mood(bad_designs=8))
    succeed(flows, "design-review/design-review-loop")
    assert flows.file("design-review-json-file", 3).is_file()
    assert flows.file("design-json-file", 3).is_file()
    assert not flows.file("design-review-json-file", 4).exists()


@pytest.mark.whole
def test_a_person_may_stop_because_of_a_plan_that_is_never_approved(flows: Scene) -> None:
    flows.agent(Mood(bad_designs=8))
    flows.answer("design-review-loop-final-decision", decision="stop")
    ended = play(flows, "auto-common", code=1)
    assert (ended["status"], ended["outcome"]) == ("stopped", "stopped")
    assert not flows.file("review-json-file").exists()
    flows.agent(Mood())
    again = flows.project.json("continue", ended["run"], "--agent", "scripted", "--answers", "answers.json")
    assert (again["status"], again["outcome"]) == ("completed", "success")
    assert flows.file("ready-to-merge-file").is_file()


KINDS = {
    "gitlab/gitlab-review": {"gitlab-review-input": "user-input/v1"},
    "gitlab/gitlab-diff-review": {"gitlab-diff-review-input": "user-input/v1"},
    "task-describe": {"task-describe-input": "user-input/v1"},
    "git-commit": {"select-files-output": "user-input/v1", "commit-message-output": "user-input/v1"},
    "review/review-fix": {"review-fix-selection": "user-input/v1", "review-fix": "review-fix-report/v1"},
    "playbook-init": {
        "repo-inventory": "repo-inventory/v1",
        "playbook-answers": "playbook-answers/v1",
        "playbook-write-result": "playbook-write-result/v1",
    },
}
"""Flow → what its artifacts are recorded as, by their keys. A prefix of a name is not enough to know."""


@pytest.mark.whole
@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_recorded_as_what_it_is(flows: Scene, name: str) -> None:
    run = succeed(flows, name)["run"]
    schemas = {one["key"]: one["schema"] for one in flows.project.json("artifacts", run)["artifacts"]}
    wanted = {f"artifacts/{key}.json": schema for key, schema in KINDS[name].items()}
    assert {key: schemas.get(key) for key in wanted} == wanted


@pytest.mark.parametrize("name", ["go/run-go-linter-loop", "go/run-go-tests-loop"])
def test_an_agent_mends_what_the_go_tools_report(flows: Scene, name: str) -> None:
    flows.project.write("broken", "")
    succeed(flows, name)
    assert (flows.project.folder / "fixed").is_file()


def test_a_flow_commits_what_a_person_chose(flows: Scene) -> None:
    flows.project.write("other.txt", "not chosen")
    succeed(flows, "git-commit")
    assert flows.repository.subjects[0] == "ABC-1: Keep the order"
    assert flows.repository.committed() == {"code.txt"}


def test_a_task_is_described_from_its_issue(flows: Scene) -> None:
    flows.answer("task-describe-source-input", jira_ref=ISSUE)
    succeed(flows, "task-describe")
    assert flows.file("jira-task-file").is_file()


@pytest.mark.whole
def test_messages_are_sent(flows: Scene) -> None:
    succeed(flows, "auto-simple")
    assert all(KEY in text for text in flows.messages)
    assert len(flows.messages) == len(set(flows.messages))
    assert len(flows.messages) >= 4  # questions, plan, implementation, end


@pytest.mark.whole
def test_a_second_run_uses_the_next_iterations(flows: Scene) -> None:
    for _ in range(2):
        succeed(flows, "auto-simple")
    for kind in ("task-context-json-file", "design-json-file", "review-json-file"):
        assert flows.file(kind, 2).is_file(), kind
