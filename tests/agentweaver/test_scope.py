"""`handrail scope`: what exists for a task, who made it, what is stale; and its reset."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentweaver.agent import Mood, content, place, stage
from agentweaver.scene import ISSUE, KEY, Scene
from handrail.driven.artifacts.scope import default_scope
from support import Project

FOLDER = f".agentweaver/scopes/{KEY}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


def stages(project: Project, key: str = KEY) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in project.json("scope", key)["stages"]}


def states(project: Project) -> dict[str, str]:
    return {id_: one["state"] for id_, one in stages(project).items()}


def put(project: Project, *kinds: str, turn: int = 1, mood: Mood = Mood()) -> None:  # noqa: B008 - immutable
    stage(project.folder, KEY, kinds, turn, partial(content, mood=mood))


def age(project: Project, kind: str, seconds: float, turn: int = 1) -> None:
    """Let the files of a kind be so many seconds old."""
    for name in (f"{kind}-json-file", f"{kind}-file"):
        path = project.folder / place(name, KEY, turn)
        if path.exists():
            os.utime(path, (time.time() - seconds,) * 2)


@pytest.mark.whole
def test_the_story_of_a_task(scene: Scene) -> None:
    plan = scene.run("plan", ISSUE)["run"]
    found = stages(scene.project)
    assert [id_ for id_, one in found.items() if one["state"] == "made"] == [
        *("source", "task-context", "design", "plan", "qa")
    ]
    assert (found["plan"]["run"], found["plan"]["flow"], found["plan"]["basis"]) == (plan, "plan", "record")
    assert found["review"]["make"] == f"handrail run review --scope {KEY}"
    scene.run("design-review")
    scene.agent(Mood(1))
    implement = scene.run("implement")["run"]
    scene.run("review")
    found = stages(scene.project)
    assert (found["design-review"]["verdict"], found["implementation"]["run"]) == ("approved", implement)
    assert found["implementation"]["basis"] == "run"
    assert (found["review"]["findings"], found["review"]["blocking"]) == ({"critical": 1}, 1)
    assert found["ready-to-merge"]["state"] == "missing"
    assert {one["state"] for id_, one in found.items()} == {"made", "missing"}
    scene.run("plan", ISSUE)
    found = stages(scene.project)
    assert (found["plan"]["iteration"], found["plan"]["state"]) == (2, "made")
    assert found["design-review"]["stale"][0]["basis"] == "lineage"
    assert found["implementation"]["stale"][0] == {"because": "the design is newer", "basis": "run"}
    assert found["review"]["state"] == "stale"
    said = scene.project.run("scope", ISSUE)
    assert "! stale" in said.out
    assert "1 critical; blocks" in said.out


def test_files_without_a_record_are_judged_by_their_times(project: Project) -> None:
    put(project, "task-context", "plan")
    age(project, "plan", 60)
    found = stages(project)
    assert (found["plan"]["state"], found["plan"]["basis"], found["plan"]["run"]) == ("stale", "file time", None)
    assert found["plan"]["stale"] == [{"because": "the task context is newer", "basis": "file time"}]
    age(project, "task-context", 120)
    assert stages(project)["plan"]["state"] == "made"


def test_an_imported_manifest_of_agentweaver_says_who_made_a_file_and_when(project: Project) -> None:
    put(project, "plan")
    path = project.folder / place("plan-json-file", KEY)
    write_manifest(path, created="2026-01-02T03:04:05.000Z")
    write_manifest(project.folder / place("plan-file", KEY), created="2026-01-02T03:04:06.000Z")
    found = stages(project)["plan"]
    assert (found["basis"], found["run"]) == ("file time", None)
    project.json("import", "agentweaver")
    found = stages(project)["plan"]
    assert (found["made"], found["basis"]) == ("2026-01-02T03:04:06+00:00", "record")
    assert (found["run"], found["edited"]) == ("agentweaver:run-1", [])
    path.write_text(path.read_text() + "\n")
    assert stages(project)["plan"]["edited"] == [place("plan-json-file", KEY)]


def write_manifest(path: Path, created: str) -> None:
    import hashlib

    data = {
        "artifact_id": f"{KEY}:{path.name}:v1",
        "logical_key": "plan.md" if path.suffix == ".md" else "artifacts/plan.json",
        "scope": KEY,
        "run_id": "run-1",
        "flow_id": "plan-flow",
        "phase_id": "plan",
        "step_id": "run",
        "version": 1,
        "payload_family": "markdown",
        "schema_id": "markdown/v1",
        "created_at": created,
        "content_hash": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
        "payload_path": str(path),
        "status": "ready",
    }
    Path(f"{path}.manifest.json").write_text(json.dumps(data))


def test_a_broken_or_incomplete_stage_says_so(project: Project) -> None:
    put(project, "plan", "design", "review")
    project.write(place("plan-json-file", KEY), "{")
    (project.folder / place("design-file", KEY)).unlink()
    project.write(place("review-json-file", KEY), '{"findings": 3}')
    found = stages(project)
    assert found["plan"]["state"] == "invalid"
    assert "is not JSON" in found["plan"]["problem"]
    assert (found["design"]["state"], found["design"]["missing"]) == ("incomplete", [place("design-file", KEY)])
    assert found["review"]["state"] == "invalid"
    assert project.run("scope", KEY).code == 0


def test_without_a_key_all_scopes_are_listed(project: Project) -> None:
    assert project.run("scope").out.startswith("no scopes in this project")
    put(project, "plan")
    project.write(".agentweaver/scopes/other@12345678/notes.md", "x")
    project.write(".handrail/scopes/own/notes-1.md", "x")
    head, *rows = project.run("scope").out.splitlines()
    assert head.split() == ["SCOPE", "LAST", "CHANGE", "RUNS", "STAGES"]
    assert [row.split()[0] for row in rows] == [KEY, "other@12345678", "own"]
    assert rows[0].rstrip().endswith("plan")
    assert [one["scope"] for one in project.json("scope")["scopes"]] == [KEY, "other@12345678", "own"]


@pytest.mark.parametrize("name", [KEY, "ABC-1", "abc"])
def test_a_scope_is_found_by_key_issue_or_beginning(project: Project, name: str) -> None:
    put(project, "plan")
    assert project.json("scope", name)["scope"] == KEY


@pytest.mark.parametrize("name", ["abd-1", "../..", "", "x" * 500, "ä\0"])
def test_an_unknown_scope_is_refused(project: Project, name: str) -> None:
    put(project, "plan")
    said = project.run("scope", name)
    assert (said.code, "there is no scope" in said.err) == (1, True)


def test_a_reset_shows_first_then_archives_and_can_be_undone(project: Project) -> None:
    put(project, "plan", "review")
    before = states(project)
    shown = project.run("scope", "reset", KEY)
    assert shown.code == 0
    assert "would archive: 4 files" in shown.out
    assert f"in {FOLDER}/.artifacts/restart-archives/attempt-0001" in shown.out
    assert states(project) == before
    done = project.json("scope", "reset", KEY, "--yes")
    assert (done["dryRun"], done["archives"][0]["files"]) == (False, 4)
    assert set(states(project).values()) == {"missing"}
    assert project.json("scope", KEY)["archives"] == [done["archives"][0]["archive"]]
    assert project.run("scope", "reset", KEY, "--yes").out == "the scope is empty; nothing to archive\n"
    assert project.run("scope", "reset", KEY, "--restore", "0001").out.endswith("add `--yes` to do it\n")
    project.json("scope", "reset", KEY, "--restore", "0001", "--yes")
    assert states(project) == before


def test_a_reset_is_refused_while_a_run_of_the_scope_is_running(project: Project) -> None:
    put(project, "plan")
    flow = "phases: [{id: a, steps: [{id: x, node: command, params: {argv: [/bin/sh, -c, 'echo > begun; cat pipe']}}]}]"
    project.write(".handrail/flows/slow.yaml", flow)
    os.mkfifo(project.folder / "pipe")
    run = project.json("run", "slow", "--scope", KEY, "--detach")["run"]
    deadline = time.monotonic() + 60
    while not (project.folder / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    said = project.run("scope", "reset", KEY, "--yes")
    assert (said.code, f"`handrail stop {run}` stops it" in said.err) == (1, True)
    assert states(project)["plan"] == "made"
    project.run("stop", run)
    assert project.run("scope", "reset", KEY, "--yes").code == 0


def test_options_of_reset_need_reset(project: Project) -> None:
    assert project.run("scope", "--yes").code == 2
    assert project.run("scope", "reset").code == 2
    assert project.run("scope", "a", "b").code == 2


@pytest.mark.parametrize(
    "name", ["a\nb", "ünï", b"\xff\xfe".decode("utf-8", "surrogateescape"), "-x", "a b'c", "k" * 200]
)
def test_a_scope_of_any_name_is_listed_and_shown(project: Project, name: str) -> None:
    folder = project.folder / ".agentweaver" / "scopes" / name
    folder.mkdir(parents=True)
    (folder / "ready-to-merge.md").write_text("x")
    assert project.run("scope").code == 0
    assert len(project.json("scope")["scopes"]) == 1
    assert project.run("scope", "--", name).code == 0


def test_a_damaged_record_is_said_and_hides_nothing_else(project: Project) -> None:
    put(project, "plan")
    project.write(".handrail/flows/make.yaml", "phases: [{id: a, steps: [{id: w, node: write-file, params: "
                  "{path: a.md, text: x}, makes: [a.md]}]}]\n")  # fmt: skip
    project.json("run", "make", "--scope", KEY)
    (journal,) = (project.home / "state/artifacts").glob(f"*/{KEY}/journal")
    journal.write_bytes(b"garbage" + journal.read_bytes() * 2)
    said = project.run("scope", KEY)
    assert ("is damaged" in said.err, "✓ made" in said.out) == (True, True)


def test_an_archive_that_does_not_exist_is_named_before_anything_is_done(project: Project) -> None:
    put(project, "plan")
    project.json("scope", "reset", KEY, "--yes")
    said = project.run("scope", "reset", KEY, "--restore", "9")
    assert (said.code, "attempt-0001" in said.err) == (1, True)


def test_a_stage_keeps_its_issue_until_the_task_is_understood(project: Project) -> None:
    project.write(f"{FOLDER}/.artifacts/{KEY}.json", "{}")
    issue = KEY.partition("@")[0].upper()
    assert stages(project)["source"]["state"] != "missing"
    assert stages(project)["plan"]["make"] == f"handrail run plan {issue} --scope {KEY}"
    put(project, "task-context")
    found = stages(project)
    assert found["plan"]["make"] == f"handrail run plan --scope {KEY}"
    assert found["source"]["make"] == f"handrail run plan {issue} --scope {KEY}"


def test_an_issue_as_scope_means_the_scope_that_exists_for_it(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", "phases:\n- {id: a, steps: [{id: s, node: set}]}\n")
    own = default_scope(str(project.folder), "ABC-1")

    def scope_of(name: str) -> str:
        said = project.run("run", "f", "--scope", name)
        assert said.code == 0
        return said.err.split("scope ")[1].split()[0]

    assert scope_of("ABC-1") == "abc-1"
    project.write(f".agentweaver/scopes/{own}/notes.md", "x")
    assert scope_of("ABC-1") == own
    assert scope_of("https://jira.example/browse/ABC-1") == own
    project.write(".agentweaver/scopes/abc-1/notes.md", "x")
    assert scope_of("ABC-1") == "abc-1"


def test_a_review_is_judged_by_the_severities_of_its_run(scene: Scene) -> None:
    scene.agent(Mood(1))
    scene.run("review", "--blocking-severities", "medium")
    found = stages(scene.project)["review"]
    assert (found["findings"], found["blocking"]) == ({"critical": 1}, 0)
    assert found["blockingSeverities"] == ["medium"]
