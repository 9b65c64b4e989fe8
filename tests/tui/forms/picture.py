"""A screen as text: what its characters are, compared with a file of expected ones.

`HANDRAIL_UPDATE_SCREENS=1` writes the files anew: look at the difference before you commit it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

SCREENS = Path(__file__).parent / "screens"
UPDATES = bool(os.environ.get("HANDRAIL_UPDATE_SCREENS"))
SIZES = {"80x24": (80, 24), "160x50": (160, 50)}


class Stage(App[None]):
    """An app that shows one screen and keeps its result."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self.first = screen
        self._result: Any = "none yet"

    def on_mount(self) -> None:
        self.show(self.first)

    def show(self, screen: Screen[Any]) -> None:
        self._result = "none yet"
        self.push_screen(screen, self._keep)

    def result(self) -> Any:
        """What the screen returned; a text as long as it is open."""
        return self._result

    def _keep(self, result: Any) -> None:
        self._result = result


def picture(app: App[Any]) -> str:
    """The characters of the screen, line by line."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


def colours(app: App[Any]) -> set[str]:
    """The colours that the terminal is sent, in words."""
    found: set[str] = set()
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in strip.apply_filter(app._filters[0], app.screen.background_colors[1]) if app._filters else strip:
            style = segment.style
            found |= {str(one) for one in (style and style.color, style and style.bgcolor) if one}
    return found


def same_as(name: str, found: str) -> None:
    """Compare with the expected picture."""
    file = SCREENS / f"{name}.txt"
    if UPDATES:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8"), f"{file.name} is different"


def played(
    screen: Screen[Any], size: tuple[int, int], script: Callable[[Stage, Pilot[None]], Awaitable[None]]
) -> Stage:
    """Show a screen and follow a script. Returns the app, with the result of the screen."""

    async def play() -> Stage:
        app = Stage(screen)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(app, pilot)
            await pilot.pause()
        return app

    return asyncio.run(play())


async def typed(pilot: Pilot[None], *keys: str) -> None:
    """Press keys; a text in angle quotes is typed letter by letter."""
    for key in keys:
        await pilot.press(*(key[1:-1] if key.startswith("«") else [key]))
    await pilot.pause()
