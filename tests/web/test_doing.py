"""What a person does in the page: launch, answer, stop, resume. Each is refused with a reason, or done once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from handrail.app import App
from handrail.settings.trust import TrustStore
from handrail.view.live.home import OpenedRows
from handrail.web.access import Address, Doorkeeper
from handrail.web.server import make_server
from support import Project
from web.patience import ended, until

ADDRESS = Address("127.0.0.1", 8123)
HEADERS = {"sec-fetch-site": "same-origin", "x-handrail": "1", "content-type": "application/json"}
FLOW = """
params:
  version: {required: true, about: what is released}
phases:
- id: ask
  steps:
  - id: go
    node: user-input
    params:
      formId: go
      title: Release?
      outputFile: go.json
      fields:
      - {id: sure, type: boolean, label: Sure?, required: true}
      - {id: kind, type: single-select, label: Kind, required: true, options: [{value: minor, label: minor}]}
- {id: say, steps: [{id: it, node: command, params: {argv: [touch, released]}}]}
"""
TWO = """
phases:
- {id: one, steps: [{id: it, node: command, params: {argv: [test, -e, ok]}}]}
- {id: after, steps: [{id: it, node: command, params: {argv: ["true"]}}]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    found = Project(tmp_path, monkeypatch, capsys)
    found.write(".handrail/flows/release.yaml", FLOW)
    return found


@pytest.fixture
def page(project: Project) -> TestClient:
    door = Doorkeeper(time.time)
    app = App(str(project.folder), os.environ, by="person")
    client = TestClient(make_server(app, door, ADDRESS), base_url=ADDRESS.url, headers=HEADERS)
    assert client.get(f"/enter?token={door.new_token()}").status_code == 200
    return client


def waiting(project: Project, run: str) -> dict[str, Any]:
    """The question of a run, once it waits for an answer."""
    found = until(lambda: project.json("runs", run), lambda now: now["status"] == "waiting" and now["driver"] is None)
    question: dict[str, Any] = found["questions"][0]
    return question


def launched(project: Project, page: TestClient) -> tuple[str, str, dict[str, str]]:
    """A run that waits, the address for its answer, and what an answer has to name."""
    answer = page.post("/api/runs", json={"name": "release", "params": {"version": "1.2"}})
    assert answer.status_code == 200, answer.text
    run = answer.json()["run"]
    asked = waiting(project, run)
    (need,) = json.loads(project.run("view", f"run:{run}").out)["set"]["needs"]
    return run, f"/api/needs/{asked['id']}", {"of": f"run:{run}", "digest": need["digest"]}


@pytest.mark.whole
def test_a_run_is_launched_answered_and_ends(project: Project, page: TestClient) -> None:
    run, need, question = launched(project, page)
    wrong = page.post(need, json={**question, "values": {"sure": True, "kind": "huge"}})
    assert wrong.status_code == 422
    assert [one["field"] for one in wrong.json()["error"]["fields"]] == ["kind"]
    right = {**question, "values": {"sure": True, "kind": "minor"}}
    assert page.post(need, json=right).status_code == 200
    assert ended(project, run) == "completed"
    assert (project.folder / "released").exists()
    again = page.post(need, json=right)
    assert again.status_code == 409
    assert "answered" in again.json()["error"]["message"]


def test_an_answer_to_a_changed_question_is_refused(project: Project, page: TestClient) -> None:
    run, need, question = launched(project, page)
    changed = {**question, "digest": "0" * 16, "values": {"sure": True, "kind": "minor"}}
    assert page.post(need, json=changed).status_code == 410
    assert project.json("runs", run)["status"] == "waiting"


def test_a_missing_parameter_is_named_and_nothing_is_started(project: Project, page: TestClient) -> None:
    answer = page.post("/api/runs", json={"name": "release"})
    assert answer.status_code == 422
    assert answer.json()["error"]["fields"] == [{"field": "version", "message": "is required"}]
    assert project.json("runs")["runs"] == []


def test_a_run_is_stopped_and_resumed(project: Project, page: TestClient) -> None:
    run, need, question = launched(project, page)
    assert page.post(f"/api/runs/{run}/stop", json={}).status_code == 200
    assert project.json("runs", run)["status"] == "cancelled"
    assert page.post(f"/api/runs/{run}/resume", json={}).status_code == 200
    waiting(project, run)
    right = {**question, "values": {"sure": True, "kind": "minor"}}
    assert page.post(need, json=right).status_code == 200
    assert ended(project, run) == "completed"


def test_what_a_run_does_not_allow_is_refused_and_starts_nothing(project: Project, page: TestClient) -> None:
    project.write(".handrail/flows/two.yaml", TWO)
    run = project.json("run", "two", code=1)["run"]

    def refused(mode: str, **body: str) -> tuple[int, str]:
        answer = page.post(f"/api/runs/{run}/{mode}", json=body)
        return answer.status_code, answer.json()["error"]["message"]

    assert refused("continue") == (409, f"run `{run}` has not ended")
    assert refused("restart", **{"from": "none"}) == (400, "flow `two` has no phase `none`")
    late = f"phase `one` of run `{run}` is not finished, so no later phase can be the start"
    assert refused("restart", **{"from": "after"}) == (409, late)
    project.write(".handrail/flows/two.yaml", TWO.replace("steps", "stpes"))
    assert refused("restart")[0] == 400
    project.write("ok", "")
    project.json("resume", run)
    assert refused("resume") == (409, f"run `{run}` is already completed")
    assert refused("continue") == (409, "flow `two` does not allow `handrail continue`")
    assert not Path(App(str(project.folder), os.environ).runs.engine.log(run)).exists()


@pytest.mark.parametrize(
    "body", ["[]", "{", "1", '{"name": 1}', '{"name": "release", "evil": 1}', '{"name": "r", "params": 1}']
)
def test_a_wrong_request_is_refused(page: TestClient, body: str) -> None:
    answer = page.post("/api/runs", content=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]


def test_names_that_do_not_exist_are_not_found(page: TestClient) -> None:
    assert page.post("/api/runs", json={"name": "relaese"}).status_code == 404
    assert page.post("/api/runs/r-none/stop", json={}).status_code == 404


def test_an_untrusted_project_is_not_launched(project: Project, page: TestClient) -> None:
    store = TrustStore(str(project.home / "state"))
    for record in store.all():
        store.revoke(record.path)
    answer = page.post("/api/runs", json={"name": "release", "params": {"version": "1"}})
    assert answer.status_code == 403
    assert "handrail trust" in answer.json()["error"]["hint"]
    assert project.json("runs")["runs"] == []


def test_a_page_that_an_agent_started_only_shows(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.home / "state" / "open-to-agents").unlink()
    monkeypatch.setenv("CLAUDECODE", "1")
    door = Doorkeeper(time.time)
    client = TestClient(make_server(App(str(project.folder), os.environ), door, ADDRESS), base_url=ADDRESS.url)
    client.get(f"/enter?token={door.new_token()}")
    answer = client.post("/api/runs", headers=HEADERS, json={"name": "release", "params": {"version": "1"}})
    assert answer.status_code == 403
    assert "only a person" in answer.json()["error"]["message"]


def test_the_page_ends_the_server_only_where_that_is_possible(page: TestClient) -> None:
    answer = page.post("/api/close", json={})
    assert answer.status_code == 409
    assert "where it was started" in answer.json()["error"]["hint"]


@pytest.mark.parametrize("of", ["", "home", "run:"])
def test_an_answer_names_the_run_that_asks(page: TestClient, of: str) -> None:
    answer = page.post("/api/needs/q1", json={"of": of, "digest": "0", "values": {}})
    assert answer.status_code == 400
    assert "run:ID" in answer.json()["error"]["hint"]


def test_a_failure_that_was_seen_needs_nobody(project: Project, page: TestClient) -> None:
    project.write(
        ".handrail/flows/bad.yaml", "phases: [{id: a, steps: [{id: b, node: command, params: {argv: [false]}}]}]"
    )
    run = project.json("run", "bad", code=1)["run"]

    def group() -> str:
        ((message,)) = page.get("/api/changes?topics=home").json()
        found: str = message["set"]["entries"][0]["group"]
        return found

    assert group() == "needs"
    assert page.post("/api/seen", json={"ids": [f"run:{run}"]}).status_code == 200
    assert group() == "recent"


@pytest.mark.parametrize("ids", [None, [], "run:a", [1], ["home"], ["run:"], ["run:a\n"], ["run:a"] * 101])
def test_only_rows_of_home_can_be_seen(page: TestClient, ids: object) -> None:
    assert page.post("/api/seen", json={"ids": ids}).status_code == 400


def test_what_does_not_exist_is_not_kept_as_seen(project: Project, page: TestClient) -> None:
    project.write(".handrail/flows/quick.yaml", "phases: [{id: a, steps: [{id: b, node: set, params: {n: 1}}]}]")
    run = project.json("run", "quick")["run"]
    project.run("start", "plan-build-review", "add a page", "--session", "s1")
    rows = [f"run:{run}", "session:s1"]
    answer = page.post("/api/seen", json={"ids": [*rows, "run:r-none", "session:s2", "run:s1", f"run:{run[:-1]}"]})
    assert answer.json() == {"seen": 2}
    seen = OpenedRows(App(str(project.folder), os.environ))
    seen.refresh()
    assert sorted(seen.times) == rows


def test_a_change_that_cannot_be_written_is_refused(project: Project, page: TestClient) -> None:
    project.run("start", "plan-build-review", "add a page", "--session", "s1")
    (project.home / "state" / "seen").write_text("no folder", encoding="utf-8")
    answer = page.post("/api/seen", json={"ids": ["session:s1"]})
    assert answer.status_code == 503
    assert "try again" in answer.json()["error"]["hint"]


def test_a_dry_run_tells_what_a_launch_would_do_and_begins_nothing(project: Project, page: TestClient) -> None:
    answer = page.post("/api/runs", json={"name": "release", "params": {"version": "1"}, "dryRun": True})
    assert answer.status_code == 200, answer.text
    assert "steps" in answer.json()["estimate"]
    assert any("ask" in line for line in answer.json()["lines"])
    assert project.json("runs")["runs"] == []


def test_a_launch_is_offered_with_its_fields(page: TestClient) -> None:
    found = page.get("/api/launch/flow/release").json()
    assert [(one["name"], one["required"]) for one in found["fields"]] == [("version", True)]
    assert page.get("/api/launch/flow/relaese").status_code == 404
    assert page.get("/api/launch/table/release").status_code == 404


def test_routes_are_saved_for_the_user_and_not_in_the_project(project: Project, page: TestClient) -> None:
    body = {"where": "preset", "name": "cheap", "routes": {"review": "codex"}}
    answer = page.post("/api/routes", json=body)
    assert answer.status_code == 200, answer.text
    assert not answer.json()["file"].startswith(str(project.folder))
    wrong = page.post("/api/routes", json={**body, "routes": {"review": "nobody"}})
    assert wrong.status_code == 422
    assert [one["field"] for one in wrong.json()["error"]["fields"]] == ["routes.review"]
    assert page.post("/api/routes", json={**body, "where": "project"}).status_code == 400


def test_a_definition_is_shown_with_its_problems_and_its_plan(project: Project, page: TestClient) -> None:
    project.write(".handrail/flows/broken.yaml", "phases:\n- id: a\n  stpes: []\n")
    found = page.get("/api/definitions/flow/release").json()
    assert [item["name"] for item in found["plan"]] == ["ask", "say"]
    project.write(".handrail/flows/release.yaml", FLOW.replace("id: say", "id: tell"))
    found = page.get("/api/definitions/flow/release").json()
    assert [item["name"] for item in found["plan"]] == ["ask", "tell"]
    broken = page.get("/api/definitions/flow/broken").json()
    assert broken["plan"] is None
    ((file,)) = broken["files"]
    assert [(one["line"], one["width"]) for one in file["problems"]] == [(3, 5)]
    assert page.get("/api/definitions/flow/none").status_code == 404
    assert page.get("/api/definitions/flow/..%2F..%2Fetc%2Fpasswd").status_code == 404


def test_a_session_tells_what_its_agent_is_told_and_is_cancelled(project: Project, page: TestClient) -> None:
    project.run("start", "plan-build-review", "add a page", "--session", "s1")
    told = page.get("/api/sessions/s1/text").json()
    assert "add a page" in told["text"]
    assert told["instructions"]["kind"] == "markdown"
    assert "add a page" in str(told["instructions"]["tree"])
    assert "workflow_step" not in str(told["instructions"])
    assert page.get("/api/sessions/none/text").status_code == 404
    assert page.post("/api/sessions/s1/reload", json={}).status_code == 200
    assert page.post("/api/sessions/s1/goto", json={"phase": "2", "reason": ""}).status_code == 422
    assert page.post("/api/sessions/s1/goto", json={"phase": "2", "reason": "enough"}).status_code == 200
    assert project.json("status", "--session", "s1")["phase"]["index"] == 2
    assert page.post("/api/sessions/s1/cancel", json={}).status_code == 200
    again = page.post("/api/sessions/s1/cancel", json={})
    assert again.status_code == 409
    assert page.post("/api/sessions/none/cancel", json={}).status_code == 404


def test_one_of_many_pages_tells_of_a_question(project: Project, page: TestClient) -> None:
    run, need, _ = launched(project, page)
    question = {"of": f"run:{run}", "need": need.rpartition("/")[2]}
    assert page.post("/api/told", json={**question, "need": "q99"}).json() == {"isFirst": False}
    assert page.post("/api/told", json=question).json() == {"isFirst": True}
    assert page.post("/api/told", json=question).json() == {"isFirst": False}
    assert page.post("/api/told", json={"of": "run:r-none", "need": "q1"}).status_code == 404


def test_the_page_answers_a_guided_session(project: Project, page: TestClient) -> None:
    project.workflow("w", ["look"])
    project.json("start", "w", "a task", "--session", "S")
    project.json("blocked", "there is no key", "--session", "S")
    ((message,)) = page.get("/api/changes?topics=session:S").json()
    (need,) = message["set"]["needs"]
    body = {"of": need["of"], "digest": need["digest"], "values": {"answer": "in the drawer"}}
    assert page.post(f"/api/needs/{need['id']}", json=body).json() == {"accepted": need["id"]}
    assert project.json("status")["note"] == "A person answered: in the drawer"
