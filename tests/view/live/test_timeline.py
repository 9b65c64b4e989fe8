"""A run with two tries, a quota, a kill, a question and unknown costs, as a surface sees it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from handrail.view.rows.rows import ReceivedRows
from support import Project, is_running

FLOW = """
phases:
- id: work
  steps:
  - {id: flaky, node: command, retry: {attempts: 2, wait: 0.1},
     params: {argv: [sh, -c, 'test -e once || { touch once; exit 3; }']}}
  - {id: agent, node: llm-prompt, prompt: {inlineTemplate: do it}}
  - {id: silent, node: llm-prompt, prompt: {inlineTemplate: quietly}}
  - {id: hold, node: command, rerun: safe,
     params: {argv: [sh, -c, 'echo holds; until [ -e go ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done']}}
- {id: ask, steps: [{id: go, node: user-input, params: {formId: f, title: Go?, outputFile: go.json,
   fields: [{id: why, type: text, label: Why}]}}]}
"""
SCRIPT = """
prompts:
- match: quietly
  play: [{say: nothing}]
- play:
  - {tool: bash, input: {command: 'test -e met && touch calm; touch met'}}
  - {fail: rate-limit, unless: calm, message: too many requests, resetsIn: 0.4}
  - {usage: {inputTokens: 10, outputTokens: 5, usd: 0.25}}
  - {say: all done}
"""


def view(project: Project, run: str) -> tuple[ReceivedRows, dict[str, Any]]:
    found, message = ReceivedRows(), {}
    for line in project.run("view", f"run:{run}").out.splitlines():
        message = json.loads(line)
        assert found.take(message)
    return found, message["live"]


def until(project: Project, run: str, holds: Callable[[ReceivedRows, dict[str, Any]], bool]) -> ReceivedRows:
    while not holds(*view(project, run)):
        time.sleep(0.05)
    return view(project, run)[0]


def bars(found: ReceivedRows, path: str) -> list[tuple[str, int, str | None]]:
    rows = [row for (name, _), row in found.rows.items() if name == "bars" and row["node"] == path]
    return [(row["kind"], row["try"], row["end"]) for row in sorted(rows, key=lambda row: int(row["id"].split("#")[1]))]


def holds_on(found: ReceivedRows) -> bool:
    """The step that holds has begun: that it did is recorded a moment after its program has printed something."""
    return "holds" in [line["text"] for line in found.tail.values()] and bars(found, "work/hold") != []


def test_each_stretch_of_time_has_its_own_bar(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    project.write("script.yaml", SCRIPT)
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    run = project.json("run", "demo", "--agent", "scripted", "--detach")["run"]
    killed = until(project, run, lambda found, _: holds_on(found))
    assert bars(killed, "work/flaky") == [("work", 1, "failed"), ("pause", 1, None), ("work", 2, "done")]
    assert bars(killed, "work/agent") == [("work", 1, None), ("delay", 1, None), ("work", 1, "done")]
    assert bars(killed, "work/hold") == [("work", 1, None)]
    driver = view(project, run)[1]["driver"]
    os.kill(driver, signal.SIGKILL)
    while is_running(driver):
        time.sleep(0.02)
    assert view(project, run)[1] == {"driver": None, "program": True}
    project.write("go", "")
    until(project, run, lambda _, live: not live["program"])
    home = json.loads(project.run("view", "home").out)["set"]["entries"]
    assert [(row["group"], row["status"]) for row in home] == [("needs", "interrupted")]
    project.json("resume", run, code=4)
    waiting, _ = view(project, run)
    assert bars(waiting, "work/hold") == [("work", 1, "interrupted"), ("away", 1, None), ("work", 2, "done")]
    assert bars(waiting, "ask/go")[-1] == ("asked", 1, None)
    project.write("reply.json", '{"why": "because"}')
    project.json("answer", run, "--file", "reply.json")
    ended, live = view(project, run)
    assert live == {"driver": None, "program": False}
    assert ("asked", 1, "answered") in bars(ended, "ask/go")
    costs = {id_: row["usage"] for (name, id_), row in ended.rows.items() if name == "nodes"}
    assert (costs["work/agent"]["usd"], costs["work/silent"]["usd"], costs["work/flaky"]) == (0.25, None, {})
    assert (costs["work"]["usd"], costs["work"]["complete"]) == (0.25, False)
    (row,) = json.loads(project.run("view", "home").out)["set"]["entries"]
    assert (row["usage"]["usd"], row["usage"]["complete"]) == (0.25, False)
