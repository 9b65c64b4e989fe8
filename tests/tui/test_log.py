"""The log of a run in the terminal: what happened, and what was printed, in the order of time."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from handrail.app import App
from handrail.base import jsonlite
from handrail.driven.engines.embedded.run_folders import ACTIVITY
from handrail.driven.runs.run_events import StepDone
from handrail.tui.app import HandrailApp
from handrail.tui.reader import LogScreen
from support import Project
from tui.scene import picture

FLOW = (
    "phases: [{id: unit, steps: [{id: tests, node: command, params: {argv: [printf, '4 passed\\n\\e[1m1 failed']}}]}]"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


def log_picture(project: Project, run: str, *pressed: str) -> str:
    """The log of a run as the terminal shows it, after these keys."""
    top = HandrailApp(App(str(project.folder), os.environ, by="person"))

    async def play() -> str:
        async with top.run_test(size=(80, 24)) as pilot:
            screen = LogScreen(f"run:{run}", "unit")
            await top.push_screen(screen)
            while not screen.entries:
                await asyncio.sleep(0.02)
            await pilot.press(*pressed)
            await pilot.pause()
            return picture(top)

    return asyncio.run(play())


def step_lines(picture: str) -> list[str]:
    return [line.strip(" ▌") for line in picture.split("\n") if "unit › tests" in line]


def test_the_log_has_what_programs_printed_and_finds_it(project: Project) -> None:
    project.write(".handrail/flows/unit.yaml", FLOW)
    shown = log_picture(project, project.json("run", "unit")["run"], "slash", *"1 fail", "enter")
    lines = step_lines(shown)
    printed = [line.partition(" out ")[2].strip() for line in lines if " out " in line]
    assert printed == ["4 passed", "1 failed"]
    assert any("✓" in line for line in lines)
    assert "find: 1 fail  1 of 1" in shown


def test_what_is_printed_in_the_millisecond_in_which_a_step_ends_comes_before_its_end(project: Project) -> None:
    project.write(".handrail/flows/unit.yaml", FLOW)
    app = App(str(project.folder), os.environ, by="person")
    run = project.json("run", "unit")["run"]
    end = next(at for at, event in app.runs.records(run, 1) if isinstance(event, StepDone))
    file = Path(app.places.runs(app.project)) / run / "1" / ACTIVITY
    lines = [jsonlite.decode_line(line) or {} for line in file.read_bytes().splitlines()]
    file.write_bytes(b"".join(jsonlite.encode_line({**line, "t": end}) for line in lines))
    *_, first, second, last = step_lines(log_picture(project, run, "end"))
    assert ["4 passed" in first, "1 failed" in second, "✓" in last] == [True] * 3
