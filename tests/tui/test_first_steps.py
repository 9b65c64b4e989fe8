"""The terminal for somebody who has never seen it: what to do next is on the screen, and no key is silent."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from handrail.app import App
from handrail.tui.app import HandrailApp
from handrail.tui.catalog import CatalogScreen
from handrail.tui.context import TerminalLook
from handrail.tui.forms.launch import LaunchScreen
from handrail.tui.lines.home import EMPTY
from handrail.tui.reader import ReaderScreen
from handrail.tui.run import RunScreen
from handrail.tui.session import SessionScreen
from handrail.tui.widgets import Listing
from support import Project
from tui.scene import NOW, Scene, entry, node, picture, played, pressed, settled, shop
from tui.shop import shown, until


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.mark.whole
def test_a_session_started_by_hand_says_how_to_go_on_and_its_workflow_can_be_launched(project: Project) -> None:
    """The example has a flow and a workflow of the same name."""
    project.run("init")
    project.run("start", "hello", "write a greeting")

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "i")
        assert "Create an example flow and workflow in .handrail/?" in picture(top)
        await pressed(top, pilot, "right", "enter")
        while top.news is None or "is there already" not in top.news.text:  # on a slow machine it may be gone again
            await pilot.pause(0.02)
        await pressed(top, pilot, "home", "enter")
        assert isinstance(top.screen, SessionScreen)
        assert "next    `handrail next --summary 'what you did'`" in picture(top)
        for keys, text in ((("enter",), "Look at the project"), (("down", "enter"), "Write HELLO.md")):
            await pressed(top, pilot, *keys)
            await _until(top, pilot, ReaderScreen)
            assert text in picture(top)
            await pressed(top, pilot, "escape")
        await pressed(top, pilot, "c")
        await _until(top, pilot, CatalogScreen)
        top.screen.query_one("#entries", Listing).select("workflow:hello")
        await pressed(top, pilot, "enter")
        await _until(top, pilot, LaunchScreen)
        while "Reading the definition" in picture(top):
            await pilot.pause(0.02)
        assert "task *" in picture(top)

    own = App(str(project.folder), os.environ, by="person")

    async def play() -> None:
        top = HandrailApp(own, TerminalLook())
        async with top.run_test(size=(80, 24)) as pilot:
            await settled(top, pilot)
            await script(top, pilot)

    asyncio.run(play())


async def _until(top: HandrailApp, pilot: Pilot[None], screen: type) -> None:
    for _ in range(500):
        if isinstance(top.screen, screen):
            return
        await pilot.pause(0.02)
    raise AssertionError(f"{screen.__name__} did not open:\n{picture(top)}")


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (100, 30), (120, 40), (160, 50)])
def test_the_first_sentence_of_an_empty_project_is_never_cut(tmp_path: Path, size: tuple[int, int]) -> None:
    scene = Scene()
    scene.put("home", "head", "", project="shop")

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        listed = "\n".join(one.text for one in top.screen.query_one("#entries", Listing).lines)
        assert EMPTY in " ".join(listed.split())
        assert all(text.strip() in picture(top) for text in listed.split("\n"))

    played(tmp_path, script, size, scene)


def failed() -> Scene:
    """A run that failed in a nested step, for a long reason, after it had printed a lot."""
    scene, run = shop(), "run:r-7f3k2m"
    why = {"path": "plan/describe/words", "code": "no-program", "message": f"the program is missing: {'why ' * 20}end"}
    entry(scene, run, "needs", 0, name="release", status="failed", why=why, ended=NOW - 9, modes=["restart"], need=None)
    scene.topic(run).rows.drop("needs", "q-412")
    scene.put(run, "head", "", name="release", status="failed", why=why, done=1, total=2, started=NOW - 99,
              ended=NOW - 9, modes=["restart"], usage={})  # fmt: skip
    node(scene, "ask/go", "ask", "step", "failed", node="user-input", why=why, started=NOW - 99, ended=NOW - 9)
    tail = scene.topic(run).tail
    for n in range(10, 90):
        tail._lines.append({"n": n, "t": NOW - 50, "node": "check/tests", "kind": "answered", "text": f"line {n}"})
        tail.seq = n
    return scene


@pytest.mark.whole
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_why_a_run_failed_can_be_read_to_its_end_and_the_tail_keeps_its_heading(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        assert "words › the program is missing" in picture(top)
        assert "r restart…" in picture(top)
        assert "s stop…" not in picture(top)
        await pressed(top, pilot, "enter")
        shown = picture(top)
        assert "why end" in shown
        assert "─ tail: check › tests ─" in shown
        assert "following ─" in shown
        assert "answer  tests: line 89" in shown
        await pressed(top, pilot, "f")
        assert "held: f follows ─" in picture(top)
        await pressed(top, pilot, "r")
        assert "Files that it made are removed; a copy is kept." in " ".join(picture(top).replace("│", "").split())
        assert "Resume" not in picture(top)

    played(tmp_path, script, size, failed())


def test_what_is_typed_right_after_the_key_for_find_goes_into_the_field(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "enter")
        for key, letter in (("slash", "/"), *zip("qsn", "qsn", strict=True), ("slash", "/")):
            top.post_message(events.Key(key, letter))
        await settled(top, pilot)
        assert isinstance(top.screen, RunScreen)
        assert top.screen.query_one("#find", Input).value == "qsn/"

    played(tmp_path, script)


@pytest.mark.whole
def test_matches_of_a_search_are_found_in_every_list_and_a_check_opens_its_step(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "u")
        assert "release did not fail" in picture(top)
        await pressed(top, pilot, "enter")
        tree = top.screen.query_one("#tree", Listing)
        await pressed(top, pilot, "n")
        assert "nothing is searched: / finds" in picture(top)
        await pressed(top, pilot, "slash", "l", "i", "n", "t", "enter")
        assert tree.selected == "check/lint"
        await pressed(top, pilot, "escape", "slash", "t", "e", "s", "t", "s", "enter", "n")
        assert "n next" in picture(top)
        assert tree.selected == "check/tests"
        await pressed(top, pilot, "escape", "5", "slash", "f", "i", "n", "d", "enter")
        assert top.screen.query_one("#side", Listing).selected == "c3"
        await pressed(top, pilot, "escape", "enter")
        assert "yet (`handrail list` shows" in picture(top)  # it looks for the step, but this run has no journal

    played(tmp_path, script)


ASKS = "phases: [{id: ask, steps: [{id: go, node: approve, params: {question: Ship it?}}]}]"


def test_the_key_to_answer_opens_the_oldest_question_from_a_run_that_asks_nothing(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", ASKS)
    project.run("init")
    project.json("run", "ship", code=4)
    over = project.json("run", "greet")["run"]

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.open(f"run:{over}")
        await until(top, pilot, lambda top: "✓ completed" in picture(top), "the run that is over")
        assert "a answer" in picture(top)
        await pilot.press("a")
        await until(top, pilot, lambda top: "Approve?  ship  Ship it?" in picture(top), "the question of the other run")

    assert shown(project, script).bug is None
