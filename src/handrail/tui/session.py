"""A guided session: its phases with gate and exit checks, and what the agent was denied."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual.widget import Widget

from handrail.source.output_text import clean
from handrail.tui import keys
from handrail.tui.decisions import cancel_session, go_to_phase, mark_opened, reload_session, try_action
from handrail.tui.frame import Views, bindings_of
from handrail.tui.lines.run import check_lines
from handrail.tui.lines.session import denial_lines, last_words, move_lines, phase_lines, session_head
from handrail.tui.lines.words import Piece, TextLine, line, wrapped
from handrail.tui.reader import LogScreen, ReaderScreen
from handrail.tui.widgets import Bar, Listing
from handrail.view.live.session import text_of_phase
from handrail.view.rows.home import OPEN
from handrail.view.rows.rows import Row

PHASES, CHECKS, MOVES, DENIED, CONTEXT, LOG = range(1, 7)


class SessionScreen(Views):
    TITLES = ("Phases", "Checks", "Moves", "Denied", "Context", "Log")
    NAME = keys.SESSION
    BINDINGS = bindings_of(keys.SESSION)
    DEFAULT_CSS = """
    SessionScreen #side { display: none; }
    SessionScreen.-wide #side { display: block; border-left: solid $border-blurred; }
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.context = ""
        self._has_opened = False

    def panes(self) -> Iterable[Widget]:
        yield Listing("main")
        yield Listing("side")

    @property
    def notice(self) -> str:
        words = last_words(self.head, self.section("denials"), self.section("moves"), self.times)
        return self.top.news_on(self) or (f" ─ {words}" if words else self.top.standing_notice)

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        self.query_one("#head", Bar).show(session_head(self.head, self.times, width))
        self.draw_tabs({MOVES: len(self.section("moves")), DENIED: len(self.section("denials"))})
        main, side = self.pane("main"), self.pane("side")
        main.show(list(self._lines(self.view, main.room(width))), is_held=is_held)
        if not self._has_opened and self.section("stops"):
            self._has_opened = True
            if self.head.get("status") not in OPEN:
                mark_opened(self.top, self.topic, is_seen=True)
            main.select(next((str(row["id"]) for row in self.section("stops") if row.get("state") == "current"), None))
        if self.has_class("-wide"):
            side.show(list(self._lines(DENIED if self.view == PHASES else PHASES, side.room(width // 2 + 1))))

    def _lines(self, view: int, width: int) -> Iterable[TextLine]:
        stops, checks, times = self.section("stops"), self.section("checks"), self.times
        if lines := self.instead("the session"):
            return lines
        if view == CHECKS:
            names = {row.get("order"): row.get("name") for row in stops}
            return check_lines([{**row, "node": [str(names.get(row.get("stop")))]} for row in checks], times, width)
        if view == MOVES:
            return move_lines(self.section("moves"), stops, times, width)
        if view == DENIED:
            return denial_lines(self.section("denials"), times, width)
        if view == CONTEXT:
            text = (line(None, f" {part}") for part in wrapped(self.context, max(10, width - 2)))
            return [line(None, Piece(" what the agent is told now", "dim")), *text]
        return phase_lines(stops, checks, self.folds, self.head, times, width)

    def action_view(self, number: int) -> None:
        if number == LOG:
            self.app.push_screen(LogScreen(self.topic, self.topic_name))
            return
        self.view = number
        if number == CONTEXT:
            self._read_context()
        self.redraw()

    def _read_context(self) -> None:
        async def read_text() -> None:
            self.context = clean(await asyncio.to_thread(self.top.project.sessions.context, self.id_there))
            self.redraw()

        try_action(self.top, read_text)

    def is_usable(self, action: str) -> bool:
        if action == "open":
            return self.view == PHASES
        if action in ("cancel_workflow", "reload", "go_to"):
            return self.head.get("status") in OPEN and (action != "go_to" or self.view == PHASES)
        return super().is_usable(action)

    @property
    def _phase(self) -> str | None:
        return self.pane("main").selected if self.view == PHASES else None

    def action_fold(self, is_folded: bool) -> None:
        if self._phase is not None:
            self.folds[self._phase] = is_folded
            self.redraw()

    def _selected_stop(self) -> Row | None:
        return next((row for row in self.section("stops") if row["id"] == self._phase), None)

    def action_open(self) -> None:
        """The text of the selected phase, as the agent gets it."""
        stop = self._selected_stop()
        if stop is None:
            return

        async def show() -> None:
            phase = await asyncio.to_thread(text_of_phase, self.top.project, self.id_there, int(stop["order"]))
            lines = [line(None, f" {one}") for one in wrapped(phase["text"], max(10, self.size.width - 3))]
            self.top.push_screen(ReaderScreen(f"{self.topic_name} › {stop.get('name')}", lines))

        try_action(self.top, show)

    def action_cancel_workflow(self) -> None:
        cancel_session(self.top, self.id_there, self.head)

    def action_go_to(self) -> None:
        if (stop := self._selected_stop()) is not None:
            go_to_phase(self.top, self.id_there, self.head, stop)

    def action_reload(self) -> None:
        reload_session(self.top, self.id_there, self.head)
