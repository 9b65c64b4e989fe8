"""What a launch dialog is offered, what is said about wrong fields, and where chosen agents are saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import RefusedError
from handrail.view.actions import Actions, LaunchForm, WrongFields
from handrail.view.launch import offer_launch, preview_launch, save_routes
from handrail.view.live.hub import open_topic
from support import Project

FLOW = """
description: Checks and releases.
params:
  version: {required: true, about: what is released}
  deep: {default: false}
  count: {default: 3}
  kind: {choices: [minor, major], default: minor}
  tags: {default: []}
continue: again
phases:
- id: check
  steps: [{id: lint, node: command, params: {argv: [sh, -c, "test -e ok"]}}]
- repeat: {var: i, max: 3, until: {defined: {ref: steps.look.it.outputs.result}}, onExhausted: continue}
  phases:
  - {id: "look-${i}", steps: [{id: it, node: llm-prompt, routingGroup: review, when: {ref: params.deep},
      prompt: {inlineTemplate: x}}]}
- {id: notes, steps: [{id: write, node: write-file, params: {path: NOTES.md, text: "${params.version}"}}]}
"""


ASKS = "phases: [{id: a, steps: [{id: b, node: approve, params: {question: Go?}}]}]"


def app_of(project: Project, by: str = "person") -> App:
    return App(str(project.folder), os.environ, by=by)


def problems(project: Project, **given: Any) -> dict[str, str]:
    with pytest.raises(WrongFields) as caught:
        Actions(app_of(project), "tui").launch(LaunchForm(name="release", **given))
    return {problem.field: problem.message for problem in caught.value.problems}


def test_the_dialog_has_fields_groups_phases_and_an_estimate(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    project.write(".handrail/settings.yaml", "routes: {review: scripted:m1}\nlimits: {usd: 5}\n")
    found = offer_launch(app_of(project), "release")
    kinds = {field["name"]: (field["kind"], field["required"]) for field in found["fields"]}
    assert kinds == {
        "version": ("any", True),
        "deep": ("boolean", False),
        "count": ("number", False),
        "kind": ("choice", False),
        "tags": ("json", False),
    }
    assert [choice["value"] for choice in found["fields"][3]["choices"]] == ["minor", "major"]
    (group,) = found["groups"]
    assert (group["group"], group["agent"], group["model"]) == ("review", "scripted", "m1")
    assert [(step["step"], step["rounds"]) for step in group["steps"]] == [("look/it", 3)]
    assert found["phases"][0] == "check"
    assert found["limits"] == {"usd": 5, "minutes": None, "tokens": None}
    assert (found["mode"], found["modes"], found["run"]) == ("new", ["new"], None)
    assert found["estimate"] == "2 to 5 steps; no past run is like this one"
    assert "codex-only" in found["presets"]


def test_a_new_run_is_preselected_also_after_one_that_failed_was_cancelled_or_can_be_continued(
    project: Project,
) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    run = project.json("run", "release", "--param", "version=1.2", code=1)["run"]
    found = offer_launch(app_of(project), "release")
    assert (found["mode"], found["modes"]) == ("new", ["new", "resume", "restart"])
    assert (found["run"]["id"], found["run"]["next"], found["run"]["from"]) == (run, "check/lint", ["check"])
    assert found["run"]["params"] == {"version": 1.2}
    assert offer_launch(app_of(project), "release", scope="other")["mode"] == "new"
    project.write(".handrail/flows/release.yaml", FLOW.replace("id: write,", "id: put,"))
    assert offer_launch(app_of(project), "release")["run"]["changed"] == [
        "step `notes/write` was removed",
        "step `notes/put` was added",
    ]
    project.write("ok", "")
    project.json("resume", run)
    found = offer_launch(app_of(project), "release")
    assert (found["mode"], found["modes"][1], found["run"]["status"]) == ("new", "continue", "completed")
    assert found["estimate"].startswith("2 to 5 steps; last run: ")
    run = project.json("run", "release", "--param", "version=1.20", "--until", "check")["run"]
    assert open_topic(app_of(project), f"run:{run}").topic.rows.section("head")[0]["params"] == {"version": "1.20"}
    assert offer_launch(app_of(project), "release")["run"]["params"] == {"version": "1.20"}


def test_the_dialog_says_that_a_run_of_the_flow_waits(project: Project) -> None:
    project.write(".handrail/flows/ask.yaml", ASKS)
    assert offer_launch(app_of(project), "ask")["warnings"] == []
    run = project.json("run", "ask", code=4)["run"]
    assert offer_launch(app_of(project), "ask")["warnings"] == [f"{run} of this flow waits for an answer"]


def test_an_agent_that_is_not_installed_is_named_before_the_run_begins(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    project.write(".handrail/settings.yaml", "routes: {review: gemini}\n")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    told = "`gemini` is not installed or not on the PATH, and the step `look/it` needs it"
    assert offer_launch(app_of(project), "release")["warnings"] == [told]
    said = project.run("run", "release", "--param", "version=1")
    assert said.err.count(f"warning: {told}\n") == 1
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "gemini").write_text("#!/bin/sh\n")
    (tmp_path / "empty" / "gemini").chmod(0o755)
    assert offer_launch(app_of(project), "release")["warnings"] == []


def test_each_wrong_field_is_named_and_nothing_is_begun(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    assert problems(project, params={"version": " "}) == {"version": "is required"}
    assert problems(project, task="x", params={"version": "1"}) == {"task": "is not taken by this flow"}
    given = {"version": "1", "deep": "perhaps", "count": "few", "kind": "huge", "tags": "x", "versoin": "2"}
    found = problems(
        project,
        params=given,
        limits={"usd": "-1"},
        routes={"review": "nobody", "reveiw": "scripted"},
        preset="none",
        start="nowhere",
    )
    assert list(found) == [
        *("deep", "count", "kind", "tags", "versoin"),
        *("limits.usd", "preset", "routes.review", "routes.reveiw", "start"),
    ]
    assert found["kind"] == "has to be one of `minor`, `major`, found `huge`"
    assert project.json("runs")["runs"] == []


def test_the_preview_shows_equal_rounds_once_with_the_route_of_each_step(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    wanted = LaunchForm(name="release", params={"version": "1", "deep": True}, routes={"review": "scripted:m2"})
    found = preview_launch(app_of(project), wanted)
    paths = [(row["path"], row["route"], row["again"]) for row in found["rows"]]
    assert ("check/lint", None, 1) in paths
    assert next(row for row in paths if row[1] is not None)[1] == "scripted:m2"
    assert len({path for path, *_ in paths if path.endswith("/it")}) < 3
    assert any("scripted:m2" in line for line in found["lines"])
    assert found["fails"] == []
    assert project.json("runs")["runs"] == []


def test_routes_are_saved_in_the_users_settings(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    path = save_routes(app_of(project), "preset", "mine", {"review": "scripted:m1", "planning": ""})
    assert path.startswith(str(project.home))
    save_routes(app_of(project), "preset", "mine", {"review": "scripted:m2"})
    save_routes(app_of(project), "flow", "release", {"default": "scripted"})
    app = app_of(project)
    app.check_settings()
    assert app.settings.presets == {"mine": {"review": "scripted:m2"}}
    assert offer_launch(app, "release")["groups"][0]["agent"] == "scripted"
    assert not (project.folder / ".handrail" / "settings.yaml").exists()
    with pytest.raises(WrongFields):
        save_routes(app_of(project), "preset", "mine", {"review": "nobody"})


def test_routes_that_cannot_be_edited_are_shown_to_be_written_by_hand(project: Project) -> None:
    folder = project.home / "config"
    folder.mkdir(parents=True, exist_ok=True)
    text = "presets: {mine: {review: codex}, other: {review: codex}}\n"
    (folder / "settings.yaml").write_text(text)
    with pytest.raises(RefusedError) as caught:
        save_routes(app_of(project), "preset", "mine", {"review": "scripted"})
    assert caught.value.hint is not None
    assert '"mine": {review: "scripted"}' in caught.value.hint
    assert (folder / "settings.yaml").read_text() == text
