"""What a run records about its steps for those who look at it: what a node was given, and what checks found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import masked_json
from support import Project

FLOW = """
env: [DEPLOY_TOKEN]
params:
  long: {default: short}
phases:
- id: build
  steps:
  - id: make
    node: command
    params:
      argv: [sh, -c, "echo $WORD > made; echo built", "${params.long}"]
      env: {WORD: "${context.env.DEPLOY_TOKEN}"}
    expect:
    - {file: made}
    - {file: other, when: {equals: ["${params.long}", never]}}
    - {file: missing, message: it is not there}
"""
SECRET = "s3cr3t-value-0123456789"


@pytest.fixture
def flow(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    project.write(".handrail/flows/demo.yaml", FLOW)
    return project


def events(project: Project, run: str, kind: str) -> list[dict[str, Any]]:
    lines = project.run("log", run, "--json").out.splitlines()
    found = [json.loads(line) for line in lines]
    return [one for one in (found[0].get("events", found) if len(found) == 1 else found) if one["type"] == kind]


def files_with(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize("long", ["short", "x" * 5_000])
def test_the_input_of_a_node_is_recorded_without_secrets(flow: Project, long: str) -> None:
    run = flow.json("run", "demo", "--param", f"long={long}", code=1)["run"]
    (started,) = events(flow, run, "NodeStarted")
    assert (started["payload"] is None) == (long == "short")
    if long == "short":
        assert started["given"]["params"]["env"] == {"WORD": "[hidden]"}
        assert started["given"]["params"]["argv"][-1] == "short"
    assert files_with(flow.home / "state", SECRET) == []


def test_every_expectation_of_a_step_has_a_result(flow: Project) -> None:
    run = flow.json("run", "demo", code=1)["run"]
    (checked,) = events(flow, run, "Checked")
    found = [(one["name"], one["kind"], one["held"]) for one in checked["results"]]
    assert found == [("file: made", "file", True), ("file", "file", None), ("file: missing", "file", False)]
    assert checked["results"][0]["seconds"] >= 0
    assert checked["results"][1]["detail"] == "its condition does not hold"
    rows = json.loads(flow.run("view", f"run:{run}").out)["set"]
    node = next(row for row in rows["nodes"] if row["id"] == "build/make")
    assert node["checks"] == {"held": 1, "failed": 1, "notRun": 1}
    assert {(row["node"], row["held"], row["tree"], row["stale"]) for row in rows["checks"]} == {
        ("build/make", True, None, None),
        ("build/make", None, None, None),
        ("build/make", False, None, None),
    }


def test_events_of_an_older_version_are_read() -> None:
    old = {"type": "NodeStarted", "path": "a/b", "input": "d", "attempt": 1, "t": 1.0}
    event = run_events.event_from_json(old)
    assert isinstance(event, run_events.NodeStarted)
    assert (event.given, event.payload) == (None, None)
    assert masked_json(event)["given"] is None
