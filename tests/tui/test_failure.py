"""A run that fails: its reason can be read to the end, and the cursor goes to the step that failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.widgets import Listing
from handrail.view.live.home import OpenedRows
from tui.scene import NOW, Scene, entry, node, picture, played, pressed, settled, shop

RUN = "run:r-7f3k2m"
WHY = {
    "path": "notes/write",
    "code": "no-program",
    "message": "the program is missing: " + "and this is why, " * 22 + "so set HANDRAIL_SCRIPT",
}


def running() -> Scene:
    """A run that works on `ask/go`; nothing waits for a person."""
    scene = shop()
    entry(scene, RUN, "running", 0, name="release", status="running", need=None, started=NOW - 99, last=NOW)
    scene.topic(RUN).rows.drop("needs", "q-412")
    scene.put(RUN, "head", "", name="release", status="running", done=1, total=2, started=NOW - 99, usage={})
    node(scene, "ask/go", "ask", "step", "running", node="command", started=NOW - 99)
    node(scene, "notes/write", "notes", "step", "pending", node="command")
    return scene


def fail(scene: Scene) -> None:
    node(scene, "ask/go", "ask", "step", "done", node="command", started=NOW - 99, ended=NOW - 9)
    node(scene, "notes/write", "notes", "step", "failed", node="command", started=NOW - 9, ended=NOW, why=WHY)
    head = {"name": "release", "status": "failed", "why": WHY, "started": NOW - 99, "ended": NOW, "usage": {}}
    scene.put(RUN, "head", "", **head, done=1, total=2)


def opened(top: HandrailApp) -> set[str]:
    """What a person has looked at, as it is kept."""
    seen = OpenedRows(top.project)
    seen.refresh()
    return set(seen.times)


async def failed(top: HandrailApp, pilot: Pilot[None]) -> None:
    """Wait until the failure is shown."""
    top._key_time = float("-inf")  # as if the last key had been pressed long ago
    while "✗ failed" not in picture(top):
        await settled(top, pilot)
    await settled(top, pilot)


@pytest.mark.whole
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (160, 50)])
def test_the_whole_reason_is_on_the_screen_of_the_run(tmp_path: Path, size: tuple[int, int]) -> None:
    scene = running()
    fail(scene)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.open(RUN)
        await failed(top, pilot)
        assert "HANDRAIL_SCRIPT" in picture(top)
        assert top.screen.query_one("#tree", Listing).selected == "notes/write"

    played(tmp_path, script, size, scene)


@pytest.mark.whole
def test_the_cursor_goes_to_the_step_that_fails_while_the_run_is_watched(tmp_path: Path) -> None:
    scene = running()

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.open(RUN)
        await settled(top, pilot)
        tree = top.screen.query_one("#tree", Listing)
        assert tree.selected == "ask/go"
        assert RUN not in opened(top)
        fail(scene)
        await failed(top, pilot)
        assert tree.selected == "notes/write"
        await settled(top, pilot)
        assert RUN in opened(top)

    played(tmp_path, script, scene=scene)


def test_the_cursor_stays_where_the_person_has_put_it(tmp_path: Path) -> None:
    scene = running()

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.open(RUN)
        await settled(top, pilot)
        await pressed(top, pilot, "home")
        fail(scene)
        await failed(top, pilot)
        assert top.screen.query_one("#tree", Listing).selected == "check"

    played(tmp_path, script, scene=scene)
