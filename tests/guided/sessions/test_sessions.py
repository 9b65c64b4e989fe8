"""The sessions of a project: how often files are read, and check results that come too late."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.guided.sessions.machine import CheckResult


@pytest.fixture
def app(tmp_path: Path) -> App:
    folder = tmp_path / "project" / ".handrail" / "workflows" / "w"
    folder.mkdir(parents=True)
    head = "name: W\ncommandName: w\ninitialMessage: begin\nphases: [look.md, build.md]\n"
    (folder / "workflow.yaml").write_text(head)
    for id_ in ("look", "build"):
        front = f"---\nid: {id_}\nname: {id_.title()}\nemoji: x\nexit:\n  - file: {id_}.txt\n---\nDo it.\n"
        (folder / f"{id_}.md").write_text(front)
    env = {"HOME": str(tmp_path), "HANDRAIL_HOME": str(tmp_path / "home")}
    app = App(str(tmp_path / "project"), env)
    app.start("w", "x", "S")
    return app


class Opened:
    """Counts how often files are opened for reading while it is active."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.is_on = False
        sys.addaudithook(self.hear)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on and event == "open" and isinstance(args[0], str):
            self.names.append(Path(args[0]).name)


OPENED = Opened()


@pytest.mark.parametrize("is_proven", [True, False])
def test_one_next_reads_the_plan_once(app: App, is_proven: bool) -> None:
    if is_proven:
        (Path(app.project) / "look.txt").write_text("seen")
    OPENED.names.clear()
    OPENED.is_on = True
    report = asyncio.run(app.next(app.sessions.leaving("S"), ""))
    OPENED.is_on = False
    assert (report.refusal is None) is is_proven
    assert len([name for name in OPENED.names if name.startswith("plan-")]) == 1


def test_the_files_of_a_session_are_read_once_before_its_checks_run(app: App) -> None:
    OPENED.names.clear()
    OPENED.is_on = True
    asyncio.run(app.next(app.sessions.leaving("S"), "", lambda _: setattr(OPENED, "is_on", False)))
    (plan,) = [name for name in OPENED.names if name.startswith("plan-")]
    assert [name for name in OPENED.names if name in ("journal", "about", "card", plan)] == [
        "card",
        "journal",
        plan,
        "about",
    ]


def test_check_results_are_valid_only_for_their_own_phase(app: App) -> None:
    late = app.sessions.leaving("S")
    (Path(app.project) / "look.txt").write_text("seen")
    assert asyncio.run(app.next(app.sessions.leaving("S"), "")).refusal is None
    held = tuple(CheckResult(check.name, check.kind, True, "", 0.0) for check in late.checks)
    report = app.sessions.leave(late, "", held)
    assert report.refusal is not None
    assert report.refusal.code == "moved-meanwhile"
    assert report.state.at == 1


def test_old_check_results_do_not_move_a_restarted_session(app: App) -> None:
    late = app.sessions.leaving("S")
    app.start("w", "another task", "S", replaces=True)
    held = tuple(CheckResult(check.name, check.kind, True, "", 0.0) for check in late.checks)
    report = app.sessions.leave(late, "", held)
    assert report.refusal is not None
    assert (report.refusal.code, report.state.at, report.state.task) == ("moved-meanwhile", 0, "another task")
