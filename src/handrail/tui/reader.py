"""A text on a screen of its own: a file that a step made, a comparison, a step, a phase."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Sequence

from textual.widget import Widget

from handrail.artifacts.shelf import Published
from handrail.errors import NotFound
from handrail.live.files import MOST_COMPARED
from handrail.live.steps import step_of
from handrail.source.clean import clean
from handrail.source.plain import plain
from handrail.state.files import real_inside
from handrail.topics.rows import Row
from handrail.tui import bindings
from handrail.tui.deciding import attempt
from handrail.tui.drawing.views import given_lines
from handrail.tui.drawing.words import Line, Piece, cell, line, wrapped
from handrail.tui.editor import edit_at
from handrail.tui.frame import Frame, bindings_of
from handrail.tui.listing import Bar, Listing
from handrail.tui.top import Top

LARGEST = 256 * 1024
MOST_LINES = 2_000
_STYLES = {"+": "done", "-": "fail", "@": "run"}


class ReaderScreen(Frame):
    """Lines to read. `path` is the file that `e` opens."""

    NAME = bindings.READER
    BINDINGS = bindings_of(bindings.READER)

    def __init__(self, title: str, lines: Sequence[Line], path: str = "") -> None:
        super().__init__()
        self.heading = plain(title)
        self.shown = [one._replace(id=None) for one in lines]
        self.path = path

    def panes(self) -> Iterable[Widget]:
        yield Listing("text")

    def draw(self, *, is_held: bool = False) -> None:
        del is_held
        self.query_one("#head", Bar).show((Piece(cell(self.heading, self.size.width), "bold"),))
        self.query_one("#text", Listing).show(self.shown)

    @property
    def goes_on(self) -> bool:
        return False

    def is_usable(self, action: str) -> bool:
        return action != "edit" or bool(self.path)

    def action_copy(self) -> None:
        self.top.copy_to_clipboard("\n".join(one.text for one in self.shown))
        self.top.tell("copied")

    def action_edit(self) -> None:
        if self.path:
            edit(self.top, self.path)


def _record(top: Top, run: str, id_: str) -> Published:
    found = next((one for one in top.project.runs.kept.records(run) if one.id == id_), None)
    if found is None:
        raise NotFound(f"`{id_}` is not kept any more")
    return found


def _text(top: Top, record: Published) -> str | None:
    """The content as text; None if it is large or not text."""
    content = top.project.runs.kept.content(record)
    try:
        return content.decode() if len(content) <= LARGEST else None
    except UnicodeDecodeError:
        return None


def _readable(text: str, width: int) -> list[Line]:
    """A text of a file in lines that are not wider than this."""
    return [line(None, f" {one}") for given in clean(text).split("\n") for one in wrapped(given, width)]


def _compared(texts: tuple[str, str], ids: tuple[str, str], width: int) -> list[Line]:
    """What is different, line by line. A line that is wider than this is broken."""
    old, new = (clean(text).split("\n") for text in texts)
    made = list(difflib.unified_diff(old, new, *ids, lineterm=""))[:MOST_LINES]
    found = ((one, _STYLES.get(one[:1], "")) for one in made)
    return [line(None, Piece(f" {part}", style)) for one, style in found for part in wrapped(one, width)]


def show_artifact(top: Top, run: str, row: Row, width: int) -> None:
    """Show a file as it was when it was made."""

    async def show() -> None:
        record = await asyncio.to_thread(_record, top, run, str(row["id"]))
        text = await asyncio.to_thread(_text, top, record)
        name = str(row.get("path") or row.get("name") or row["id"])
        if text is None:
            facts = (f"size    {row.get('size')}", f"sha256  {row.get('sha256')}", "It is large, or not text.")
            lines = [line(None, f" {fact}") for fact in facts]
        else:
            lines = await asyncio.to_thread(_readable, text, width)
        top.push_screen(ReaderScreen(name, lines, name))

    attempt(top, show)


def show_step(top: Top, run: str, path: str, title: str, lines: Sequence[Line], width: int) -> None:
    """Show a step: what is known of it, then what it was given, printed and returned."""

    async def show() -> None:
        found = await asyncio.to_thread(step_of, top.project.runs, run, path)
        top.push_screen(ReaderScreen(title, [*lines, *given_lines(found, top.times, width)]))

    attempt(top, show)


def show_diff(top: Top, row: Row, width: int) -> None:
    """Compare a file with its previous version."""

    async def show() -> None:
        records = await asyncio.to_thread(top.project.runs.kept.records)
        own = next((one for one in records if one.id == row["id"]), None)
        earlier = [
            one for one in records if own is not None and one.path == row.get("path") and one.created < own.created
        ]
        if own is None or not earlier:
            top.tell(f"`{row.get('path')}` has no previous version")
            return
        old, new = [await asyncio.to_thread(_text, top, one) for one in (earlier[-1], own)]
        if old is None or new is None or max(old.count("\n"), new.count("\n")) > MOST_COMPARED:
            top.tell(f"`{row.get('path')}` is large or not text, so it is not compared")
            return
        lines = await asyncio.to_thread(_compared, (old, new), (earlier[-1].id, own.id), width)
        top.push_screen(
            ReaderScreen(f"{row.get('path')}: changes", lines or [line(None, " no difference")], str(row.get("path")))
        )

    attempt(top, show)


def edit(top: Top, path: str) -> None:
    """Open a file of the project in the editor of the person."""
    real = real_inside(top.project.folder, path)
    if real is None:
        top.tell(f"`{path}` is not in the project")
    else:
        edit_at(top, real)
