"""Texts on a screen of their own: the log of a run or a session; a file, a comparison, a step, a phase. And the editor.

The log is read when its screen opens, and then from where it ended. The command of the editor is a list of arguments;
no shell is involved.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported
from textual.widget import Widget
from textual.widgets import Input

from handrail.base.errors import HandrailError
from handrail.base.files import real_inside
from handrail.base.processes import run_in_terminal
from handrail.driven.runs.run_events import masked_records
from handrail.guided.sessions.guide import SessionFollower
from handrail.source.output_text import clean
from handrail.source.plain_text import plain
from handrail.tui import keys
from handrail.tui.decisions import try_action
from handrail.tui.frame import Frame, bindings_of
from handrail.tui.lines.run import AGENT, FACTS, STEPS, LogEntry, log_entries, log_lines, try_lines
from handrail.tui.lines.words import Piece, TextLine, cell, error_lines, line, wrapped
from handrail.tui.widgets import Bar, Listing
from handrail.view.live import artifacts
from handrail.view.live.run import PRINTED, step_of
from handrail.view.rows.rows import Row
from handrail.view.text.columns import columns
from handrail.view.text.log import LOG_KINDS, Story, guided_lines

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

_COLON = ("hx", "helix", "subl", "zed")
_GOTO = ("code", "code-insiders", "codium")


def editor_command(editor: str, path: str, number: int | None) -> list[str]:
    """The command that opens a file, at a line. An unknown editor gets `+LINE`, as most of them understand it."""
    words = shlex.split(editor)
    if number is None:
        return [*words, path]
    name = os.path.basename(words[0]) if words else ""
    if name in _GOTO:
        return [*words, "--wait", "--goto", f"{path}:{number}"]
    return [*words, f"{path}:{number}"] if name in _COLON else [*words, f"+{number}", path]


def edit_at(top: HandrailApp, path: str, number: int | None = None) -> None:
    """Open a file of the project, at a line. The screen comes back afterwards."""
    editor = top.project.env.get("VISUAL") or top.project.env.get("EDITOR") or ""
    real = os.path.join(top.project.project, path)
    try:
        command: Sequence[str] = editor_command(editor, real, number)
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
    COUNTS = False
    BINDINGS = bindings_of(keys.READER)

    def __init__(self, title: str, lines: Sequence[TextLine], path: str = "") -> None:
        super().__init__()
        self.heading = plain(title)
        self.lines = [one._replace(id=None) for one in lines]
        self.path = path

    def panes(self) -> Iterable[Widget]:
        yield Listing("text")

    def draw(self, *, is_held: bool = False) -> None:
        del is_held
        self.query_one("#head", Bar).show((Piece(cell(self.heading, self.size.width), "bold"),))
        self.query_one("#text", Listing).show(self.lines)

    def is_usable(self, action: str) -> bool:
        return action != "edit" or bool(self.path)

    def action_copy(self) -> None:
        self.top.copy_to_clipboard("\n".join(one.text for one in self.lines))
        self.top.tell("copied")

    def action_edit(self) -> None:
        if self.path:
            edit_file(self.top, self.path)


def show_artifact(top: HandrailApp, row: Row, width: int) -> None:
    """Show a file as it was when it was made."""

    async def show() -> None:
        text = await asyncio.to_thread(artifacts.text_of, top.project.runs.shelves, str(row["id"]))
        name = str(row.get("path") or row.get("name") or row["id"])
        if text is None:
            text = f"size    {row.get('size')}\nsha256  {row.get('sha256')}\nIt is large, or not text."
        top.push_screen(ReaderScreen(name, [line(None, f" {part}") for part in wrapped(clean(text), width)], name))

    try_action(top, show)


def show_step(top: HandrailApp, run: str, path: str, title: str, lines: Sequence[TextLine], width: int) -> None:
    """Show a step: what is known of it, then what it was given, printed and returned."""

    async def show() -> None:
        step = await asyncio.to_thread(step_of, top.project.runs, run, path)
        top.push_screen(ReaderScreen(title, [*lines, *try_lines(step, top.times, width)]))

    try_action(top, show)


def show_diff(top: HandrailApp, row: Row, width: int) -> None:
    """Compare a file with its previous version. A line that is wider than this is broken."""

    async def show() -> None:
        diff = await asyncio.to_thread(artifacts.diff, top.project.runs.shelves, str(row["id"]))
        path = str(row.get("path"))
        if diff["previous"] is None:
            top.tell(f"`{path}` has no previous version")
        elif diff["lines"] is None:
            top.tell(f"`{path}` is large or not text, so it is not compared")
        else:
            versions = [("---", diff["previous"]), ("+++", diff["id"])] if diff["lines"] else []
            changes = [(f"{sign} {version}", "dim") for sign, version in versions]
            changes += [(one["sign"] + one["text"], _STYLES.get(one["sign"], "")) for one in diff["lines"]]
            lines = [line(None, Piece(f" {part}", style)) for text, style in changes for part in wrapped(text, width)]
            top.push_screen(ReaderScreen(f"{path}: changes", lines or [line(None, " no difference")], path))

    try_action(top, show)


def edit_file(top: HandrailApp, path: str) -> None:
    """Open a file of the project in the editor of the person."""
    if (real := real_inside(top.project.folder, path)) is None:
        top.tell(f"`{path}` is not in the project")
    else:
        edit_at(top, real)


AGAIN = 1.0
MOST = 20_000
"""Lines that are kept; the oldest are dropped first."""
USUAL = tuple(kind for kind in LOG_KINDS if kind != FACTS)
CHOICES = (USUAL, LOG_KINDS, *((kind,) for kind in LOG_KINDS))
"""The kinds of lines that are shown: a key goes from one choice to the next."""


class LogScreen(Frame):
    """Returns the path of a step if the person goes to it."""

    HAS_TABS = True
    NAME = keys.LOG
    COUNTS = False
    BINDINGS = bindings_of(keys.LOG)

    def __init__(self, topic: str, topic_name: str) -> None:
        super().__init__()
        self.topic = topic
        self.topic_name = topic_name
        self.kinds: tuple[str, ...] = USUAL
        self.entries: list[LogEntry] = []
        self.error: HandrailError | None = None
        self._dropped_count = 0
        self._offset = 0
        self._mark: Any = None
        self._story: Story | None = None
        self._at_end = True

    def panes(self) -> Iterable[Widget]:
        yield Listing("lines")

    @property
    def lines(self) -> Listing:
        return self.query_one("#lines", Listing)

    def on_mount(self) -> None:
        self.run_worker(self._follow())

    async def _follow(self) -> None:
        while True:
            try:
                news = await asyncio.to_thread(self._read_entries)
            except HandrailError as error:
                self.error = error
                self.redraw()
                return
            if news:
                entries = [*self.entries, *news]
                self._dropped_count += max(0, len(entries) - MOST)
                self.entries = entries[-MOST:]
                self.mark_stale()
            await asyncio.sleep(AGAIN)

    def _read_entries(self) -> list[LogEntry]:
        """The entries since the last call."""
        kind, _, id_ = self.topic.partition(":")
        if kind == "session":
            return list(self._session_entries(id_))[self._dropped_count + len(self.entries) :]
        runs = self.top.project.runs
        if self._story is None:
            self._story = Story(runs.load(id_).plan, lambda _: "")
        records, self._offset = runs.events(id_, self._offset)
        # In one millisecond, what a step printed comes before its end, as on the page.
        entries = [*self._printed_entries(id_), *log_entries(self._story, masked_records(records))]
        return sorted(entries, key=lambda entry: entry.at)

    def _printed_entries(self, id_: str) -> Iterator[LogEntry]:
        """What agents said and programs printed since the last call. No journal has it."""
        lines, self._mark = self.top.project.runs.engine.activity(id_, self._mark)
        for one in lines:
            if one["kind"] in PRINTED:
                yield LogEntry(one["t"], AGENT, one["node"], f"{one['kind']}  {clean(one['text'])}")

    def _session_entries(self, id_: str) -> Iterator[LogEntry]:
        """Everything that happened in a session."""
        for event in SessionFollower(self.top.project.sessions.session(id_))():
            kind = STEPS if event.kind in ("entered", "finished") else AGENT
            yield from (LogEntry(event.time, kind, "", text) for text in guided_lines(event))

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        search_words = f"find: {self.needle}  {self._position()}" if self.needle else ""
        title = f"log · {self.topic_name} {self.topic.partition(':')[2]}"
        room = max(10, width - columns(search_words) - 2)
        self.query_one("#head", Bar).show((Piece(cell(title, room), "bold"), Piece(f" {search_words} ")))
        boxes = "  ".join(f"[{'x' if kind in self.kinds else ' '}] {kind}" for kind in LOG_KINDS)
        self.query_one("#tabs", Bar).show((Piece(f" {boxes}"),))
        if self.error is not None:
            self.lines.show(list(error_lines(self.error.message, [self.error.hint], width)))
            return
        numbered = enumerate(self.entries, self._dropped_count)
        entries = ((number, entry) for number, entry in numbered if entry.kind in self.kinds)
        self.lines.show(list(log_lines(entries, self.times, self.lines.room(width), wraps=self.wraps)), is_held=is_held)
        if self._at_end and self.entries:
            self._at_end = False
            self.lines.move(MOST)

    def _position(self) -> str:
        needle = self.needle.casefold()
        matches = [one.id for one in self.lines.lines if one.id is not None and needle in one.text.casefold()]
        number = matches.index(self.lines.selected) + 1 if self.lines.selected in matches else 0
        return f"{number} of {len(matches)}"

    def on_listing_moved(self) -> None:
        if self.needle:
            self.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        del event
        self.call_after_refresh(self.redraw)

    def action_open(self) -> None:
        selected_id = self.lines.selected
        place = int(selected_id) - self._dropped_count if selected_id is not None else -1
        path = self.entries[place].path if place >= 0 else ""  # a line on the screen may be dropped already
        if path and self.topic.startswith("run:"):
            self.dismiss(path)  # type: ignore[arg-type]  # a frame returns None, this one a path

    def action_kinds(self) -> None:
        """Show all kinds of lines, then one kind after another."""
        self.kinds = CHOICES[(CHOICES.index(self.kinds) + 1) % len(CHOICES)]
        self.redraw()

    def action_copy(self) -> None:
        text = next((one.text.strip() for one in self.lines.lines if one.id == self.lines.selected), "")
        if text:
            self.top.copy_to_clipboard(text)
            self.top.tell("copied")
