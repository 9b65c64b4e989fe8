"""A yes from the page counts only for what the page showed: after an edit it is refused, and the run asks again."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from handrail.app import App
from handrail.web.access import Address, Doorkeeper
from handrail.web.server import make_server
from support import Project
from web.patience import ended, until

ADDRESS = Address("127.0.0.1", 8123)
HEADERS = {"sec-fetch-site": "same-origin", "x-handrail": "1", "content-type": "application/json"}
FLOW = """
phases:
- {id: ask, steps: [{id: go, node: approve, params: {question: Publish?, files: [notes.txt, more.txt]}}]}
- {id: say, steps: [{id: it, node: command, params: {argv: [touch, published]}}]}
"""
YES = {"approved": True, "reason": ""}
NO = {"approved": False, "reason": "not yet"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    found = Project(tmp_path, monkeypatch, capsys)
    found.write(".handrail/flows/publish.yaml", FLOW)
    found.write("notes.txt", "first")
    found.write("more.txt", "the same")
    return found


@pytest.fixture
def page(project: Project) -> TestClient:
    door = Doorkeeper(time.time)
    app = App(str(project.folder), os.environ, by="person")
    client = TestClient(make_server(app, door, ADDRESS), base_url=ADDRESS.url, headers=HEADERS)
    assert client.get(f"/enter?token={door.new_token()}").status_code == 200
    return client


@pytest.fixture
def run(project: Project) -> str:
    found: str = project.json("run", "publish", code=4)["run"]
    return found


def needs(project: Project, run: str) -> dict[str, dict[str, Any]]:
    """All questions of a run by their ids, once no process drives it."""
    until(lambda: project.json("runs", run), lambda now: now["driver"] is None)
    found = json.loads(project.run("view", f"run:{run}").out)["set"].get("needs", [])
    return {row["id"]: row for row in found}


def until_asked(project: Project, run: str, id_: str) -> dict[str, Any]:
    return until(lambda: needs(project, run), lambda found: id_ in found)[id_]


def answered(page: TestClient, need: dict[str, Any], values: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    given = {"of": need["of"], "digest": need["digest"], "values": values}
    reply = page.post(f"/api/needs/{need['id']}", json=given)
    return reply.status_code, reply.json()


def records(project: Project, run: str, kind: str) -> list[Any]:
    app = App(str(project.folder), os.environ, by="person")
    return [event for _, event in app.runs.load(run).records if type(event).__name__ == kind]


def test_a_yes_after_an_edit_is_refused_and_asked_again(project: Project, page: TestClient, run: str) -> None:
    first = needs(project, run)["q1"]
    project.write("notes.txt", "second")
    status, told = answered(page, first, YES)
    assert (status, told["error"]["code"], told["error"]["answered"]) == (410, "late", None)
    assert "`notes.txt`" in told["error"]["message"]
    assert "more.txt" not in told["error"]["message"]
    assert "answer again" in told["error"]["hint"]
    second = until_asked(project, run, "q2")
    assert "q1" not in needs(project, run), "the old question is withdrawn"
    assert "notes.txt" in second["form"]["description"].splitlines()[0]
    assert records(project, run, "Answered") == []
    assert answered(page, first, YES)[0] == 410, "the old question stays refused"
    assert answered(page, second, YES)[0] == 200
    assert ended(project, run) == "completed"
    assert len(records(project, run, "Answered")) == 1


def test_a_yes_to_what_has_not_changed_counts(project: Project, page: TestClient, run: str) -> None:
    first = needs(project, run)["q1"]
    project.write("notes.txt", "second")
    project.write("notes.txt", "first")
    assert answered(page, first, YES)[0] == 200
    assert ended(project, run) == "completed"
    assert answered(page, first, YES)[0] == 409


def test_a_no_needs_no_look(project: Project, page: TestClient, run: str) -> None:
    first = needs(project, run)["q1"]
    project.write("notes.txt", "second")
    assert answered(page, first, NO)[0] == 200
    assert ended(project, run) == "stopped"
    assert not (project.folder / "published").exists()


def test_a_yes_to_a_file_that_is_gone_is_refused_until_it_is_back(project: Project, page: TestClient, run: str) -> None:
    first = needs(project, run)["q1"]
    (project.folder / "notes.txt").unlink()
    status, told = answered(page, first, YES)
    assert status == 410
    assert "notes.txt" in told["error"]["message"]
    assert "say no" in told["error"]["hint"]
    assert list(needs(project, run)) == ["q1"], "the question stays: the person may say no"
    project.write("notes.txt", "first")
    assert answered(page, first, YES)[0] == 200
    assert ended(project, run) == "completed"
