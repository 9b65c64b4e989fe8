"""The line of news goes away by itself: after some seconds, on another screen, and when it is no longer true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from handrail.base.errors import HandrailError
from handrail.tui.app import HandrailApp
from tui.scene import NOW, Clock, Scene, entry, picture, played, pressed, settled, shop


async def _until(holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.mark.whole
def test_news_and_errors_go_away_after_ten_seconds_also_where_nothing_is_counted(tmp_path: Path) -> None:
    clock, quiet = Clock(), Scene()
    quiet.put("home", "head", "", project="shop")

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for is_wrong in (False, True):
            if is_wrong:
                top.tell_refusal(HandrailError("created nothing"))
            else:
                top.tell("created it")
            clock.now += 9.0
            await settled(top, pilot)
            assert "created" in picture(top)
            clock.now += 2.0
            await _until(lambda: "created" not in picture(top))

    played(tmp_path, script, scene=quiet, clock=clock)


def test_news_stay_on_the_screen_where_they_were_told(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.tell_refusal(HandrailError("no such thing"))
        assert "✗ no such thing" in picture(top)
        await pressed(top, pilot, "enter")
        assert "no such thing" not in picture(top)

    played(tmp_path, script)


def test_what_was_told_while_a_dialog_is_open_is_seen_after_it(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "s")
        top.tell("something else ended")
        await pressed(top, pilot, "escape")
        assert "something else ended" in picture(top)

    played(tmp_path, script)


def test_that_a_run_waits_is_no_news_any_more_when_it_is_answered_and_a_failure_replaces_it(tmp_path: Path) -> None:
    scene = shop()
    asked = {"kind": "form", "count": 1, "title": "Ship?", "since": NOW}

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        entry(scene, "run:r-new", "needs", 9, name="git-commit", status="waiting", need=asked)
        await _until(lambda: "git-commit waits for you: Ship?" in picture(top))
        entry(scene, "run:r-new", "running", 9, name="git-commit", status="running", need=None, last=NOW)
        await _until(lambda: "git-commit waits for you" not in picture(top))
        top.tell("git-commit: answered")
        entry(scene, "run:r-new", "needs", 9, name="git-commit", status="failed", need=None, ended=NOW)
        await _until(lambda: "git-commit: failed" in picture(top))
        assert "answered" not in picture(top)

    played(tmp_path, script, scene=scene)


@pytest.mark.parametrize(("key", "named"), [("z", "z"), ("ctrl+g", "ctrl+g"), ("dollar_sign", "$")])
def test_a_key_that_does_nothing_says_so(tmp_path: Path, key: str, named: str) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for keys in ((), ("enter",), ("7",)):
            await pressed(top, pilot, *keys, key)
            assert f"`{named}` does nothing here: ? shows the keys" in picture(top)

    played(tmp_path, script)


@pytest.mark.whole
def test_keys_in_a_field_or_a_dialog_and_shift_alone_are_not_reported(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "left_shift", "caps_lock", "slash", "z", "escape", "s", "z", "escape")
        await pilot.click(offset=(5, 20))
        assert top.news is None

    played(tmp_path, script)


def test_news_that_come_while_the_program_ends_are_no_bug(tmp_path: Path) -> None:
    told: list[bool] = []

    async def late(top: HandrailApp) -> None:
        while top.is_running or top.screen.query("#head"):
            await asyncio.sleep(0)
        top.tell("done")
        told.append(True)

    async def script(top: HandrailApp, _: Pilot[None]) -> None:
        top.run_worker(late(top))

    played(tmp_path, script)
    assert told == [True]
