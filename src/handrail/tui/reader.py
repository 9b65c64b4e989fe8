"""A text on a screen of its own: a file that a step made, a comparison, a step, a phase. Also opens the editor.

The command of the editor is a list of arguments; no shell is involved.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported
from textual.widget import Widget

from handrail.base.errors import HandrailError
from handrail.base.files import real_inside
from handrail.base.processes import run_in_terminal
from handrail.source.output_text import clean
from handrail.source.plain_text import plain
from handrail.tui import keys
from handrail.tui.decisions import try_action
from handrail.tui.frame import Frame, bindings_of
from handrail.tui.lines.run import given_lines
from handrail.tui.lines.words import Piece, TextLine, cell, line, wrapped
from handrail.tui.widgets import Bar, Listing
from handrail.view.live import artifacts
from handrail.view.live.run import step_of
from handrail.view.rows.rows import Row

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

_COLON = ("hx", "helix", "subl", "zed")
_GOTO = ("code", "code-insiders", "codium")


def editor_command(editor: str, path: str, at: int | None) -> list[str]:
    """The command that opens a file, at a line. An unknown editor gets `+LINE`, as most of them understand it."""
    words = shlex.split(editor)
    if at is None:
        return [*words, path]
    name = os.path.basename(words[0]) if words else ""
    if name in _GOTO:
        return [*words, "--wait", "--goto", f"{path}:{at}"]
    return [*words, f"{path}:{at}"] if name in _COLON else [*words, f"+{at}", path]


def edit_at(top: HandrailApp, path: str, at: int | None = None) -> None:
    """Open a file of the project, at a line. The screen comes back afterwards."""
    editor = top.project.env.get("VISUAL") or top.project.env.get("EDITOR") or ""
    real = os.path.join(top.project.project, path)
    try:
        command: Sequence[str] = editor_command(editor, real, at)
    except ValueError:
        top.tell("✗ EDITOR has a quote that is not closed")
        return
    if not editor.strip():
        top.tell("set EDITOR to open files")
    elif not os.path.isfile(real):
        top.tell(f"`{path}` is not there any more")
    else:
        try:
            with top.suspend():
                run_in_terminal(command, top.project.project)
        except SuspendNotSupported:
            top.tell("✗ this terminal cannot be left for an editor")
        except (OSError, HandrailError) as error:
            top.tell(f"✗ `{command[0]}` could not be started: {error}")


LARGEST = 256 * 1024
_STYLES = {"+": "done", "-": "fail", "@": "run"}


class ReaderScreen(Frame):
    """Lines to read. `path` is the file that `e` opens."""

    NAME = keys.READER
    BINDINGS = bindings_of(keys.READER)

    def __init__(self, title: str, lines: Sequence[TextLine], path: str = "") -> None:
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
            edit_file(self.top, self.path)


def show_artifact(top: HandrailApp, row: Row, width: int) -> None:
    """Show a file as it was when it was made."""

    async def show() -> None:
        text = await asyncio.to_thread(artifacts.text_of, top.project.runs.kept, str(row["id"]))
        name = str(row.get("path") or row.get("name") or row["id"])
        if text is None:
            text = f"size    {row.get('size')}\nsha256  {row.get('sha256')}\nIt is large, or not text."
        top.push_screen(ReaderScreen(name, [line(None, f" {part}") for part in wrapped(clean(text), width)], name))

    try_action(top, show)


def show_step(top: HandrailApp, run: str, path: str, title: str, lines: Sequence[TextLine], width: int) -> None:
    """Show a step: what is known of it, then what it was given, printed and returned."""

    async def show() -> None:
        found = await asyncio.to_thread(step_of, top.project.runs, run, path)
        top.push_screen(ReaderScreen(title, [*lines, *given_lines(found, top.times, width)]))

    try_action(top, show)


def show_diff(top: HandrailApp, row: Row, width: int) -> None:
    """Compare a file with its previous version. A line that is wider than this is broken."""

    async def show() -> None:
        found = await asyncio.to_thread(artifacts.diff, top.project.runs.kept, str(row["id"]))
        path = str(row.get("path"))
        if found["previous"] is None:
            top.tell(f"`{path}` has no previous version")
        elif found["lines"] is None:
            top.tell(f"`{path}` is large or not text, so it is not compared")
        else:
            changes = ((one["sign"] + one["text"], _STYLES.get(one["sign"], "")) for one in found["lines"])
            lines = [line(None, Piece(f" {part}", style)) for text, style in changes for part in wrapped(text, width)]
            top.push_screen(ReaderScreen(f"{path}: changes", lines or [line(None, " no difference")], path))

    try_action(top, show)


def edit_file(top: HandrailApp, path: str) -> None:
    """Open a file of the project in the editor of the person."""
    real = real_inside(top.project.folder, path)
    if real is None:
        top.tell(f"`{path}` is not in the project")
    else:
        edit_at(top, real)
