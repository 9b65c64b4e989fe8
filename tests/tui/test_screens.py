"""Each screen as a picture, driven by keys, in several sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.context import TerminalLook
from handrail.tui.forms.launch import LaunchScreen
from tui.scene import Scene, picture, played, pressed, same_as, styles, written

SIZES = {"80x24": (80, 24), "160x50": (160, 50)}
NINE = "?", "*", "~", "+", "x", "#", ".", "o", "!"
STATUS = re.compile(r"^[| ] *(?:[>v] )?([?*~+x#.o!]) \w", re.MULTILINE)
"""A row of a list or of a tree begins with the sign of its status."""
PLAIN: dict[str, tuple[str, ...]] = {
    "home": (),
    "run": ("enter",),
    "run-timeline": ("6",),
    "stop": ("1", "s"),
    "help": ("escape", "question_mark", "end"),
    "palette": ("escape", "ctrl+p"),
    "session": ("escape", "b", "down", "enter"),
}
"""The screens without colours and signs, and the keys to each from the one before it."""


@pytest.mark.whole
@pytest.mark.parametrize("size", ["80x24", "120x40", "160x50", "60x16"])
def test_home(tmp_path: Path, size: str) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        same_as(f"home-{size}", top)

    width, _, height = size.partition("x")
    played(tmp_path, script, (int(width), int(height)))


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_a_run_opens_at_its_question_and_has_seven_views(tmp_path: Path, size: str) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "enter")
        same_as(f"run-progress-{size}", top)
        for key, name in zip("23456", ("tail", "summary", "artifacts", "checks", "timeline"), strict=True):
            await pressed(top, pilot, key)
            same_as(f"run-{name}-{size}", top)
        await pressed(top, pilot, "1", "up", "enter")
        same_as(f"run-step-{size}", top)

    played(tmp_path, script, SIZES[size])


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_a_session_shows_gate_checks_moves_and_denied_calls(tmp_path: Path, size: str) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "down", "enter")
        same_as(f"session-phases-{size}", top)
        for key, name in zip("234", ("checks", "moves", "denied"), strict=True):
            await pressed(top, pilot, key)
            same_as(f"session-{name}-{size}", top)

    played(tmp_path, script, SIZES[size])


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_help_and_the_palette_are_made_from_the_table_of_keys(tmp_path: Path, size: str) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "enter", "question_mark")
        same_as(f"help-{size}", top)
        await pressed(top, pilot, "escape", "ctrl+p", "s", "t", "o", "p")
        same_as(f"palette-{size}", top)
        await pressed(top, pilot, "enter")
        same_as(f"stop-{size}", top)
        top.launched_runs |= {"r-loop00", "r-audit0", "r-hello0"}
        await pressed(top, pilot, "escape", "q")
        same_as(f"quit-{size}", top)

    played(tmp_path, script, SIZES[size])


def test_an_empty_project_says_what_to_do(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        same_as("empty-80x24", top)

    played(tmp_path, script, scene=Scene())


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "end", "up", "enter")
        same_as("missing-run-80x24", top)

    played(tmp_path, script)


def test_a_small_terminal_gets_one_line(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        same_as("small-42x10", top)

    played(tmp_path, script, (42, 10))


@pytest.mark.whole
def test_without_colours_and_signs_all_statuses_can_be_told_apart(tmp_path: Path) -> None:
    seen: set[str] = set()

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for name, keys in PLAIN.items():
            await pressed(top, pilot, *keys)
            same_as(f"{name}-plain-80x24", top)
            assert picture(top).isascii()
            assert styles(top) <= {"default"}
            seen.update(STATUS.findall(picture(top)))
        top.launched_runs |= {"r-loop00", "r-audit0"}
        await pressed(top, pilot, "q")
        same_as("quit-plain-80x24", top)

    played(tmp_path, script, look=TerminalLook.of({"NO_COLOR": "1", "TERM": "linux", "LC_ALL": "C"}))
    assert seen == set(NINE)


def test_the_look_follows_the_environment() -> None:
    assert TerminalLook.of({"TERM": "xterm-256color", "LANG": "de_DE.UTF-8"}) == TerminalLook()
    assert not TerminalLook.of({"TERM": "xterm-256color", "LANG": "C"}).has_signs
    assert not TerminalLook.of({"TERM": "linux", "LANG": "C.UTF-8"}).has_signs
    assert not TerminalLook.of({"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}).has_colour


def _unseen(app: HandrailApp) -> set[str]:
    """What is written in a colour that is not seen on black or on white."""
    strips = app.screen._compositor.render_strips(app.size)
    styled = [(segment.text.strip(), segment.style) for strip in strips for segment in written(app, strip)]
    on_own = ("default", None)
    return {
        text
        for text, style in styled
        if text and style and style.color and style.color.number in (0, 7, 8, 15)  # black, white, and both brighter
        if (style.bgcolor.name if style.bgcolor else None) in on_own
    }


def test_every_frame_divider_and_disabled_button_is_seen_on_black_and_on_white(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for keys in (("enter",), ("escape", "down", "enter"), ("escape", "c")):
            assert _unseen(top) == set()
            await pressed(top, pilot, *keys)
        top.push_screen(LaunchScreen(top.actions, "no-such-flow"))
        for _ in range(200):
            await pilot.pause(0.01)
            if "It cannot be launched." in picture(top):
                break
        assert "[ Launch ^S ]" in picture(top)
        assert _unseen(top) == set()

    played(tmp_path, script, (160, 50))
