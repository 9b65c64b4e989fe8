"""What the page opens: rows below a phase, a step, the log, an artifact. Names that are not ids find nothing."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from handrail.app import App
from handrail.view.live.hub import LiveTopic, open_topic
from handrail.web import server
from handrail.web.access import Address, Doorkeeper
from handrail.web.server import make_server
from support import Project

ADDRESS = Address("127.0.0.1", 8123)
FLOW = """
phases:
- id: write
  steps:
  - id: note
    node: command
    retry: {attempts: 2, wait: 0}
    params: {argv: [sh, -c, "test -e once || { touch once; echo not yet; exit 3; }; cp source.md NOTES.md"]}
    makes: [NOTES.md]
    expect: [{file: NOTES.md}]
    after: [{kind: set-summary-from-file, path: NOTES.md}]
- {id: after, steps: [{id: it, node: set, params: {x: 1}}]}
"""


class Page:
    """A page that is signed in, and a run that made a file."""

    def __init__(self, project: Project) -> None:
        project.write(".handrail/flows/demo.yaml", FLOW)
        project.write("source.md", "# Title <script>\n\n[bad](javascript:alert(1)) [good](https://example.org/x)\n")
        door = Doorkeeper(time.time)
        app = App(str(project.folder), os.environ, by="person")
        own = {"sec-fetch-site": "same-origin"}
        self.client = TestClient(make_server(app, door, ADDRESS), base_url=ADDRESS.url, headers=own)
        self.client.get(f"/enter?token={door.new_token()}")
        self.run: str = project.json("run", "demo")["run"]

    def get(self, address: str, status: int = 200) -> dict[str, Any]:
        answer = self.client.get(address)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def page(project: Project) -> Page:
    return Page(project)


def test_rows_steps_and_the_log_are_read(page: Page) -> None:
    run = f"/api/runs/{page.run}"
    below = page.get(f"{run}/nodes?under=write")
    assert [row["id"] for row in below["nodes"]] == ["write/note"]
    assert {bar["end"] for bar in below["bars"] if bar["kind"] == "work"} == {"failed", "done"}
    assert page.get(f"{run}/nodes?under=nothing")["nodes"] == []
    step = page.get(f"{run}/steps/write/note")
    assert (step["try"], step["end"], len(step["tries"])) == (2, "done", 2)
    assert step["params"]["argv"][0] == "sh"
    assert [check["held"] for check in step["checks"]] == [True]
    assert page.get(f"{run}/steps/write/note?try=1")["end"] == "failed"
    log = page.get(f"{run}/log")
    assert log["rows"][0]["t"] >= log["rows"][-1]["t"], "the newest comes first"
    found = page.get(f"{run}/log?q=NOT%20YET&kind=agent")["rows"]
    assert [row["text"] for row in found] == ["not yet"]
    assert page.get(f"{run}/log?under=after&kind=agent")["rows"] == []
    assert page.get(f"{run}/changes") == {"run": page.run, "files": None}
    assert page.get(f"{run}/summary")["tree"][0] == {"tag": "h1", "children": ["Title <script>"]}


def test_a_run_is_read_while_its_page_loads(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    is_opened = threading.Event()

    def open_and_tell(app: App, name: str) -> LiveTopic:
        live = open_topic(app, name)
        is_opened.set()
        return live

    monkeypatch.setattr(server, "open_topic", open_and_tell)
    with page.client as client:
        assert client.get("/runs/nothing").status_code == 200, "the page itself says that there is no such run"
        assert not is_opened.is_set()
        assert client.get(f"/runs/{page.run}").status_code == 200
        assert is_opened.wait(30), "nobody has asked for its rows"


def test_an_artifact_is_shown_compared_and_downloaded(page: Page) -> None:
    (row,) = page.get(f"/api/changes?topics=run:{page.run}")[0]["set"]["artifacts"]  # type: ignore[index]  # a list
    address = f"/api/artifacts/{quote(row['id'], safe='')}"
    shown = page.get(address)
    assert (shown["kind"], shown["tree"][0]) == ("markdown", {"tag": "h1", "children": ["Title <script>"]})
    links = [child for child in shown["tree"][1]["children"] if isinstance(child, dict)]
    assert [link["href"] for link in links] == ["https://example.org/x"]
    assert page.get(f"{address}?as=diff")["lines"] is None, "there is no version before it"
    raw = page.client.get(f"{address}?as=raw")
    assert raw.content.startswith(b"# Title <script>")
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["content-disposition"] == "attachment; filename*=UTF-8''NOTES.md"
    assert raw.headers["x-content-type-options"] == "nosniff"


def test_what_is_not_there_is_refused(page: Page) -> None:
    run = f"/api/runs/{page.run}"
    for address, status in {
        "/api/runs/r-none/nodes": 404,
        "/api/runs/r-none/log": 404,
        "/api/runs/r-none/changes": 404,
        "/api/runs/r-none/summary": 404,
        "/api/runs/..%2F..%2Fetc/log": 404,
        f"{run}/steps/write/nothing": 404,
        f"{run}/steps/..%2F..%2Fetc": 404,
        f"{run}/steps/write/note?try=9": 404,
        f"{run}/steps/write/note?try=-1": 400,
        f"{run}/log?kind=everything": 400,
        f"{run}/log?before=1%3Bx": 400,
        "/api/artifacts/..%2F..%2Fetc%2Fpasswd?as=raw": 404,
        "/api/artifacts/%2Fetc%2Fpasswd:key:v1?as=raw": 404,
        "/api/artifacts/x:y:v1?as=html": 400,
    }.items():
        assert page.get(address, status)["error"]["message"], address
    assert page.client.post(f"{run}/log", headers={"x-handrail": "1"}, json={}).status_code == 404


@pytest.mark.parametrize("target", ["another", "the same", "a pipe"])
def test_a_link_in_the_place_of_an_artifact_is_not_followed(page: Page, tmp_path: Path, target: str) -> None:
    (row,) = page.get(f"/api/changes?topics=run:{page.run}")[0]["set"]["artifacts"]  # type: ignore[index]  # a list
    (content,) = (tmp_path / "home" / "state" / "artifacts").glob("*/*/content/*")
    outside = tmp_path / "outside.md"
    outside.write_bytes(content.read_bytes() if target == "the same" else b"private")
    content.unlink()
    if target == "a pipe":
        os.mkfifo(content)
    else:
        content.symlink_to(outside)
    address = f"/api/artifacts/{quote(row['id'], safe='')}"
    for way in ("tree", "raw"):
        told = page.get(f"{address}?as={way}", 503)["error"]
        assert ("is a pipe" if target == "a pipe" else "is a link") in told["message"]
        assert "private" not in str(told)


def test_a_link_that_leads_out_of_the_project_is_not_published(page: Page, project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("private", encoding="utf-8")
    steps = "[{id: b, node: command, params: {argv: [ln, -s, ../outside.md, OUT.md]}, makes: [OUT.md]}]"
    project.write(".handrail/flows/out.yaml", f"phases: [{{id: a, steps: {steps}}}]")
    run = project.json("run", "out", code=1)["run"]
    assert "artifacts" not in page.get(f"/api/changes?topics=run:{run}")[0]["set"]  # type: ignore[index]  # a list
    kept = (tmp_path / "home" / "state" / "artifacts").glob("*/*/content/*")
    assert all(b"private" not in path.read_bytes() for path in kept)
