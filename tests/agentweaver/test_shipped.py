"""The flows that Handrail ships: how they are found, who wins over them, and what `plan` does with what it is given."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from agentweaver.agent import Mood
from agentweaver.scene import ISSUE, KEY, Scene
from handrail.driven.flows.shipped_flows import ShippedFlows
from handrail.extensions.registry import Registry
from handrail.project.definitions import Definitions
from handrail.settings.folders import UserFolders, shipped_flows

SHIPPED = ShippedFlows(shipped_flows())
OWN = "description: mine\nphases: [{id: a, steps: [{id: x, node: set, params: {n: 1}}]}]\n"


def definitions(scene: Scene) -> Definitions:
    return Definitions(str(scene.project.folder), {}, UserFolders({"HOME": str(scene.project.home)}), Registry())


def test_there_are_those_of_agentweaver_and_further_ones() -> None:
    entries = SHIPPED.entries()
    assert (len(entries), sum(entry.visible for entry in entries)) == (36, 29)
    assert all(entry.description for entry in entries)


@pytest.mark.whole
def test_all_are_valid_and_use_the_shipped_form(scene: Scene) -> None:
    found = definitions(scene)
    for entry in SHIPPED.entries():
        flow = found.with_shipped(entry.id).find(entry.id)
        assert flow.plan is not None
        assert (flow.plan.visible, flow.plan.description) == (entry.visible, entry.description)
        assert flow.plan.is_foreign
    assert found.flows.problems == ()


def test_none_is_read_unless_it_is_named(scene: Scene) -> None:
    found = definitions(scene)
    assert len(found.flows.found) == 0
    assert found.flow_named("review-loop").id == "review-loop"
    assert set(found.flows.flows) == {"review-loop", "review", "review-fix"}


@pytest.mark.parametrize("root", [".handrail/flows", ".agentweaver/.flows"])
def test_a_flow_of_the_project_wins_without_a_warning(scene: Scene, root: str) -> None:
    scene.project.write(f"{root}/plan.yaml", OWN)
    assert scene.project.json("validate")["problems"] == []
    assert scene.run("plan")["phases"][0]["id"] == "a"
    assert {flow["id"]: flow["source"] for flow in scene.project.json("list")["flows"]} == {"plan": "project"}
    replaced = scene.project.json("list", "--shipped")["flows"]
    assert [flow["id"] for flow in replaced if flow["replaced"]] == ["plan"]


@pytest.mark.parametrize("name", ["task-source/manual-input", "manual-input", "manual-input.json"])
def test_a_flow_runs_a_shipped_one(scene: Scene, name: str) -> None:
    scene.wrap(name)
    assert scene.run("wrapper")["status"] == "completed"
    assert scene.file("instant-task-input-json-file").is_file()


def test_a_flow_inside_is_that_of_the_project(scene: Scene) -> None:
    scene.project.write(".agentweaver/.flows/my/manual-input.json", json.dumps({"phases": []}))
    scene.wrap("manual-input.json")
    scene.run("wrapper")
    assert not scene.file("instant-task-input-json-file").exists()


@pytest.mark.whole
def test_shipped_flows_use_each_other_and_not_a_flow_of_the_project_with_the_same_id(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.project.write(".handrail/flows/plan.yaml", OWN)
    scene.project.write(".handrail/flows/mine/review-loop.yaml", OWN)
    monkeypatch.setenv("JIRA_BASE_URL", "http://127.0.0.1:9")
    run = scene.run("auto-simple", ISSUE, code=1)["run"]
    monkeypatch.setenv("JIRA_BASE_URL", scene.webs.jira.url)
    resumed = scene.project.json("resume", run, code=1)  # the address is that of the beginning
    assert resumed["reason"].startswith("service-host")
    ended = scene.project.json("restart", run, "--agent", "scripted", "--answers", "answers.json")
    assert ended["outcome"] == "success"
    assert scene.file("ready-to-merge-file").is_file()
    rows = scene.project.json("run", "auto-simple", ISSUE, "--agent", "scripted", "--dry-run")["rows"]
    assert {row["flow"] for row in rows if row["path"] in ("plan/run", "review/run")} == {
        "builtin:plan",
        "builtin:review-loop",
    }


@pytest.mark.whole
def test_a_flow_of_the_project_and_the_shipped_one_with_its_id_run_in_one_run(scene: Scene) -> None:
    scene.project.write(".handrail/flows/plan.yaml", OWN)
    step = "{id: %s, node: flow-run, params: {fileName: %s, taskKey: abc-1, task: Keep the order}}"
    steps = ", ".join(step % pair for pair in (("own", "plan.yaml"), ("all", "auto-simple")))
    scene.project.write(".handrail/flows/both.yaml", f"phases: [{{id: a, steps: [{steps}]}}]\n")
    assert scene.project.json("validate")["problems"] == []
    own, whole = scene.run("both")["phases"][0]["steps"]
    assert own["value"]["executionState"]["phases"][0]["id"] == "a"
    assert whole["value"]["executionState"]["phases"][0]["steps"][0]["value"]["flowKind"] == "builtin:plan"
    assert scene.file("plan-json-file").is_file()


def test_a_flow_of_the_project_replaces_a_shipped_one_everywhere_if_it_says_so(scene: Scene) -> None:
    scene.project.write(".handrail/flows/plan.yaml", f"overrides: true\n{OWN}")
    ended = scene.run("auto-simple", ISSUE, code=1)
    assert ended["phases"][0]["steps"][0]["value"]["executionState"]["phases"][0]["id"] == "a"
    assert ended["reason"] == "inputs-missing at implement/run"


def test_a_broken_flow_of_the_project_is_reported_and_not_replaced(scene: Scene) -> None:
    scene.project.write(".handrail/flows/plan.yaml", "phases: 1\n")
    said = scene.project.run("run", "plan")
    assert (said.code, "`.handrail/flows/plan.yaml` has 1 error" in said.err) == (2, True), said


def test_a_workflow_wins_over_a_shipped_flow_with_its_name(scene: Scene) -> None:
    scene.project.workflow("plan", ["look"])
    assert definitions(scene).flow_named("plan").source == "workflow"
    assert definitions(scene).flow_named("flow:plan").is_shipped
    scene.project.write(".handrail/flows/plan.yaml", OWN)
    assert definitions(scene).flow_named("plan").source == "project"


def test_a_hidden_one_runs_only_inside_others(scene: Scene) -> None:
    said = scene.project.run("run", "jira-fetch")
    assert (said.code, "list --shipped" in said.err) == (1, True), said


def test_a_misspelt_name_is_corrected(scene: Scene) -> None:
    assert "`auto-common`" in scene.project.run("run", "auto-comon").err


@pytest.mark.whole
def test_plan_fetches_and_describes_an_issue_first(scene: Scene) -> None:
    assert scene.run("plan", ISSUE)["status"] == "completed"
    assert scene.webs.jira.asked[0].path.endswith(ISSUE)
    for kind in ("jira-task-file", "task-context-json-file", "design-json-file", "plan-json-file", "qa-json-file"):
        assert scene.file(kind).is_file(), kind
    assert scene.run("plan", ISSUE)["status"] == "completed"
    assert scene.file("task-context-json-file", 2).is_file()
    assert scene.file("plan-json-file", 2).is_file()


def test_plan_takes_the_words_of_its_command(scene: Scene) -> None:
    task = 'Keep the "order"\nof the items'
    assert scene.run("plan", task)["status"] == "completed"
    data = json.loads(scene.file("instant-task-input-json-file").read_text(encoding="utf-8"))
    assert data["values"]["task_description"] == task
    assert datetime.fromisoformat(data["submitted_at"]).tzinfo is not None
    assert scene.file("qa-json-file").is_file()
    assert scene.webs.jira.asked == []


@pytest.mark.whole
def test_plan_asks_if_it_knows_nothing_and_takes_what_is_there(scene: Scene) -> None:
    assert scene.run("plan")["status"] == "completed"
    data = json.loads(scene.file("instant-task-input-json-file").read_text(encoding="utf-8"))
    assert data["values"]["task_description"] == "Keep the order of the items."
    assert scene.run("plan")["status"] == "completed"
    assert not scene.file("task-context-json-file", 2).exists()
    assert scene.file("plan-json-file", 2).is_file()


@pytest.mark.whole
@pytest.mark.parametrize("words", [("Keep", "the", "order"), ()])
def test_a_large_flow_takes_words_too_or_asks_for_them(scene: Scene, words: tuple[str, ...]) -> None:
    assert scene.run("auto-simple", *words)["outcome"] == "success"
    data = json.loads(scene.file("instant-task-input-json-file").read_text(encoding="utf-8"))
    assert data["values"]["task_description"] == (" ".join(words) or "Keep the order of the items.")
    assert scene.webs.jira.asked == []


@pytest.mark.parametrize("name", ["plan", "auto-common"])
def test_a_flow_that_cannot_fetch_its_issue_says_what_to_do(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("JIRA_BASE_URL")
    ended = scene.run(name, ISSUE, code=1)
    assert ended["reason"].startswith("issue-unknown")
    assert "JIRA_BASE_URL" in ended["error"]
    assert "`handrail restart" in ended["hints"][0]


def test_an_issue_is_no_task_that_a_flow_ignores(scene: Scene) -> None:
    argv = ("run", "describe-change", "--agent", "scripted", "--dry-run")
    assert "ignored" not in scene.project.run(*argv, ISSUE).err
    assert "ignored" not in scene.project.run(*argv, f"{scene.webs.jira.url}/browse/{ISSUE}").err
    assert "`http://[/ABC-1` is ignored" in scene.project.run(*argv, "http://[/ABC-1").err


@pytest.mark.whole
def test_an_instant_task_takes_the_words_of_its_command(scene: Scene) -> None:
    assert scene.run("instant-task", "Keep", "the", "order")["outcome"] == "success"
    data = json.loads(scene.file("instant-task-input-json-file").read_text(encoding="utf-8"))
    assert data["values"]["task_description"] == "Keep the order"


def test_a_review_without_a_plan_reviews_the_project(scene: Scene) -> None:
    assert scene.run("review-loop")["outcome"] == "success"
    assert scene.file("review-json-file").is_file()


@pytest.mark.parametrize("name", ["design-review", "plan-revise"])
def test_a_flow_that_needs_a_plan_says_so(scene: Scene, name: str) -> None:
    for more in ((), ("--dry-run",)):
        said = scene.project.run("run", name, "--agent", "scripted", *more)
        assert (said.code, "needs a design and a plan" in said.err, "handrail run plan" in said.err) == (1, True, True)


def test_a_fix_without_a_review_says_so(scene: Scene) -> None:
    assert "`handrail run review` first" in scene.run("review-fix", code=1)["error"]


def test_a_person_selects_the_findings_of_a_guided_loop(scene: Scene) -> None:
    scene.agent(Mood(bad_reviews=1))
    scene.answer("review-fix-selection", selected_findings=["A wrong result"], extra_notes="Carefully.")
    assert scene.run("review-loop", "--param", "fixBlocking=false")["outcome"] == "success"
    name = f".agentweaver/scopes/{KEY}/.artifacts/review-fix-selection-{KEY}-1.json"
    values = json.loads((scene.project.folder / name).read_text(encoding="utf-8"))["values"]
    assert (values["selected_findings"], values["extra_notes"]) == (["A wrong result"], "Carefully.")


@pytest.mark.whole
def test_guidance_of_a_playbook_reaches_every_flow_that_works_on_a_task(scene: Scene) -> None:
    scene.agent(Mood(bad_reviews=1))
    assert scene.run("playbook-init", "--accept-playbook-draft")["status"] == "completed"
    assert scene.run("auto-common", ISSUE)["outcome"] == "success"
    for phase in ("plan", "design-review", "implement", "review", "repair-review-fix"):
        assert scene.file(f"project-guidance-{phase}-json-file").is_file(), phase
    assert not scene.file("project-guidance-plan-json-file", 2).exists()


def test_a_run_of_a_shipped_flow_can_be_restarted(scene: Scene) -> None:
    run = scene.run("review-loop")["run"]
    ended = scene.project.json("restart", run, "--agent", "scripted")
    assert (ended["status"], ended["attempt"]) == ("completed", 2)


def test_the_scope_of_an_issue_is_its_key(scene: Scene) -> None:
    argv = ("run", "plan", ISSUE, "--agent", "scripted", "--dry-run")
    rows = scene.project.json(*argv)["rows"]
    assert any(row["path"] == "understand/fetch-issue" and row["verdict"] == "runs" for row in rows)
    assert not Path(scene.project.folder, ".agentweaver/scopes", KEY).exists()


def test_a_flow_of_this_form_gets_the_params_and_is_still_checked(scene: Scene) -> None:
    text = "form: agentweaver\nphases: [{id: a, steps: [{id: x, node: set, params: {n: '${params.taskKey}'}}]}]\n"
    scene.project.write(".handrail/flows/mine.yaml", text)
    assert scene.run("mine")["phases"][0]["steps"][0]["value"] == {"n": KEY}
    scene.project.write(".handrail/flows/mine.yaml", f"{text}phase: 1\n")
    assert scene.project.json("validate", code=2)["problems"][0]["code"] == "misspelt-key"
    scene.project.write(".handrail/flows/mine.yaml", text.replace("agentweaver", "other"))
    assert scene.project.json("validate", code=2)["problems"][0]["code"] == "bad-value"


def test_a_flow_of_this_form_may_declare_params_beside_those_that_it_gets(scene: Scene) -> None:
    inner = """form: agentweaver
params: {n: 3, extraPrompt: {about: more}}
phases:
  - id: a
    steps:
      - id: x
        node: set
        params: {all: ["${params.n}", "${params.taskKey}", "${params.iteration}", "${params.latestIteration}"]}
"""
    outer = "phases: [{id: a, steps: [{id: x, node: flow-run, params: {fileName: inner, taskKey: %s, more: 1}}]}]\n"
    scene.project.write(".handrail/flows/inner.yaml", inner)
    scene.project.write(".handrail/flows/outer.yaml", outer % KEY)
    assert scene.project.json("validate")["problems"] == []
    assert scene.run("inner")["phases"][0]["steps"][0]["value"] == {"all": [3, KEY, 1, None]}
    assert "does not use the param `more`" in scene.project.run("run", "inner", "--param", "more=1").err
    scene.has("review")
    value = scene.run("outer")["phases"][0]["steps"][0]["value"]
    found = value["executionState"]["phases"][0]["steps"][0]["value"]
    assert found == {"all": [3, KEY, 2, 1]}
    rows = scene.project.json("run", "outer", "--scope", KEY, "--dry-run")["rows"]
    assert [row["verdict"] for row in rows if row["path"] == "a/x/a/x"] == ["runs"]


@pytest.mark.whole
def test_a_prompt_with_a_schema_has_not_changed_by_itself(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIRA_BASE_URL", "http://127.0.0.1:9")
    ended = scene.run("plan", ISSUE, code=1)
    assert not [hint for hint in ended["hints"] if "was changed" in hint]


def test_a_changed_prompt_is_told(scene: Scene) -> None:
    prompt = "Say `{task_context_json_file}`.\n\n<!-- schema: task-context/v1 -->\n"
    path = scene.project.write(".handrail/prompts/plan-questions.md", prompt)
    scene.has("task-context")
    ended = scene.run("plan", code=1)
    assert not [hint for hint in ended["hints"] if "was changed" in hint]
    path.write_text(prompt + "More.\n", encoding="utf-8")
    again = scene.project.run("resume", ended["run"])
    assert "plan-questions.md" in again.err
    assert "was changed" in again.err
