"""A run is loaded once per command: each flow is compiled once, the journal and the request are read once or twice."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from handrail.app import App
from handrail.driven.flows.load import read_flow
from support import Project

STEPS = """phases:
- id: a
  steps:
  - {id: x, node: write-file, params: {path: made.md, text: hi}, makes: [made.md]}
  - {id: y, node: set, params: {n: 1}}
- id: b
  steps:
"""
FORM = "  - {id: ask, node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}}\n"
NESTED = "  - {id: child, node: flow-run, params: {fileName: child}}\n"

_watchers: list[Callable[[str, str], None]] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and _watchers and isinstance(args[0], str):
        for watcher in _watchers:
            reads = args[1] is None and args[2] & os.O_ACCMODE == os.O_RDONLY
            watcher(args[0], "rb" if reads else str(args[1]))


sys.addaudithook(_hook)  # it cannot be removed; without watchers it does nothing


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts how often each flow is compiled (`flow ID`), and how often each file of a run is opened for reading."""
    found: Counter[str] = Counter()

    def opened(path: str, mode: str) -> None:
        if "/runs/" in path and mode in ("r", "rb"):
            found[path.rsplit("/", 1)[-1]] += 1

    def called(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code is read_flow.__code__:
            found[f"flow {frame.f_locals['id_']}"] += 1

    _watchers.append(opened)
    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(None)
        _watchers.remove(opened)


@pytest.fixture
def demo(project: Project) -> Project:
    project.write(".handrail/flows/demo.yaml", STEPS + FORM + NESTED)
    project.write(".handrail/flows/child.yaml", "phases:\n- id: c\n  steps:\n  - {id: z, node: set, params: {m: 2}}\n")
    project.write("answers.json", '{"f": {"who": "Ada"}}')
    return project


def test_a_run_compiles_each_flow_once_and_reads_its_journal_once(demo: Project) -> None:
    with counted() as found:
        said = demo.json("run", "demo", "--answers", "answers.json")
    assert (said["status"], said["phases"][1]["steps"][1]["value"]["executionState"]["terminated"]) == (
        "completed",
        False,
    )
    assert (found["flow demo"], found["flow child"]) == (1, 1)
    assert found["journal"] <= 1
    assert found["about"] == 0


def test_a_driven_workflow_is_compiled_once(demo: Project) -> None:
    demo.workflow("release", ["one"])
    with counted() as found:
        demo.run("run", "release", "ship", "--agent", "scripted")
    assert found["flow workflow:release"] == 1
    assert found["about"] == 0


@pytest.mark.parametrize(
    "command",
    [("resume", "last", "--answers", "answers.json"), ("answer", "last", "--file", "answers.json"), ("stop", "last")],
    ids=lambda command: command[0],
)
def test_resuming_compiles_each_flow_once_and_reads_its_journal_twice(demo: Project, command: tuple[str, ...]) -> None:
    demo.json("run", "demo", code=4)
    with counted() as found:
        status = demo.json(*command)["status"]
    assert status == ("cancelled" if command[0] == "stop" else "completed")
    assert found["flow demo"] == 1
    assert found["journal"] <= (3 if command[0] == "answer" else 2)  # another answer may have come first
    assert found["about"] == 1


def test_a_restart_compiles_the_old_and_the_new_flow(demo: Project) -> None:
    demo.json("run", "demo", "--answers", "answers.json")
    with counted() as found:
        demo.json("restart", "last", "--from", "b", "--answers", "answers.json")
    assert found["flow demo"] == 2
    assert found["about"] == 1
    assert found["journal"] <= 3  # the old one at load and with the lock, the new one with the lock


def test_listing_runs_reads_only_their_summaries(demo: Project) -> None:
    demo.json("run", "demo", "--answers", "answers.json")
    demo.json("run", "demo", code=4)
    with counted() as found:
        rows = demo.json("runs")["runs"]
    assert [row["status"] for row in rows] == ["waiting", "completed"]
    assert found - Counter(lock=2) == {"summary": 2}


@pytest.mark.parametrize(
    "command", [("runs", "last"), ("log", "last"), ("artifacts", "last")], ids=lambda command: command[0]
)
def test_showing_a_run_reads_the_journal_once(demo: Project, command: tuple[str, ...]) -> None:
    demo.json("run", "demo", "--answers", "answers.json")
    with counted() as found:
        demo.json(*command)
    assert found["journal"] == 1
    assert found["about"] <= 1
    assert found["flow demo"] <= 1


def test_the_flows_of_a_run_that_is_loaded_again_are_not_compiled_again(project: Project, tmp_path: Path) -> None:
    project.write(".handrail/flows/demo.yaml", "phases: [{id: a, steps: [{id: x, node: set, params: {n: 1}}]}]\n")
    ids = [project.json("run", "demo")["run"] for _ in range(2)]
    project.write(".handrail/flows/demo.yaml", "phases: [{id: b, steps: [{id: x, node: set, params: {n: 1}}]}]\n")
    ids.append(project.json("run", "demo")["run"])
    runs = App(str(project.folder), {"HANDRAIL_HOME": str(project.home), "HOME": str(tmp_path)}).runs
    first, second, other = (runs.load(id_) for id_ in ids)
    assert first.plans is second.plans
    assert [plan.phases[0].id for plan in (first.plan, other.plan)] == ["a", "b"]
