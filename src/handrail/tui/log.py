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
from handrail.tui.lines.run import AGENT, FACTS, KINDS, STEPS, LogEntry, LogTeller, log_lines
from handrail.tui.lines.words import Piece, cell, error_lines
from handrail.tui.widgets import Bar, Listing
from handrail.view.live.run import PRINTED
from handrail.view.text.columns import columns
from handrail.view.text.log import guided_lines

AGAIN = 1.0
MOST = 20_000
"""Lines that are kept; the oldest are dropped first."""


class LogScreen(Frame):
    """Returns the path of a step if the person goes to it."""

    HAS_TABS = True
    NAME = keys.LOG
    BINDINGS = bindings_of(keys.LOG)

    def __init__(self, topic: str, called: str) -> None:
        super().__init__()
        self.topic = topic
        self.called = called
        self.kinds: list[str] = [kind for kind in KINDS if kind != FACTS]
        self.entries: list[LogEntry] = []
        self.wraps = False
        self.error: HandrailError | None = None
        self._offset = 0
        self._mark: Any = None
        self._count = 0
        self._teller: LogTeller | None = None
        self._at_end = True

    def panes(self) -> Iterable[Widget]:
        yield Listing("lines")

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
                self.entries = [*self.entries, *news][-MOST:]
                self.stale()
            await asyncio.sleep(AGAIN)

    def _read(self) -> list[LogEntry]:
        kind, _, id_ = self.topic.partition(":")
        if kind == "session":
            return self._read_session(id_)
        runs = self.top.project.runs
        if self._teller is None:
            self._teller = LogTeller(runs.load(id_).plan)
        records, self._offset = runs.events(id_, self._offset)
        found = [*self._teller.entries((at, masked_event(event)) for at, event in records), *self._printed(id_)]
        found.sort(key=lambda entry: entry.at)
        self._count += len(found)
        first = self._count - len(found) + 1
        return [entry._replace(number=number) for number, entry in enumerate(found, first)]

    def _printed(self, id_: str) -> Iterator[LogEntry]:
        """What agents said and programs printed since the last call: that is in no journal."""
        lines, self._mark = self.top.project.runs.engine.activity(id_, self._mark)
        for one in lines:
            if one["kind"] in PRINTED:
                yield LogEntry(0, one["t"], AGENT, one["node"], f"{one['kind']}  {clean(one['text'])}")

    def _read_session(self, id_: str) -> list[LogEntry]:
        story = whole_story(self.top.project.sessions.session(id_))
        found: list[LogEntry] = []
        for event in story:
            kind = STEPS if event.kind in ("entered", "finished") else AGENT
            for text in guided_lines(event):
                found.append(LogEntry(len(found) + 1, event.time, kind, "", text))
        return found[len(self.entries) :]

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        found = f"find: {self.needle}  {self._position()}" if self.needle else ""
        left = f"log · {self.called} {self.topic.partition(':')[2]}"
        room = max(10, width - columns(found) - 2)
        self.query_one("#head", Bar).show((Piece(cell(left, room), "bold"), Piece(f" {found} ")))
        boxes = "  ".join(f"[{'x' if kind in self.kinds else ' '}] {kind}" for kind in KINDS)
        self.query_one("#tabs", Bar).show((Piece(f" {boxes}"),))
        listing = self.query_one("#lines", Listing)
        if self.error is not None:
            listing.show(list(error_lines(self.error.message, [self.error.hint], width)))
            return
        lines = log_lines(self.entries, self.kinds, self.times, listing.room(width), wraps=self.wraps)
        listing.show(list(lines), is_held=is_held)
        if self._at_end and self.entries:
            self._at_end = False
            listing.move(MOST)

    def _position(self) -> str:
        listing = self.query_one("#lines", Listing)
        needle = self.needle.casefold()
        matches = [one.id for one in listing.lines if one.id is not None and needle in one.text.casefold()]
        at = matches.index(listing.selected) + 1 if listing.selected in matches else 0
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
        chosen = self.query_one("#lines", Listing).selected
        path = next((entry.path for entry in self.entries if str(entry.number) == chosen), "")
        if path and self.topic.startswith("run:"):
            self.dismiss(path)  # type: ignore[arg-type]  # a frame returns None, this one a path

    def action_kinds(self) -> None:
        """Show one kind after another, then all: steps, agent, people, checks, facts."""
        usual = [kind for kind in KINDS if kind != FACTS]
        if self.kinds == usual:
            self.kinds = list(KINDS)
        elif len(self.kinds) == 1 and self.kinds[0] != KINDS[-1]:
            self.kinds = [KINDS[KINDS.index(self.kinds[0]) + 1]]
        else:
            self.kinds = [KINDS[0]] if len(self.kinds) == len(KINDS) else usual
        self.redraw()

    def action_wrap(self) -> None:
        self.wraps = not self.wraps
        self.redraw()

    def action_copy(self) -> None:
        listing = self.query_one("#lines", Listing)
        chosen = next((one.text.strip() for one in listing.lines if one.id == listing.selected), "")
        if chosen:
            self.top.copy_to_clipboard(chosen)
            self.top.tell("copied")
