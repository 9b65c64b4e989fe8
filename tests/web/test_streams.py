"""The real server: a run is followed by several readers, also over a restart of the server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from handrail.view.rows.rows import ReceivedRows
from support import Project
from web.patience import until

WAIT = "sh, -c, 'until [ -e go ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done'"
FLOW = f"""
phases:
- id: first
  steps:
  - {{id: hold, node: command, params: {{argv: [{WAIT}]}}}}
  - {{id: say, node: command, params: {{argv: [echo, hello]}}}}
"""
OWN = {"sec-fetch-site": "same-origin"}
STREAM = "text/event-stream"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    found = Project(tmp_path, monkeypatch, capsys)
    found.write(".handrail/flows/demo.yaml", FLOW)
    return found


class Server:
    """`handrail web` as a process of its own."""

    def __init__(self) -> None:
        argv = [os.path.join(os.path.dirname(sys.executable), "handrail"), "web", "--no-open", "--json"]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.said: dict[str, Any] = json.loads(self.process.stdout.readline())

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def server(project: Project) -> Iterator[Server]:
    del project
    found = Server()
    yield found
    if found.process.poll() is None:
        found.end(signal.SIGKILL)


@pytest.fixture
def page(server: Server) -> Iterator[httpx.Client]:
    base = f"http://{server.said['host']}:{server.said['port']}"
    with httpx.Client(base_url=base, timeout=30, headers=OWN, follow_redirects=True) as client:
        assert client.get(server.said["url"]).status_code == 200
        yield client


class Reader:
    """Reads a stream and folds what it says."""

    def __init__(self) -> None:
        self.received = ReceivedRows()
        self.id = ""
        self.bases: list[int] = []

    def read(self, page: httpx.Client, topic: str, until: str) -> None:
        """Read until the head has this status."""
        headers = {"accept": STREAM, **({"last-event-id": self.id} if self.id else {})}
        with page.stream("GET", "/api/changes", params={"topics": topic}, headers=headers) as stream:
            assert stream.status_code == 200
            for line in stream.iter_lines():
                if line.startswith("id: "):
                    self.id = line[4:]
                if line.startswith("data: ") and (message := json.loads(line[6:])).get("topic") == topic:
                    self.bases.append(message["base"])
                    assert self.received.take(message)
                    if self.received.rows["head", ""]["status"] == until:
                        return


def begun(project: Project) -> str:
    """A run in the background that has recorded its first step.

    `--detach` returns when a process drives the run: its journal may still be empty. The rows of an empty journal have
    the number 0, so a reader that has only those gets all rows again.
    """
    run: str = project.json("run", "demo", "--detach")["run"]
    until(lambda: project.json("runs", run)["phases"][0]["steps"][0]["status"], lambda status: status == "running")
    return run


def test_readers_end_with_the_rows_that_are_there_afterwards(project: Project, page: httpx.Client) -> None:
    run = begun(project)
    early, late = Reader(), Reader()
    early.read(page, f"run:{run}", "running")
    project.write("go", "")
    early.read(page, f"run:{run}", "completed")
    late.read(page, f"run:{run}", "completed")
    assert early.bases[0] == 0
    assert 0 not in early.bases[1:]
    assert early.received.rows == late.received.rows


@pytest.mark.whole
def test_after_a_restart_of_the_server_a_reader_goes_on(project: Project, page: httpx.Client, server: Server) -> None:
    run = begun(project)
    reader = Reader()
    reader.read(page, f"run:{run}", "running")
    server.end(signal.SIGKILL)
    again = Server()
    try:
        assert again.said["port"] == server.said["port"]
        project.write("go", "")
        reader.read(page, f"run:{run}", "completed")  # the cookie still holds
    finally:
        assert again.end() == 0
    assert 0 not in reader.bases[1:]


def test_a_reader_without_a_stream_asks_from_its_cursor_until_the_run_is_gone(
    project: Project, page: httpx.Client
) -> None:
    project.write("go", "")
    run = project.json("run", "demo", "--json")["run"]
    topic = f"run:{run}"
    (first,) = page.get("/api/changes", params={"topics": topic}).json()
    assert (first["base"], first["set"]["head"]["status"]) == (0, "completed")
    since = f"{topic}={first['epoch']}/{first['seq']}"
    (again,) = page.get("/api/changes", params={"topics": topic, "since": since}).json()
    assert (again["base"], again["seq"], again["set"]) == (first["seq"], first["seq"], {})
    (folder,) = project.home.glob(f"state/runs/*/{run}")
    with page.stream("GET", "/api/changes", params={"topics": topic}, headers={"accept": STREAM}) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: rows"
        shutil.rmtree(folder)
        assert "event: gone" in lines
        assert "was removed" in next(line for line in lines if line.startswith("data: "))
    assert page.get("/api/changes", params={"topics": topic, "since": since}).status_code == 404


def test_a_cursor_behind_the_last_line_is_put_right(page: httpx.Client) -> None:
    (first,) = page.get("/api/changes", params={"topics": "home"}).json()
    place = f"home={first['epoch']}/{first['seq']}"
    headers = {"accept": STREAM, "last-event-id": f"{place}/9"}
    with page.stream("GET", "/api/changes", params={"topics": "home"}, headers=headers) as stream:
        assert next(line for line in stream.iter_lines() if line.startswith("id: ")) == f"id: {place}/0"


def test_the_page_ends_the_server(server: Server, page: httpx.Client) -> None:
    headers = {"x-handrail": "1", "content-type": "application/json"}
    assert page.post("/api/close", headers=headers, content=b"{}").status_code == 200
    server.process.communicate(timeout=30)
    assert server.process.returncode == 0


def test_unknown_topics_and_too_many_are_refused(page: httpx.Client) -> None:
    assert page.get("/api/changes?topics=run:r-none").status_code == 404
    assert page.get("/api/changes?topics=nothing").status_code == 400
    assert page.get("/api/changes").status_code == 400


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server(server: Server, how: int) -> None:
    assert server.end(how) == 0
