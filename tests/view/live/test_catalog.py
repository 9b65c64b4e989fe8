"""The definitions of a project as rows, with those that cannot be used, while their files change."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import NotFound
from handrail.source.codes import problem_kinds
from handrail.view.live import catalog
from handrail.view.live.catalog import LiveCatalog, definition
from support import Project

BROKEN = "description: Runs at night.\nphases:\n- id: unit\n  stpes: []\n"
CALLS = "phases: [{id: call, steps: [{id: it, node: flow-run, params: {fileName: nightly.yaml}}]}]\n"
RELEASE = """
description: "Checks and \\e[31masks."
params: {version: {required: true}, deep: false}
continue: again
phases:
- {id: check, steps: [{id: tests, node: command, params: {argv: ["true"]}, retry: {attempts: 2}}]}
- repeat: {var: i, to: 3}
  phases:
  - {id: "review-${i}", steps: [{id: look, node: llm-prompt, routingGroup: review, prompt: look}]}
- parallel: true
  phases:
  - {id: left, steps: [{id: one, node: set, params: {x: 1}}]}
  - {id: right, when: "${params.deep}", steps: [{id: two, node: set, params: {x: 1}}]}
"""
NOTE = "phases: [{id: a, steps: [{id: one, node: set, params: {x: 1}}]}]\n"


@pytest.fixture
def app(project: Project, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr(catalog, "LOOK_AGAIN", 0.0)
    project.write(".handrail/flows/nightly.yaml", BROKEN)
    project.write(".handrail/flows/weekly.yaml", CALLS)
    project.write(".handrail/flows/release.yaml", RELEASE)
    return App(str(project.folder), os.environ)


def rows_of(live: LiveCatalog) -> dict[str, Any]:
    live.refresh()
    return {row["id"]: row for row in live.topic.rows.section("entries")}


def test_a_catalog_that_is_opened_again_has_the_files_and_settings_of_now(project: Project, app: App) -> None:
    assert rows_of(LiveCatalog(app))["flow:release"]["state"] == "ok"
    project.write(".handrail/flows/release.yaml", BROKEN)
    project.write(".handrail/settings.yaml", "agnet: claude\n")
    again = LiveCatalog(app)
    assert rows_of(again)["flow:release"]["state"] == "broken"
    (head,) = again.topic.rows.section("head")
    (problem,) = head["settings"]
    assert (problem["file"], problem["line"], problem["hint"]) == (
        ".handrail/settings.yaml",
        1,
        "did you mean `agent`?",
    )
    project.write(".handrail/settings.yaml", "agent: claude\n")
    again.refresh()
    assert again.topic.rows.section("head")[0]["settings"] == []


def test_a_broken_definition_and_one_that_needs_it_are_rows(project: Project, app: App) -> None:
    project.workflow("ship", ["plan", "@gone"])
    project.workflow("outer", ["@ship"])
    rows = rows_of(LiveCatalog(app))
    states = {id_: row["state"] for id_, row in rows.items() if row["source"] == "project"}
    assert states == {
        "workflow:outer": "needs-broken",
        "workflow:ship": "broken",
        "flow:nightly": "broken",
        "flow:release": "ok",
        "flow:weekly": "needs-broken",
    }
    (problem,) = rows["flow:nightly"]["problems"]
    assert (problem["code"], problem["file"], problem["line"], problem["column"], problem["excerpt"]) == (
        "misspelt-key",
        ".handrail/flows/nightly.yaml",
        4,
        3,
        "  stpes: []",
    )
    assert rows["flow:weekly"]["problems"][0]["cause"] == ".handrail/flows/nightly.yaml"
    release = rows["flow:release"]
    assert (release["phases"], release["groups"], release["continue"]) == (4, ["review"], "again")
    assert [(param["name"], param["required"]) for param in release["params"]] == [("version", True), ("deep", False)]
    assert "\x1b" not in release["description"]
    shipped = rows["flow:plan"]
    assert (shipped["source"], shipped["state"], shipped["phases"]) == ("builtin", "ok", None)


def test_an_edit_is_seen_without_a_restart(project: Project, app: App) -> None:
    live = LiveCatalog(app)
    assert rows_of(live)["flow:weekly"]["state"] == "needs-broken"
    before = live.topic.rows.seq
    live.refresh()
    assert live.topic.rows.seq == before
    project.write(".handrail/flows/nightly.yaml", NOTE)
    rows = rows_of(live)
    assert (rows["flow:nightly"]["state"], rows["flow:weekly"]["state"]) == ("ok", "ok")
    assert app.definitions.flow_named("nightly").plan is not None
    (message,) = live.messages(live.topic.rows.epoch, before, 1.0)
    assert [row["id"] for row in message["set"]["entries"]] == ["flow:nightly", "flow:weekly"]
    (project.folder / ".handrail/flows/weekly.yaml").unlink()
    assert "flow:weekly" not in rows_of(live)


def test_a_definition_says_what_it_hides_and_a_hidden_one_what_is_used(project: Project, app: App) -> None:
    project.workflow("ship", ["plan"])
    project.workflow("ship", ["plan"], root="../home/config/workflows")
    project.write(".handrail/flows/plan.yaml", f"overrides: true\n{NOTE}")
    rows = rows_of(LiveCatalog(app))
    assert (rows["workflow:ship"]["source"], rows["workflow:ship"]["shadows"]) == ("project", ["workflow:ship@2"])
    assert (rows["workflow:ship@2"]["source"], rows["workflow:ship@2"]["shadowedBy"]) == ("user", "workflow:ship")
    assert rows["flow:plan"]["shadows"] == ["flow:plan@2"]
    assert rows["flow:plan@2"]["shadowedBy"] == "flow:plan"
    assert definition(app, "workflow", "ship@2")["entry"]["source"] == "user"
    assert "config" in definition(app, "workflow", "ship@2")["files"][0]["file"]
    assert definition(app, "flow", "plan@2")["files"][0]["text"].startswith("description: Understands")


def test_a_plugin_that_nobody_trusts_is_a_row(project: Project, app: App) -> None:
    project.run("plugin", "new", "acme")
    row = rows_of(LiveCatalog(app))["plugin:acme"]
    assert (row["state"], row["description"]) == ("untrusted", "not trusted: handrail plugins trust acme")


def test_a_flow_is_shown_with_its_text_its_problems_and_its_plan_as_written(app: App) -> None:
    found = definition(app, "flow", "nightly")
    (file,) = found["files"]
    assert file["text"].splitlines()[3] == "  stpes: []"
    (problem,) = file["problems"]
    rule = problem_kinds()[problem["code"]]
    assert (problem["line"], problem["meaning"], problem["cure"]) == (4, rule.meaning, rule.cure)
    assert found["plan"] is None
    check, review, sides = definition(app, "flow", "release")["plan"]
    assert [(step["name"], step["node"], step["tries"]) for step in check["items"]] == [("tests", "command", 2)]
    assert (review["kind"], review["name"], review["rounds"]) == ("repeat", "review", 3)
    assert [item["name"] for item in review["items"]] == ["review"]
    assert review["items"][0]["items"][0]["group"] == "review"
    assert (sides["kind"], [item["name"] for item in sides["items"]]) == ("parallel", ["left", "right"])
    assert "deep" in sides["items"][1]["when"]
    assert definition(app, "flow", "plan")["plan"]
    for kind, key in (("flow", "../../secret"), ("folder", "x"), ("workflow", "release")):
        with pytest.raises(NotFound):
            definition(app, kind, key)


def test_a_workflow_is_shown_with_the_files_of_its_phases(project: Project, app: App) -> None:
    project.workflow("inner", ["look", "mend"], "loopable: true\n")
    project.workflow("ship", ["plan", "@inner", "deliver"])
    found = definition(app, "workflow", "ship")
    assert [os.path.basename(file["file"]) for file in found["files"]] == ["workflow.yaml", "plan.md", "deliver.md"]
    plan, inner, deliver = found["plan"]
    assert (plan["name"], deliver["name"], inner["kind"], inner["loopable"]) == ("Plan", "Deliver", "workflow", True)
    assert [item["name"] for item in inner["items"]] == ["Look", "Mend"]


def test_view_prints_the_catalog_and_list_has_what_cannot_be_used(project: Project, app: App) -> None:
    message = json.loads(project.run("view", "catalog").out)
    assert (message["topic"], message["set"]["head"]["broken"]) == ("catalog", 2)
    listed = project.json("list")
    states = {flow["id"]: flow["state"] for flow in listed["flows"]}
    assert states == {"release": "ok", "nightly": "broken", "weekly": "needs-broken"}
    names = {"id", "also", "description", "source", "file", "visible", "replaces", "runs", "state"}
    assert all(flow.keys() == names for flow in listed["flows"])
    lines = project.run("list").out.splitlines()
    assert [line.split()[-2:] for line in lines if line.startswith("nightly")] == [["1", "error"]]
    (weekly,) = (line for line in lines if line.startswith("weekly"))
    assert weekly.endswith("needs .handrail/flows/nightly.yaml, which has errors")
    del app


def test_the_name_of_a_file_is_only_text(project: Project, app: App) -> None:
    project.write(".handrail/flows/e\u202e\x1b[31mvil.yaml", "phases: 3\n")
    (row,) = [row for row in rows_of(LiveCatalog(app)).values() if "vil" in row["file"]]
    assert (row["name"], row["file"]) == ("e⟨U+202E⟩vil", ".handrail/flows/e⟨U+202E⟩vil.yaml")
    assert row["problems"][0]["file"] == row["file"]
    (file,) = definition(app, "flow", row["key"])["files"]
    assert (file["file"], len(file["problems"])) == (row["file"], len(row["problems"]))
