"""A run that no process drives, on its own screen: its journal does not know that, home does."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from tui.scene import NOW, picture, played, pressed, shop

RUN = "run:r-7f3k2m"


def test_a_run_that_nobody_drives_is_interrupted_with_its_steps_and_its_time_is_the_least(tmp_path: Path) -> None:
    scene = shop()
    scene.put("home", "entries", RUN, status="interrupted", seconds=20.0, atLeast=True)
    scene.put(RUN, "head", "", status="running", seconds=None, since=NOW - 500.0)
    scene.put(RUN, "nodes", "check/lint", status="running", ended=None)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "enter")
        lines = picture(top).splitlines()
        assert "! interrupted   9/13 · ≥ 20s · " in lines[0]
        assert [line.split()[:2] for line in lines if " lint  " in line] == [["!", "lint"]]

    played(tmp_path, script, (160, 50), scene)
