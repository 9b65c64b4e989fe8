"""A terminal that is too small: one sentence says so, and no key acts unseen."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.home import HomeScreen
from handrail.tui.keys import HOME, keys_of_screen
from handrail.tui.widgets import Listing
from tui.scene import picture, played, pressed, settled


def test_only_quitting_works_in_a_terminal_that_is_too_small(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        chosen = top.screen.query_one("#entries", Listing).selected
        await pilot.resize_terminal(60, 15)
        await settled(top, pilot)
        assert "q quits" in picture(top)
        keys = [one for key in keys_of_screen(HOME) if key.id != "quit" for one in key.keys.split(",")]
        await pressed(top, pilot, *keys)
        assert isinstance(top.screen, HomeScreen)
        assert not top.screen.has_class("-finding")
        assert top.news is None
        await pilot.resize_terminal(80, 24)
        await settled(top, pilot)
        assert top.screen.query_one("#entries", Listing).selected == chosen
        await pressed(top, pilot, "s")
        assert "Stop release?" in picture(top)
        await pressed(top, pilot, "escape")
        await pilot.resize_terminal(60, 15)
        await settled(top, pilot)
        await pilot.press("q")
        assert top._exit

    played(tmp_path, script)
