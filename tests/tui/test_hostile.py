"""What agents and files say is text in the terminal: it controls nothing, can be read, and is bounded."""

from __future__ import annotations

import base64
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.lines import words
from handrail.tui.reader import LARGEST, ReaderScreen
from handrail.tui.run import ARTIFACTS, TAIL, RunScreen
from handrail.tui.widgets import Listing
from handrail.view.text.columns import columns
from support import Project
from tui.scene import picture
from tui.shop import shown, until

HTML = "<script>alert(1)</script><img src=x onerror=alert(2)>[@click=app.quit]quit[/][red]red[/red]"
TERMINAL = (
    "\x1b[31mred\x1b[0m\x1b[2J \x1b]0;evil title\x07 \x1b]52;c;ZXZpbA==\x07\x1b]8;;http://evil.example\x07link\x1b]8;;\x07"
    " \x9b31mC1\x9b0m \x9d52;c;ZXZpbA==\x9c \u202eesrever\u202c \u2066isolate\u2069 \u200bzero \x08\x7f"
)
EVIL = f"{HTML} {TERMINAL} readable"
NAME = f"<img src=x onerror=a>[@click=app.quit]go[] {TERMINAL}.md".replace("/", "∕")
LONG = 10_000_000
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f]")
SIZE = (120, 30)
WRITES = """
import base64, sys
name = base64.b64decode(sys.argv[1]).decode()
text = base64.b64decode(sys.argv[2]).decode()
file = sys.stdout if name == "-" else open(name, "w", encoding="utf-8")
file.write(text * int(sys.argv[3]))
"""


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def makes(id_: str, name: str, text: str, times: int = 1) -> dict[str, Any]:
    """A step that makes a file."""
    argv = ["python3", "writes.py", coded(name), coded(text), str(times)]
    return {"id": id_, "node": "command", "params": {"argv": argv}, "makes": [name]}


def prints(id_: str, text: str, times: int = 1) -> dict[str, Any]:
    return {name: value for name, value in makes(id_, "-", text, times).items() if name != "makes"}


def ran(project: Project, *steps: dict[str, Any]) -> str:
    project.write("writes.py", WRITES)
    project.write(".handrail/flows/hostile.json", json.dumps({"phases": [{"id": "a", "steps": list(steps)}]}))
    run: str = project.json("run", "hostile")["run"]
    return run


def harmless(top: HandrailApp) -> str:
    """The screen, after a look at every line of it, also at those that are scrolled out of sight."""
    found = picture(top)
    assert HARMFUL.search(found) is None
    assert "evil title" not in found
    assert "ZXZpbA" not in found
    assert all(len(one) <= SIZE[0] for one in found.split("\n"))
    for listing in top.screen.query(Listing):
        assert all(HARMFUL.search(line.text) is None for line in listing.lines)
    return found


def size(top: HandrailApp) -> int:
    """How many characters all lists of the screen hold."""
    return sum(len(line.text) for listing in top.screen.query(Listing) for line in listing.lines)


def is_at(screen: type, top: HandrailApp) -> bool:
    return isinstance(top.screen, screen)


async def opened(top: HandrailApp, pilot: Pilot[None], view: int) -> None:
    """Open the only run, at a view, once that has something to show."""
    await pilot.press("enter")
    await until(top, pilot, partial(is_at, RunScreen), "the run")
    screen = top.screen
    assert isinstance(screen, RunScreen)
    await until(top, pilot, lambda _: screen.feed.is_ready)
    await pilot.press(str(view))
    await until(top, pilot, lambda _: bool(screen.pane("side").lines), "the view")


async def read(top: HandrailApp, pilot: Pilot[None]) -> None:
    """Open the selected line in the reader."""
    await pilot.press("enter")
    await until(top, pilot, partial(is_at, ReaderScreen), "the reader")


@pytest.mark.whole
def test_the_content_of_a_file_is_text(project: Project) -> None:
    ran(project, makes("write", "NOTES.md", f"{EVIL}\nsecond line\n"))

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        title = top.title
        await opened(top, pilot, ARTIFACTS)
        await read(top, pilot)
        found = harmless(top)
        assert "<script>alert(1)</script><img src=x onerror=alert(2)>[@click=app.quit]quit[/][red]red[/red]" in found
        assert "⟨U+202E⟩esrever⟨U+202C⟩" in found
        assert "⟨U+2066⟩isolate⟨U+2069⟩" in found
        assert "second line" in found
        await pilot.click(offset=(60, 2))
        assert is_at(ReaderScreen, top), "a click on the text of a file does nothing"
        assert (top.title, top.clipboard) == (title, "")
        await pilot.press("y")
        assert HARMFUL.search(top.clipboard.replace("\n", "")) is None

    assert shown(project, script, SIZE).bug is None


@pytest.mark.whole
def test_the_name_of_a_file_is_text(project: Project) -> None:
    ran(project, makes("write", NAME, "words"))

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot, ARTIFACTS)
        row = next(line for line in harmless(top).split("\n") if " v1 " in line)
        assert "5 B" in row, "the other columns are where they belong"
        for key in ("1", "2", "6"):
            await pilot.press(key)
            await pilot.pause()
            harmless(top)
        await pilot.press(str(ARTIFACTS))
        await read(top, pilot)
        found = harmless(top)
        assert "<img src=x onerror=a>[@click=app.quit]go[]" in found.split("\n")[0]
        assert "words" in found
        await pilot.press("b", "d")
        await until(top, pilot, lambda top: "`<img src=x onerror=a>" in picture(top), "there is no previous version")
        harmless(top)

    assert shown(project, script, SIZE).bug is None


@pytest.mark.whole
@pytest.mark.parametrize(("times", "holds"), [(LONG, "large"), (200_000, "more characters")])
def test_a_file_with_one_long_line_is_shown_in_part(project: Project, times: int, holds: str) -> None:
    ran(project, makes("write", "LONG.txt", "x", times))

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot, ARTIFACTS)
        await read(top, pilot)
        assert holds in harmless(top)
        assert size(top) < 4_000
        await pilot.press("b")
        await until(top, pilot, partial(is_at, RunScreen), "keys still work")

    assert shown(project, script, SIZE).bug is None


@pytest.mark.whole
@pytest.mark.parametrize("text", ["x", "é"])
def test_a_program_that_prints_one_long_line_is_shown_in_part(project: Project, text: str) -> None:
    ran(project, prints("loud", EVIL), prints("long", text, LONG))

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot, TAIL)
        found = harmless(top)
        assert "alert(1)" in found
        assert size(top) < 20_000
        for key in ("w", "3", "5", "6", "1"):
            await pilot.press(key)
            await pilot.pause()
            harmless(top)
            assert size(top) < 100_000
        for step in ("a/loud", "a/long"):
            top.screen.query_one("#tree", Listing).select(step)
            await read(top, pilot)
            harmless(top)
            assert size(top) < 2 * LARGEST
            await pilot.press("end", "b")
            await until(top, pilot, partial(is_at, RunScreen), "keys still work")
        await pilot.press("7")
        await until(top, pilot, lambda top: any(listing.lines for listing in top.screen.query(Listing)))
        harmless(top)
        assert size(top) < 100_000

    assert shown(project, script, SIZE).bug is None


@pytest.mark.whole
def test_of_two_versions_the_difference_is_text_and_is_not_cut_off(project: Project) -> None:
    wide = "word " * 60
    ran(project, makes("one", "NOTES.md", f"{wide}first end\n"), makes("two", "NOTES.md", f"{wide}{EVIL}\n"))

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot, ARTIFACTS)
        await pilot.press("end", "d")
        await until(top, pilot, partial(is_at, ReaderScreen), "the comparison")
        found = harmless(top)
        assert "first end" in found
        assert "readable" in found

    assert shown(project, script, SIZE).bug is None


def test_versions_with_very_many_lines_are_not_compared(project: Project) -> None:
    ran(project, makes("one", "MANY.txt", "x\n", 60_000), makes("two", "MANY.txt", "y\n", 60_000))

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot, ARTIFACTS)
        await pilot.press("end", "d")
        await until(top, pilot, lambda top: "so it is not compared" in picture(top), "the refusal")

    assert shown(project, script, SIZE).bug is None


@pytest.mark.whole
def test_a_link_in_the_place_of_a_file_is_not_followed(project: Project, tmp_path: Path) -> None:
    ran(project, makes("write", "NOTES.md", "words"))
    (content,) = (project.home / "state" / "artifacts").glob("*/*/content/*")
    outside = tmp_path / "outside.md"
    outside.write_text("words", encoding="utf-8")
    content.unlink()
    content.symlink_to(outside)
    notes = project.folder / "NOTES.md"
    notes.unlink()
    notes.symlink_to(outside)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot, ARTIFACTS)
        await pilot.press("enter")
        await until(top, pilot, lambda top: "is a link, not a file" in picture(top), "the refusal")
        assert is_at(RunScreen, top)
        await pilot.press("e")
        await until(top, pilot, lambda top: "`NOTES.md` is not in the project" in picture(top), "no editor")

    assert shown(project, script, SIZE).bug is None


def measured(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many characters were measured to break a text."""
    total = 0

    def measure(given: str) -> int:
        nonlocal total
        total += len(given)
        return columns(given)

    monkeypatch.setattr(words, "columns", measure)
    words.wrapped(text, 100)
    return total


@pytest.mark.whole
@pytest.mark.parametrize("text", ["é" * 100_000, "e\u0301" * 100_000, "\u0301" * 100_000, "wörter " * 20_000])
def test_breaking_a_long_line_takes_work_in_proportion_to_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(text, monkeypatch) < 20 * len(text)
    assert "".join(words.wrapped(text, 100)).replace(" ", "") == text.replace(" ", "")
