"""`handrail view`: what is followed while it happens is what is there afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from handrail.view.rows.rows import ReceivedRows
from support import Project

WAIT = "sh, -c, 'until [ -e go ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done'"
FLOW = f"""
phases:
- id: first
  steps:
  - {{id: hold, node: command, params: {{argv: [{WAIT}]}}}}
  - {{id: say, node: command, params: {{argv: [echo, hello]}}}}
- {{id: second, steps: [{{id: note, node: set, params: {{x: 1}}}}]}}
"""
INNER = "phases:\n- {id: deep, steps: [{id: one, node: set, params: {x: 1}}]}\n"
OUTER = "phases:\n- {id: call, steps: [{id: it, node: flow-run, params: {fileName: inner.yaml}}]}\n"


def received(lines: str) -> ReceivedRows:
    found = ReceivedRows()
    for line in lines.splitlines():
        assert found.take(json.loads(line)), line
    return found


@pytest.mark.whole
def test_what_was_followed_equals_what_is_there_afterwards(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    run = project.json("run", "demo", "--detach")["run"]
    argv = [os.path.join(os.path.dirname(sys.executable), "handrail"), "view", f"run:{run}", "--follow"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        first = following.stdout.readline()
        project.write("go", "")
        followed = first + following.stdout.read()
    assert following.returncode == 0
    assert len(followed.splitlines()) > 1
    later = received(project.run("view", f"run:{run}").out)
    whole = received(followed)
    assert whole.rows == later.rows
    assert list(whole.tail.values()) == list(later.tail.values())
    assert [line["text"] for line in later.tail.values() if line["kind"] == "out"] == ["hello"]
    head: dict[str, Any] = later.rows["head", ""]
    assert (head["status"], head["done"], head["total"]) == ("completed", 3, 3)


def test_the_statuses_are_those_of_the_run(project: Project) -> None:
    project.write(".handrail/flows/inner.yaml", INNER)
    project.write(".handrail/flows/outer.yaml", OUTER)
    run = project.json("run", "outer")
    rows = received(project.run("view", f"run:{run['run']}").out).rows
    nodes = {id_: row["status"] for (section, id_), row in rows.items() if section == "nodes"}
    assert nodes == {"call": "done", "call/it": "done", "call/it/deep": "done", "call/it/deep/one": "done"}


def test_a_restart_is_a_new_epoch(project: Project) -> None:
    project.write(".handrail/flows/inner.yaml", INNER)
    run = project.json("run", "inner")["run"]
    first = received(project.run("view", f"run:{run}").out)
    project.json("restart", run)
    second = received(project.run("view", f"run:{run}").out)
    assert first.epoch != second.epoch
    assert second.rows["head", ""]["attempt"] == 2


def test_a_session_is_a_topic_too(project: Project) -> None:
    project.workflow("demo", ["plan", "build"])
    session = project.json("start", "demo", "login page")["session"]
    project.json("next", "--summary", "planned")
    rows = received(project.run("view", f"session:{session}").out).rows
    assert [rows["stops", str(order)]["state"] for order in (0, 1)] == ["done", "current"]
    assert rows["stops", "0"]["summary"] == "planned"
    assert rows["head", ""]["task"] == "login page"


def test_home_has_runs_and_sessions(project: Project) -> None:
    project.write(".handrail/flows/inner.yaml", INNER)
    project.workflow("demo", ["plan", "build"])
    session = project.json("start", "demo", "login page")["session"]
    run = project.json("run", "inner")["run"]
    rows = received(project.run("view", "home").out).rows
    groups = {id_: row["group"] for (section, id_), row in rows.items() if section == "entries"}
    assert groups == {f"session:{session}": "running", f"run:{run}": "recent"}


def test_an_unknown_topic_is_named_with_the_nearest_ones(project: Project) -> None:
    said = project.run("view", "runs:x")
    assert said.code == 2
    assert "did you mean `run`?" in said.err
    missing = project.run("view", "session:nobody")
    assert missing.code == 1
    assert "nobody" in missing.err
