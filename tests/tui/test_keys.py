"""Keys: each does what the table says, nothing moves under the finger, and resizing keeps what was chosen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.catalog import CatalogScreen
from handrail.tui.decisions import ChoiceScreen, QuitScreen
from handrail.tui.frame import Frame, Pace
from handrail.tui.home import HomeScreen
from handrail.tui.keys import CATALOG, HOME, KEYS, LOG, READER, RUN, SESSION, keys_of_screen
from handrail.tui.reader import LogScreen, ReaderScreen
from handrail.tui.run import RunScreen
from handrail.tui.session import SessionScreen
from handrail.tui.widgets import Bar, Listing
from support import Project
from tui.scene import NOW, Scene, entry, picture, played, pressed, settled, shop
from tui.shop import shown, until

SCREENS: dict[str, type[Frame]] = {
    HOME: HomeScreen,
    RUN: RunScreen,
    SESSION: SessionScreen,
    LOG: LogScreen,
    READER: ReaderScreen,
    CATALOG: CatalogScreen,
}
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "terminal.md"


@pytest.mark.parametrize("name", SCREENS)
def test_every_key_of_the_table_has_an_action_and_no_key_has_two(name: str) -> None:
    keys = [one for key in keys_of_screen(name) for one in key.keys.split(",")]
    assert len(keys) == len(set(keys))
    for key in keys_of_screen(name):
        assert callable(getattr(SCREENS[name], f"action_{key.id.partition('(')[0]}", None)), key


def test_the_guide_has_every_key() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    missing = {key.label for key in KEYS if f"`{key.label}`" not in text}
    assert not missing


@pytest.mark.whole
def test_no_row_moves_within_a_second_after_a_key_and_the_selection_follows_its_row(tmp_path: Path) -> None:
    scene = shop()

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "down", "down", "down", "down")
        listing = top.screen.query_one("#entries", Listing)
        chosen = listing.selected
        assert chosen == "run:r-loop00"
        before = [one.id for one in listing.lines]
        top._key_time = float("inf")  # as if a key had been pressed just now
        asked = {"kind": "form", "count": 1, "title": "First?", "since": NOW - 9_999}
        entry(scene, "run:r-loop00", "needs", 0, name="review-loop", status="waiting", need=asked)
        entry(scene, "run:r-more00", "needs", 0, name="more", status="waiting", need=asked)
        scene.topic("home").rows.seq += 1
        await _until(lambda: any(row["id"] == "run:r-more00" for row in top.entries))
        top.screen.mark_stale()  # type: ignore[attr-defined]
        await asyncio.sleep(0.3)
        assert [one.id for one in listing.lines] == before
        top._key_time = float("-inf")
        top.screen.mark_stale()  # type: ignore[attr-defined]
        await _until(lambda: "run:r-more00" in [one.id for one in listing.lines])
        assert listing.selected == chosen
        assert [one.id for one in listing.lines].index(chosen) < before.index(chosen)

    played(tmp_path, script, scene=scene)


def test_a_new_need_is_news_with_one_bell_and_a_count_in_the_title(tmp_path: Path) -> None:
    scene, rung = shop(), []

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.bell = lambda: rung.append(1)  # type: ignore[method-assign]
        for number in range(2):
            asked = {"kind": "form", "count": 1, "title": f"Ship {number}?\x1b]0;x\x07", "since": NOW}
            entry(scene, f"run:r-new{number}", "needs", 9, name="new", status="waiting", need=asked)
            await _until(lambda number=number: any(row["id"] == f"run:r-new{number}" for row in top.entries))
        await _until(lambda: top.title.startswith("(6)"))
        assert top.news is not None
        assert "new waits for you: Ship 1?" in top.news.text
        assert "\x1b" not in top.news.text

    played(tmp_path, script, scene=scene)
    assert rung == [1]


def test_no_bell_rings_if_the_settings_choose_other_channels(tmp_path: Path) -> None:
    scene, rung = shop(), []
    (tmp_path / "home" / "config").mkdir(parents=True)
    (tmp_path / "home" / "config" / "settings.yaml").write_text("notify: [{command: ['true']}]\n")

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.bell = lambda: rung.append(1)  # type: ignore[method-assign]
        asked = {"kind": "form", "count": 1, "title": "Ship?", "since": NOW}
        entry(scene, "run:r-new", "needs", 9, name="new", status="waiting", need=asked)
        await _until(lambda: top.news is not None and "new waits for you: Ship?" in top.news.text)

    played(tmp_path, script, scene=scene)
    assert rung == []


def test_what_a_dialog_acts_on_is_named_whole(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for move, key, what in (
            ("down", "x", "login page · 51c0ffee"),
            ("down", "r", "py3.12 · r-port00"),
            ("down", "down", "cart · r-loop00"),
        ):
            await pressed(top, pilot, move, key, *(["s"] if key == "down" else []))
            assert isinstance(top.screen, ChoiceScreen)
            assert what in picture(top)
            await pressed(top, pilot, "escape")

    played(tmp_path, script)


@pytest.mark.whole
def test_resizing_keeps_the_selection_and_the_folds(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pressed(top, pilot, "enter", "home", "left", "end", "up", "up")
        before = _state(top)
        for size in ((80, 24), (50, 15), (160, 50)):
            await pilot.resize_terminal(*size)
            await settled(top, pilot)
            assert _state(top) == before
        assert "▸ ✓ check" in picture(top)

    played(tmp_path, script, (160, 50))


def _state(top: HandrailApp) -> Any:
    assert isinstance(top.screen, RunScreen)
    return top.screen.pane("tree").selected, dict(top.screen.folds)


@pytest.mark.whole
def test_escape_twice_never_stops_a_run(tmp_path: Path) -> None:
    scene = shop()
    scene.topic("run:r-7f3k2m").driver = 4711
    stopped: list[str] = []

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        async def stop(id_: str) -> None:
            stopped.append(id_)

        top.actions.stop = stop  # type: ignore[method-assign]
        await pressed(top, pilot, "enter", "escape")
        assert isinstance(top.screen, ChoiceScreen)
        assert top.screen.text.startswith("Stop ")
        await pressed(top, pilot, "escape")
        assert isinstance(top.screen, RunScreen)
        await pressed(top, pilot, "escape", "enter")
        assert stopped == []
        await pressed(top, pilot, "escape", "right", "enter")
        await _until(lambda: bool(stopped))

    played(tmp_path, script, scene=scene)
    assert stopped == ["r-7f3k2m"]


def test_quitting_asks_only_if_runs_that_were_launched_here_go_on(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.launched_runs |= {"r-loop00", "r-audit0", "r-hello0"}
        await pressed(top, pilot, "q")
        assert isinstance(top.screen, QuitScreen)
        await pressed(top, pilot, "escape")
        assert isinstance(top.screen, HomeScreen)
        top.launched_runs.clear()
        await pilot.press("q")
        assert not top.is_running or top._exit

    assert played(tmp_path, script).bug is None


@pytest.mark.parametrize("status", ["cancelled", "done"])
def test_a_workflow_that_is_over_cannot_be_cancelled(tmp_path: Path, status: str) -> None:
    scene = Scene()
    entry(scene, "session:old", "recent", 0, name="Old", status=status, ended=NOW - 60)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        assert "cancel…" not in picture(top)
        await pressed(top, pilot, "x")
        assert isinstance(top.screen, HomeScreen)
        assert "Old is over" in picture(top)

    assert played(tmp_path, script, scene=scene).bug is None


ASKS = "phases: [{id: ask, steps: [{id: go, node: approve, params: {question: Ship it?}}]}]"


@pytest.mark.parametrize(("keys", "status"), [(("enter",), "waiting"), (("right", "enter"), "cancelled")])
def test_quitting_leaves_runs_or_stops_them(project: Project, keys: tuple[str, ...], status: str) -> None:
    project.write(".handrail/flows/ship.yaml", ASKS)
    run = project.json("run", "ship", code=4)["run"]

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        top.launched_runs.add(run)
        await pilot.press("q")
        assert isinstance(top.screen, QuitScreen)
        await pilot.press(*keys)
        await until(top, pilot, lambda top: top._exit)

    assert shown(project, script).bug is None
    assert project.json("runs", run)["status"] == status


def test_keys_views_and_answers_can_be_clicked(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        async def click(bar: str, text: str) -> None:
            at = "".join(piece.text for piece in top.screen.query_one(bar, Bar).pieces).index(text)
            await pilot.click(bar, offset=(at, 0))
            await settled(top, pilot)

        top.open("run:r-7f3k2m")
        await settled(top, pilot)
        await click("#tabs", "5 Checks")
        assert isinstance(top.screen, RunScreen)
        assert top.screen.view == 5
        top.launched_runs.add("r-loop00")
        await click("#keys", "q quit")
        assert isinstance(top.screen, QuitScreen)
        await click("#answers", "Stay")
        assert isinstance(top.screen, RunScreen)

    assert played(tmp_path, script, (160, 50)).bug is None


def test_text_of_agents_is_never_markup(tmp_path: Path) -> None:
    scene = shop()
    hostile = "[@click=app.quit]go[/] [red]x[/red] \\[b] [link=http://x]l[/link]"
    entry(scene, "run:r-evil00", "recent", 9, name="[bold]evil[/]", about=hostile, status="failed", ended=NOW,
          why={"path": None, "code": "x", "message": hostile})  # fmt: skip

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        text = picture(top)
        assert "[bold]evil[/]" in text
        assert "[@click=app.quit]go[/]" in text
        await pilot.click(offset=(40, 20))

    assert played(tmp_path, script, (160, 50), scene).bug is None


@pytest.mark.whole
def test_finding_goes_from_match_to_match(tmp_path: Path) -> None:
    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        listing = top.screen.query_one("#entries", Listing)
        await pressed(top, pilot, "slash", "R", "E", "L", "E", "A", "S", "E", "enter")
        assert listing.selected == "run:r-rel110"
        await pressed(top, pilot, "n")
        assert listing.selected == "run:r-7f3k2m"
        await pressed(top, pilot, "N")
        assert listing.selected == "run:r-rel110"
        await pressed(top, pilot, "escape")
        assert isinstance(top.screen, HomeScreen)

    played(tmp_path, script)


def test_a_slow_terminal_is_drawn_less_often() -> None:
    pace = Pace()
    pace.begin(10.0)
    assert pace.wait(10.0) == pytest.approx(0.2)
    for took, interval in ((0.05, 0.2), (0.3, 0.4), (0.3, 0.8), (0.3, 1.0), (0.3, 1.0)):
        pace.note_duration(took)
        assert pace.interval == pytest.approx(interval)


async def _until(holds: Any) -> None:
    for _ in range(300):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")
