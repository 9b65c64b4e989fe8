"""What the shipped flows tell the agents: the task, what was said and done before, and nothing that does not exist."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentweaver.agent import Mood, place
from agentweaver.scene import ISSUE, KEY, Scene
from handrail.app import App
from handrail.driven.flows.prompts import PromptLibrary
from handrail.driven.runs.run_events import NodeStarted
from handrail.settings.folders import UserFolders, prompt_roots

PLAN = ("task-context", "design", "plan", "qa")


def told(scene: Scene, run: str) -> dict[str, str]:
    """The prompts that the agents of a run got, by the paths of their steps."""
    app = App(str(scene.project.folder), os.environ, by="person")
    loaded = app.runs.load(run)
    prompts: dict[str, str] = {}
    for _, event in loaded.records:
        if isinstance(event, NodeStarted):
            given = event.given if event.payload is None else loaded.payload(event.payload)
            prompts |= {event.path: given["prompt"]} if given and given.get("prompt") else {}
    return prompts


def named(kind: str, turn: int = 1) -> str:
    return Path(place(kind, KEY, turn)).name


def test_who_implements_knows_the_task_and_the_answers(scene: Scene) -> None:
    scene.has(*PLAN, "instant-task-input")
    scene.project.write(place("planning-answers-json-file", KEY), json.dumps({"values": {"speed": "fast"}}))
    (prompt,) = told(scene, scene.run("implement")["run"]).values()
    for kind in ("task-context-json-file", "instant-task-input-json-file", "planning-answers-json-file"):
        assert named(kind) in prompt, kind


def test_a_prompt_names_no_file_that_does_not_exist(scene: Scene) -> None:
    scene.has(*PLAN)
    (prompt,) = told(scene, scene.run("implement")["run"]).values()
    assert "not provided" not in prompt
    assert "guidance" not in prompt
    assert named("planning-answers-json-file") not in prompt
    assert "{" not in prompt.partition("# Additional")[0]


def test_a_later_review_sees_the_last_one_and_what_was_done_about_it(scene: Scene) -> None:
    scene.agent(Mood(bad_reviews=1))
    prompts = told(scene, scene.run("review-loop", "--param", "base=release-1")["run"])
    first, second = (prompts[f"review-{n}/run/review/without-plan"] for n in (1, 2))
    assert "the last review of this work:" not in first
    assert named("review-json-file", 1) in second
    assert named("review-fix-json-file", 1) in second
    assert all("`release-1`" in prompt for prompt in (first, second))


@pytest.mark.whole
def test_a_later_review_of_a_design_sees_the_last_one(scene: Scene) -> None:
    scene.agent(Mood(bad_designs=1))
    scene.has(*PLAN)
    scene.wrap("design-review-loop.json")
    prompts = told(scene, scene.run("wrapper")["run"])
    first, second = (prompts[f"whole/run/review-{n}/run/review/read"] for n in (1, 2))
    assert "the last review" not in first.partition("Check against")[0]
    assert named("design-review-json-file", 1) in second


@pytest.mark.parametrize("severity", [None, "low"])
def test_no_agent_is_paid_to_fix_nothing(scene: Scene, severity: str | None) -> None:
    findings = [] if severity is None else [{"severity": severity, "title": "A name", "description": "It is long."}]
    review = {"summary": "Sound", "ready_to_merge": True, "findings": findings}
    scene.project.write(place("review-json-file", KEY), json.dumps(review))
    ended = scene.run("review-fix", "--param", "fixBlocking=true")
    assert ended["outcome"] == "success"
    assert told(scene, ended["run"]) == {}


def test_a_bug_in_words_is_analysed_with_the_guidance_of_the_project(scene: Scene) -> None:
    scene.project.write(".handrail/playbook/project.md", "# About\n")
    practice = "---\nid: order\ntitle: Order\nphases: [plan]\n---\nKeep the order.\n"
    scene.project.write(".handrail/playbook/practices/order.md", practice)
    manifest = "version: 1\nproject: {name: tea}\npractices: {globs: ['practices/*.md']}\n"
    scene.project.write(".handrail/playbook/manifest.yaml", manifest)
    (prompt,) = told(scene, scene.run("bug-analyze", "The list loses its order")["run"]).values()
    assert named("instant-task-input-json-file") in prompt
    assert named("project-guidance-plan-file") in prompt
    assert "attachments:" not in prompt
    assert "Keep the order." in scene.file("project-guidance-plan-file").read_text(encoding="utf-8")


@pytest.mark.whole
def test_the_analysis_and_the_fix_of_a_bug_know_the_attachments_of_its_issue(scene: Scene) -> None:
    runs = [scene.run("bug-analyze", ISSUE)["run"], scene.run("bug-fix")["run"]]
    for run in runs:
        prompt = next(iter(told(scene, run).values()))
        for kind in ("jira-task-file", "jira-attachments-manifest-file", "jira-attachments-context-file"):
            assert named(kind) in prompt, kind


def test_a_fix_of_a_bug_is_checked(scene: Scene) -> None:
    scene.has("bug-analyze", "bug-fix-design", "bug-fix-plan")
    ended = scene.run("bug-fix", "--param", "check=sh -c 'test -e fixed'")
    assert list(told(scene, ended["run"])) == ["fix/code", "check/run/attempt-1/fix"]
    assert (scene.project.folder / "fixed").is_file()


def test_every_prompt_with_foreign_text_says_that_it_is_no_order() -> None:
    library = PromptLibrary(prompt_roots("/nowhere", UserFolders({"HOME": "/nowhere"})), lambda _: {})
    own = {"playbook-draft", "playbook-practice-candidates", "playbook-questions", "task-context-from-manual"}
    for name in set(library) - own:
        assert any(words in library[name].text for words in ("no order", "never an order", "no instruction")), name


def test_who_judges_knows_what_each_severity_means(scene: Scene) -> None:
    (prompt,) = told(scene, scene.run("review")["run"]).values()
    for severity in ("blocker:", "critical:", "high:", "medium:", "low:", "info:"):
        assert severity in prompt
    assert '\n  "properties"' not in prompt
