"""Screens of a real project: log, file, text of a phase as pictures; dialogs without colours and signs."""

from __future__ import annotations

import re

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from support import Project
from tui.keytable import WAYS, Sees, at, chosen, text
from tui.scene import SCREENS, picture, same_text, styles
from tui.shop import made, shown, until

VARY = ((r"\d\d:\d\d:\d\d", "14:02:31"), (r"r-[a-z0-9]{6}\b", "r-7f3k2m"), (r"\b\d\.\ds", "0.1s"))
"""What is different in every run, and as wide."""
PLAIN = {"NO_COLOR": "1", "TERM": "linux", "LC_ALL": "C"}
WALK: dict[str, tuple[str | Sees, ...]] = {
    "log": (*WAYS["log"], text("waits for a person")),
    "text": ("b", at("run"), "4", "end", "v", at("reader")),
    "phase": ("b", "b", "slash", *"ship", "enter", "escape", chosen("Ship"), "enter", at("session"), chosen("Build"),
              "down", "enter", text("Do deliver.")),
}  # fmt: skip
"""What is a picture, and the way to it from the one before."""
DIALOGS: dict[str, tuple[str | Sees, ...]] = {
    "Release it?": ("b", at("session"), "b", "home", "a", text("[ Send ^S ]")),
    "definitions": ("escape", "c", at("catalog"), chosen("broken")),
    "Launch hello": ("down", "enter", text("Estimate")),
}


async def follow(top: HandrailApp, pilot: Pilot[None], way: tuple[str | Sees, ...]) -> None:
    for one in way:
        if isinstance(one, str):
            await pilot.press(one)
        else:
            await until(top, pilot, one, way)


@pytest.mark.parametrize("size", ["80x24", "160x50", "plain-80x24"])
def test_log_files_and_phases_look_as_expected(project: Project, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    env = PLAIN if size.startswith("plain") else {}

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for name, way in WALK.items():
            await follow(top, pilot, way)
            found = picture(top)
            for what, instead in VARY:
                found = re.sub(what, instead, found)
            same_text(SCREENS / f"{name}-{size}.txt", found)
        for words, way in DIALOGS.items():
            await follow(top, pilot, way)
            assert words in picture(top)
            assert not env or (picture(top).isascii() and styles(top) <= {"default"})

    width, _, height = size.removeprefix("plain-").partition("x")
    assert shown(made(project, monkeypatch), script, (int(width), int(height)), **env).bug is None
