"""A project that was moved or renamed: its runs are found and brought along by a command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.base import locks
from support import Project

STEPS = """phases:
- id: a
  steps:
  - {id: pay, node: command, params: {argv: [/bin/sh, -c, 'echo paid >> paid']}}
  - {id: made, node: write-file, params: {path: made.md, text: hi}, makes: [made.md]}
- id: b
  steps:
  - {id: ask, node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}}
"""


@pytest.fixture
def moved(project: Project, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """The former folder of a project with a waiting run, and the id of that run. The project is `renamed` now."""
    project.write(".handrail/flows/pay.yaml", STEPS)
    run = project.json("run", "pay", "--scope", "k", code=4)["run"]
    former, project.folder = project.folder, project.folder.with_name("renamed")
    former.rename(project.folder)
    monkeypatch.chdir(project.folder)
    return former, run


def test_the_runs_of_a_moved_project_are_adopted_and_go_on(project: Project, moved: tuple[Path, str]) -> None:
    former, run = moved
    assert f"`handrail adopt {former}` brings its runs here" in project.run("runs").err
    assert project.json("adopt", str(former)) == {"from": str(former), "runs": 1, "left": []}
    assert project.json("answer", run, "who=Ada")["status"] == "completed"
    assert (project.folder / "paid").read_text() == "paid\n"
    assert project.run("artifacts", "made.md@latest").out == "hi"
    assert project.run("adopt", str(former)).code == 1
    assert "adopt" not in project.run("runs").err


def test_runs_that_are_here_already_stay(project: Project, moved: tuple[Path, str]) -> None:
    former, run = moved
    other = project.json("run", "pay", "--scope", "k", code=4)["run"]
    assert project.json("adopt", str(former)) == {"from": str(former), "runs": 2, "left": ["k"]}
    assert {row["run"] for row in project.json("runs")["runs"]} == {run, other}


def test_only_a_project_that_is_gone_is_adopted(project: Project, moved: tuple[Path, str]) -> None:
    former, _ = moved
    former.mkdir()
    said = project.run("adopt", str(former))
    assert (said.code, "still exists" in said.err) == (1, True)
    assert "adopt" not in project.run("runs").err


def test_a_run_that_is_driven_is_not_adopted(project: Project, moved: tuple[Path, str]) -> None:
    former, run = moved
    held = locks.acquire(str(next((project.home / "state" / "runs").rglob(run)) / "lock"))
    assert held is not None
    said = project.run("adopt", str(former))
    os.close(held)
    assert (said.code, f"`{run}` is in use" in said.err) == (1, True)
    assert project.json("runs")["runs"] == []


def test_a_new_project_hears_of_no_other(project: Project) -> None:
    marks: dict[str, Any] = {"project": "/gone", "place": [1, 2]}
    folder = project.home / "state" / "runs" / "gone"
    folder.mkdir(parents=True)
    (folder / ".project").write_text(json.dumps(marks))
    assert "adopt" not in project.run("runs").err
