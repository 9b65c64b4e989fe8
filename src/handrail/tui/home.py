"""Home: everything in the project, what needs a person first. From 100 columns on, the selected one is shown beside."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.worker import Worker

from handrail.source.output_text import clean
from handrail.tui import decisions, keys
from handrail.tui.context import Feed
from handrail.tui.frame import TWO_PANES, Frame, bindings_of
from handrail.tui.lines.home import OLDER, group_counts, home_lines, run_detail, session_detail
from handrail.tui.lines.words import OVER, Piece, TextLine, cell, rule
from handrail.tui.widgets import Bar, Listing
from handrail.view.live.home import LiveHome
from handrail.view.rows.home import OPEN
from handrail.view.rows.rows import Row
from handrail.view.text.columns import columns

SOON = 0.2
"""In seconds: the selection has to rest so long before its details are read."""
YOUNG = 60.0
"""In seconds: so long the age of a need is counted in seconds."""


class HomeScreen(Frame):
    NAME = keys.HOME
    BINDINGS = bindings_of(keys.HOME)
    DEFAULT_CSS = """
    HomeScreen #beside { display: none; width: 42%; }
    HomeScreen.-wide #beside { display: block; border-left: solid $border-blurred; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.older_rows: list[Row] = []
        self.side_feed: Feed | None = None
        self._worker: Worker[None] | None = None

    def panes(self) -> Iterable[Widget]:
        yield Listing("entries")
        yield Listing("beside")

    @property
    def entries(self) -> Listing:
        return self.query_one("#entries", Listing)

    @property
    def row(self) -> Row | None:
        """The selected run or session."""
        return next((row for row in self.listed_rows if row["id"] == self.entries.selected), None)

    @property
    def goes_on(self) -> bool:
        """True if something runs, or began to need a person within the last minute."""
        now = self.times.now
        return any(
            row.get("group") == "running"
            or (row.get("group") == "needs" and now - ((row.get("need") or row).get("since") or 0.0) < YOUNG)
            for row in self.top.entries
        )

    def draw(self, *, is_held: bool = False) -> None:
        top, width = self.top, self.size.width
        self._draw_head(width)
        lines = top.home.instead("the runs of this project", width)
        lines = lines or list(home_lines(self.listed_rows, self.times, self.entries.room(width), self._unlisted_count))
        self.entries.show(lines, is_held=is_held)
        if self.has_class("-wide"):
            self._follow()
            self.query_one("#beside", Listing).show(list(self._side_lines()))

    def _draw_head(self, width: int) -> None:
        top = self.top
        head = top.home.head
        name = clean(os.path.basename(top.project.project))
        branch = head.get("scope") if width >= TWO_PANES and head.get("branch") else head.get("branch")
        title = f"handrail  {name}" + (f" · {branch}" if branch else "")
        middle = group_counts(top.entries) if top.home.is_ready else ""
        clock = self.times.time_of_day(self.times.now)
        clock = clock if self.goes_on else clock[:5]
        trust = "" if top.is_trusted else " not trusted ·"
        used_width = columns(trust) + columns(middle) + columns(clock)
        room = max(0, min(width - used_width - 3, max(24, (width - columns(middle)) // 2)))
        gap = " " * max(1, width - room - used_width - 2)
        style = "need" if top.need_count else ""
        parts = (
            Piece(cell(title, room), "bold"),
            Piece(trust, "need"),
            Piece(f" {middle}", style),
            Piece(f"{gap}{clock} "),
        )
        self.query_one("#head", Bar).show(parts)

    def _follow(self) -> None:
        topic = self.entries.selected if self.row is not None else None
        if (self.side_feed.topic if self.side_feed else None) == topic:
            return
        if self._worker is not None:
            self._worker.cancel()
        self.side_feed = self._worker = None
        if topic is not None:
            self.side_feed = Feed(topic, self.mark_stale)
            self._worker = self.run_worker(self._rest_and_follow(self.side_feed))

    async def _rest_and_follow(self, feed: Feed) -> None:
        await asyncio.sleep(SOON)
        await feed.run(self.top.hub, self.top.project.clock)

    def _side_lines(self) -> Iterable[TextLine]:
        row, feed = self.row, self.side_feed
        width = self.query_one("#beside", Listing).room(41)
        if row is None or feed is None:
            return
        yield rule(f"{row.get('name')} {row.get('about') or ''}".strip(), width)
        if feed.error is not None:
            yield from feed.instead("", width)
        elif feed.is_ready and row.get("kind") == "run":
            yield from run_detail(feed.head, feed.section, feed.tail, self.times, width)
        elif feed.is_ready:
            yield from session_detail(feed.head, feed.section, self.times, width)

    def is_usable(self, action: str) -> bool:
        row = self.row or {}
        kind = row.get("kind")
        if action in ("again", "stop"):
            return kind == "run" and (action == "again" or row.get("status") not in OVER)
        if action == "answer":
            return decisions.is_asked(self.top)
        if action == "cancel_workflow":
            return kind == "session" and row.get("status") in OPEN
        return kind is not None if action == "open" else True

    def label(self, action: str) -> str:
        return decisions.resume_words((self.row or {}).get("modes") or ()) if action == "again" else ""

    @on(Listing.Moved)
    def _draw_selected(self) -> None:
        if self.has_class("-wide"):
            self.redraw()
        else:
            self._draw_keys()

    def action_open(self) -> None:
        if self.entries.selected == OLDER:
            self.action_older()
        elif self.entries.selected is not None:
            self.top.open(self.entries.selected)

    def action_answer(self) -> None:
        row = self.row
        decisions.answer_question(self.top, str(row["id"]) if row is not None and row.get("need") else None)

    def action_launch(self) -> None:
        if self.needle:
            self.action_find_again(1)
        else:
            self.action_catalog()

    def action_again(self) -> None:
        if row := self._selected("run"):
            decisions.run_again(self.top, _id(row), row)

    def action_stop(self) -> None:
        row = self._selected("run")
        if row is not None and row.get("status") in OVER:
            self.top.tell(f"{row.get('name')} is over")
        elif row is not None:
            decisions.stop_run(self.top, _id(row), row)

    def _selected(self, kind: str) -> Row | None:
        row = self.row
        if row is None or row.get("kind") != kind:
            self.top.tell(f"select a {kind} first")
            return None
        return row

    def action_cancel_workflow(self) -> None:
        if row := self._selected("session"):
            decisions.cancel_session(self.top, _id(row), row)

    def action_older(self) -> None:
        """Read the next hundred of what ended."""

        async def read_older() -> None:
            live = await asyncio.to_thread(LiveHome, self.top.project)
            after = str(self.older_rows[-1]["id"]) if self.older_rows else None
            self.older_rows += await asyncio.to_thread(live.topic.older, after)
            self.redraw()

        if self._unlisted_count:
            decisions.try_action(self.top, read_older)
        else:
            self.top.tell("nothing is older")

    @property
    def _unlisted_count(self) -> int:
        """How many ended ones are not listed."""
        return max(0, int(self.top.home.head.get("older") or 0) - len(self.older_rows))

    @property
    def listed_rows(self) -> list[Row]:
        """All rows that are listed. Those that were read with `o` come last."""
        entries = self.top.entries
        ids = {row["id"] for row in entries}
        return [*entries, *(row for row in self.older_rows if row["id"] not in ids)]

    def action_unread(self) -> None:
        row = self._selected("run")
        if row is not None and row.get("status") != "failed":
            self.top.tell(f"{row.get('name')} did not fail, so it cannot be marked as unread")
        elif row is not None:
            decisions.mark_opened(self.top, str(row["id"]), is_seen=False)
            self.top.tell(f"{row.get('name')} is marked as unread")

    def action_init(self) -> None:
        decisions.create_example(self.top)

    def action_escape(self) -> None:
        self.close_find()


def _id(row: Row) -> str:
    return str(row["id"]).partition(":")[2]
