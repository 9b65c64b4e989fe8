"""A guided session: its phases with gate and exit checks, and what the agent was denied."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual.widget import Widget

from handrail.source.output_text import clean
from handrail.tui import keys
from handrail.tui.decisions import answer_question, cancel_session, is_asked, mark_opened, reload_session, try_action
from handrail.tui.frame import TWO_PANES, Views, bindings_of
from handrail.tui.lines.run import check_lines
from handrail.tui.lines.session import denial_lines, last_words, move_lines, phase_lines, session_head
from handrail.tui.lines.words import Piece, TextLine, line, wrapped
from handrail.tui.log import LogScreen
from handrail.tui.reader import ReaderScreen
from handrail.tui.widgets import Bar, Listing
from handrail.view.live.session import text_of_phase

PHASES, CHECKS, MOVES, DENIED, CONTEXT, LOG = range(1, 7)
NAMES = ("Phases", "Checks", "Moves", "Denied", "Context", "Log")


class SessionScreen(Views):
    """One session."""

    TITLES = NAMES
    NAME = keys.SESSION
    BINDINGS = bindings_of(keys.SESSION)
    DEFAULT_CSS = """
    SessionScreen #side { display: none; }
    SessionScreen.-wide #side { display: block; border-left: solid $border-blurred; }
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.folds: dict[str, bool] = {}
        self.told = ""
        self._has_opened = False

    def panes(self) -> Iterable[Widget]:
        yield Listing("main")
        yield Listing("side")

    @property
    def notice(self) -> str:
        told = last_words(self.head, self.section("denials"), self.section("moves"), self.times)
        return self.top.news_on(self) or (f" ─ {told}" if told else self.top.standing)

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        self.set_class(width >= TWO_PANES, "-wide")
        self.query_one("#head", Bar).show(session_head(self.head, self.times, width))
        self._draw_tabs()
        main, side = self.query_one("#main", Listing), self.query_one("#side", Listing)
        shown = main.scrollable_content_region.width or width - 1
        main.show(list(self._lines(self.view, shown)), is_held=is_held)
        if not self._has_opened and self.section("stops"):
            self._has_opened = True
            if self.head.get("status") != "active":
                mark_opened(self.top, self.topic, is_seen=True)
            main.select(next((str(row["id"]) for row in self.section("stops") if row.get("state") == "current"), None))
        if self.has_class("-wide"):
            shown = side.scrollable_content_region.width or width // 2
            side.show(list(self._lines(DENIED if self.view == PHASES else PHASES, shown)))

    def _draw_tabs(self) -> None:
        counts = {MOVES: len(self.section("moves")), DENIED: len(self.section("denials"))}
        self.draw_tabs(counts)

    def _lines(self, view: int, width: int) -> Iterable[TextLine]:
        feed = self.feed
        if feed is None or not feed.is_ready:
            error = feed.error if feed is not None else None
            text = (
                "   reading the session …" if error is None else f" ! {self.id_there} cannot be read: {error.message}"
            )
            yield line(None, Piece(text, "dim" if error is None else "need"))
        elif view == CHECKS:
            names = {row.get("order"): row.get("name") for row in self.section("stops")}
            checks = [{**row, "node": [str(names.get(row.get("stop")))]} for row in self.section("checks")]
            yield from check_lines(checks, self.times, width)
        elif view == MOVES:
            yield from move_lines(self.section("moves"), self.section("stops"), self.times, width)
        elif view == DENIED:
            yield from denial_lines(self.section("denials"), self.times, width)
        elif view == CONTEXT:
            yield line(None, Piece(" what the agent is told now", "dim"))
            yield from (line(None, f" {text}") for text in wrapped(self.told, max(10, width - 2)))
        else:
            yield from phase_lines(
                self.section("stops"), self.section("checks"), self.folds, self.head, self.times, width
            )

    def open_view(self, number: int) -> None:
        if number == LOG:
            self.app.push_screen(LogScreen(self.topic, self.called))
            return
        self.view = number
        if number == CONTEXT:
            self._read_context()
        self.redraw()

    def _read_context(self) -> None:
        async def read() -> None:
            self.told = clean(await asyncio.to_thread(self.top.project.sessions.context, self.id_there))
            self.redraw()

        try_action(self.top, read)

    def is_usable(self, action: str) -> bool:
        is_active = self.head.get("status") == "active"
        if action == "answer":
            return is_asked(self.top) or any(not row.get("answered") for row in self.section("needs"))
        if action == "open":
            return self.view == PHASES
        return is_active if action in ("cancel_workflow", "reload") else super().is_usable(action)

    def action_fold(self) -> None:
        self._set_fold(is_folded=True)

    def action_unfold(self) -> None:
        self._set_fold(is_folded=False)

    def _set_fold(self, *, is_folded: bool) -> None:
        chosen = self.query_one("#main", Listing).selected if self.view == PHASES else None
        if chosen is not None:
            self.folds[chosen] = is_folded
            self.redraw()

    def action_open(self) -> None:
        """The text of the selected phase, as the agent gets it."""
        chosen = self.query_one("#main", Listing).selected if self.view == PHASES else None
        stop = next((row for row in self.section("stops") if row["id"] == chosen), None)
        if stop is None:
            return

        async def show() -> None:
            found = await asyncio.to_thread(text_of_phase, self.top.project, self.id_there, int(stop["order"]))
            lines = [line(None, f" {one}") for one in wrapped(found["text"], max(10, self.size.width - 3))]
            self.top.push_screen(ReaderScreen(f"{self.called} › {stop.get('name')}", lines))

        try_action(self.top, show)

    def action_answer(self) -> None:
        answer_question(self.top, self.topic)

    def action_cancel_workflow(self) -> None:
        cancel_session(self.top, self.id_there, self.called)

    def action_reload(self) -> None:
        reload_session(self.top, self.id_there, self.called)
