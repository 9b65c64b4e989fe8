"""Every key of every screen, pressed in the real application on a real project: what is listed happens."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from handrail.tui import keys
from handrail.tui.app import HandrailApp
from handrail.tui.frame import Frame
from handrail.tui.home import HomeScreen
from handrail.tui.keys import HelpScreen
from handrail.tui.widgets import Listing
from support import Project
from tui.keytable import MOVES, TABLE, WAYS, Sees
from tui.shop import made, shown, until

OVERLAYS = (*MOVES, "help", "palette", "quit", "answer", "again", "stop")
"""What moves the selection or shows something above the screen, and leaves the screen as it is."""


@pytest.mark.parametrize("screen", keys.SCREENS)
def test_the_table_has_a_row_for_every_binding_and_no_other(screen: str) -> None:
    assert {key.id for key in keys.keys_of_screen(screen)} == set(TABLE[screen])


async def follow(top: HandrailApp, pilot: Pilot[None], way: tuple[str | Sees, ...]) -> None:
    """Press keys, and wait for what has to hold in between."""
    for one in way:
        if isinstance(one, str):
            await pilot.press(one)
        else:
            await until(top, pilot, one, way)


class Stage:
    """A screen that is shown again and again as if nothing had been done before."""

    def __init__(self, top: HandrailApp, pilot: Pilot[None], name: str) -> None:
        self.top = top
        self.pilot = pilot
        self.name = name
        self.screen: Frame | None = None
        self.selected: str | None = None

    async def reach(self, after: str) -> None:
        """`after` is what was done last. If that cannot have changed the screen, it is not opened again."""
        top = self.top
        wanted = self.screen if after in OVERLAYS and self.name != keys.HOME else None
        while top.screen is not wanted and not isinstance(top.screen, HomeScreen):
            top.pop_screen()
            await self.pilot.pause()
        top.launched_runs.clear()
        top.news, top._interrupt_time = None, float("-inf")
        top.copy_to_clipboard("")
        if wanted is None:
            await follow(top, self.pilot, ("escape", *WAYS[self.name]))
            assert isinstance(top.screen, Frame)
            self.screen, self.selected = top.screen, top.screen.listing.selected
        else:
            wanted.listing.scroll_to(y=0, animate=False, immediate=True)
            wanted.listing.select(self.selected)


@pytest.mark.whole(6)
@pytest.mark.parametrize("screen", keys.SCREENS)
def test_every_key_does_what_it_says_and_help_lists_exactly_these_keys(
    project: Project, screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        stage, last = Stage(top, pilot, screen), ""
        for key in keys.keys_of_screen(screen):
            row = TABLE[screen][key.id]
            for pressed in key.keys.split(","):
                await stage.reach(last)
                await follow(top, pilot, row.before)
                assert not row.sees(top), f"{pressed} on {screen}: seen without the key"
                await pilot.press(pressed)
                await until(top, pilot, row.sees, f"{pressed} on {screen}")
                last = key.id
        await stage.reach(last)
        known = {one for key in keys.KEYS if screen in key.screens for one in key.keys.split(",")}
        assert set(top.screen.active_bindings) == known
        await pilot.press("question_mark")
        assert isinstance(top.screen, HelpScreen)
        listed = [one.text[2:25].split() for one in top.screen.query_one(Listing).lines]
        signs = listed.index([])
        assert sorted(name for names in listed[:signs] for name in names) == sorted(
            key.label for key in keys.keys_of_screen(screen)
        )

    assert shown(made(project, monkeypatch), script).bug is None
