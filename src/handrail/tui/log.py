"""The log of a run or a session, with search. It is read when the screen opens, and then from where it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from textual.widget import Widget
from textual.widgets import Input

from handrail.base.errors import HandrailError
from handrail.driven.runs.run_events import masked_event
from handrail.guided.sessions.guide import whole_story
from handrail.source.output_text import clean
from handrail.tui import keys
from handrail.tui.frame import Frame, bindings_of
from handrail.tui.lines.run import AGENT, FACTS, STEPS, LogEntry, log_entries, log_lines
from handrail.tui.lines.words import Piece, cell, error_lines
from handrail.tui.widgets import Bar, Listing
from handrail.view.live.run import PRINTED
from handrail.view.text.columns import columns
from handrail.view.text.log import LOG_KINDS, Story, guided_lines

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
    BINDINGS = bindings_of(keys.LOG)

    def __init__(self, topic: str, called: str) -> None:
        super().__init__()
        self.topic = topic
        self.called = called
        self.kinds: tuple[str, ...] = USUAL
        self.entries: list[LogEntry] = []
        self.wraps = False
        self.error: HandrailError | None = None
        self._dropped = 0
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
                news = await asyncio.to_thread(self._read)
            except HandrailError as error:
                self.error = error
                self.redraw()
                return
            if news:
                entries = [*self.entries, *news]
                self._dropped += max(0, len(entries) - MOST)
                self.entries = entries[-MOST:]
                self.stale()
            await asyncio.sleep(AGAIN)

    def _read(self) -> list[LogEntry]:
        """The entries since the last call."""
        kind, _, id_ = self.topic.partition(":")
        if kind == "session":
            return list(self._told(id_))[self._dropped + len(self.entries) :]
        runs = self.top.project.runs
        if self._story is None:
            self._story = Story(runs.load(id_).plan, lambda _: "")
        records, self._offset = runs.events(id_, self._offset)
        entries = [*log_entries(self._story, ((at, masked_event(event)) for at, event in records)), *self._printed(id_)]
        return sorted(entries, key=lambda entry: entry.at)

    def _printed(self, id_: str) -> Iterator[LogEntry]:
        """What agents said and programs printed since the last call: that is in no journal."""
        lines, self._mark = self.top.project.runs.engine.activity(id_, self._mark)
        for one in lines:
            if one["kind"] in PRINTED:
                yield LogEntry(one["t"], AGENT, one["node"], f"{one['kind']}  {clean(one['text'])}")

    def _told(self, id_: str) -> Iterator[LogEntry]:
        """Everything that happened in a session."""
        for event in whole_story(self.top.project.sessions.session(id_)):
            kind = STEPS if event.kind in ("entered", "finished") else AGENT
            yield from (LogEntry(event.time, kind, "", text) for text in guided_lines(event))

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        found = f"find: {self.needle}  {self._position()}" if self.needle else ""
        left = f"log · {self.called} {self.topic.partition(':')[2]}"
        room = max(10, width - columns(found) - 2)
        self.query_one("#head", Bar).show((Piece(cell(left, room), "bold"), Piece(f" {found} ")))
        boxes = "  ".join(f"[{'x' if kind in self.kinds else ' '}] {kind}" for kind in LOG_KINDS)
        self.query_one("#tabs", Bar).show((Piece(f" {boxes}"),))
        if self.error is not None:
            self.lines.show(list(error_lines(self.error.message, [self.error.hint], width)))
            return
        entries = ((at, entry) for at, entry in enumerate(self.entries, self._dropped) if entry.kind in self.kinds)
        self.lines.show(list(log_lines(entries, self.times, self.lines.room(width), wraps=self.wraps)), is_held=is_held)
        if self._at_end and self.entries:
            self._at_end = False
            self.lines.move(MOST)

    def _position(self) -> str:
        needle = self.needle.casefold()
        matches = [one.id for one in self.lines.lines if one.id is not None and needle in one.text.casefold()]
        at = matches.index(self.lines.selected) + 1 if self.lines.selected in matches else 0
        return f"{at} of {len(matches)}"

    def on_listing_moved(self) -> None:
        if self.needle:
            self.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        del event
        self.call_after_refresh(self.redraw)

    @property
    def goes_on(self) -> bool:
        return False

    def action_open(self) -> None:
        chosen = self.lines.selected
        path = self.entries[int(chosen) - self._dropped].path if chosen is not None else ""
        if path and self.topic.startswith("run:"):
            self.dismiss(path)  # type: ignore[arg-type]  # a frame returns None, this one a path

    def action_kinds(self) -> None:
        """Show all kinds of lines, then one kind after another."""
        self.kinds = CHOICES[(CHOICES.index(self.kinds) + 1) % len(CHOICES)]
        self.redraw()

    def action_wrap(self) -> None:
        self.wraps = not self.wraps
        self.redraw()

    def action_copy(self) -> None:
        chosen = next((one.text.strip() for one in self.lines.lines if one.id == self.lines.selected), "")
        if chosen:
            self.top.copy_to_clipboard(chosen)
            self.top.tell("copied")
