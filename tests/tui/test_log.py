"""The log of a run in the terminal: what happened, and what was printed, in the order of time."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from handrail.app import App
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


def test_the_log_has_what_programs_printed_and_finds_it(project: Project) -> None:
    project.write(".handrail/flows/unit.yaml", FLOW)
    run = project.json("run", "unit")["run"]
    top = HandrailApp(App(str(project.folder), os.environ, by="person"))

    async def script(pilot: Pilot[None]) -> str:
        screen = LogScreen(f"run:{run}", "unit")
        await top.push_screen(screen)
        while not screen.entries:
            await asyncio.sleep(0.02)
        await pilot.press("slash", *"1 fail", "enter")
        await pilot.pause()
        return picture(top)

    async def play() -> str:
        async with top.run_test(size=(80, 24)) as pilot:
            return await script(pilot)

    shown = asyncio.run(play())
    lines = [line.strip(" ▌") for line in shown.split("\n") if "unit › tests" in line]
    printed = [line.partition(" out ")[2].strip() for line in lines if " out " in line]
    assert printed == ["4 passed", "1 failed"]
    assert any("✓" in line for line in lines)
    assert "find: 1 fail  1 of 1" in shown
