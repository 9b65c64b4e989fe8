"""The application: follows the project, holds the screens, sends what a person decides. It never drives a run."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.filter import LineFilter

from handrail.app import App as Project
from handrail.base.errors import HandrailError
from handrail.settings.sections import may_ring
from handrail.source.output_text import clean
from handrail.tui.catalog import CatalogScreen
from handrail.tui.context import Feed, TerminalLook, local_time
from handrail.tui.decisions import LEAVE, STOP, QuitScreen
from handrail.tui.forms.questions import QuestionScreen
from handrail.tui.frame import Frame, NeedKey, News, need_key
from handrail.tui.home import HomeScreen
from handrail.tui.lines.home import rows_by_group
from handrail.tui.lines.words import OVER, Times
from handrail.tui.run import RunScreen
from handrail.tui.session import SessionScreen
from handrail.view.actions import Actions
from handrail.view.live.hub import Hub, LiveTopic, open_topic
from handrail.view.rows.rows import Row

BELLS_APART = 10.0
TWICE = 2.0
"""In seconds: Ctrl-C twice within this time quits at once."""
ENTRIES = "entries"


class HandrailApp(App[None], inherit_bindings=False):
    TITLE = "handrail"
    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { background: $background; }"
    BINDINGS = [Binding("ctrl+c", "interrupt", show=False, priority=True)]

    def __init__(
        self, project: Project, look: TerminalLook | None = None, topics: Callable[[str], LiveTopic] | None = None
    ) -> None:
        self.look = look or TerminalLook.of(project.env)
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self.project = project
        self.actions = Actions(project, "tui")
        self.hub = Hub(topics or partial(open_topic, project))
        self.home = Feed("home", self._home_changed)
        self.news: News | None = None
        self.launched_runs: set[str] = set()
        self._key_time = self._bell_time = self._interrupt_time = float("-inf")
        self._needs: set[NeedKey] | None = None
        self._title = ""

    def get_css_variables(self) -> dict[str, str]:
        """Frames and dividers have the colour of text: black, the theme's own, is not seen on black."""
        return {**super().get_css_variables(), "border-blurred": "ansi_default"}

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self.look.filters]

    @property
    def times(self) -> Times:
        return Times(self.project.clock(), local_time)

    @property
    def entries(self) -> list[Row]:
        return self.home.section(ENTRIES)

    @property
    def need_count(self) -> int:
        return len(rows_by_group(self.entries)["needs"])

    @property
    def is_trusted(self) -> bool:
        with contextlib.suppress(HandrailError):
            return self.project.trust.holds()
        return False

    def on_mount(self) -> None:
        self.push_screen(HomeScreen())
        self.run_worker(self.home.run(self.hub, self.project.clock))

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self._key_time = time.monotonic()
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Say that a key does nothing here. Keys that a field takes do not come here."""
        screen = self.screen
        if isinstance(screen, Frame) and screen.ignores(event.key):
            self.tell(f"`{event.character if event.is_printable else event.key}` does nothing here: ? shows the keys")

    def is_held(self, seconds: float) -> bool:
        """True if a key was pressed less than so many seconds ago. Lines must not move then."""
        return time.monotonic() - self._key_time < seconds

    def tell(self, text: str) -> None:
        """Show one line of news, with the time. It goes away by itself."""
        self._note(text)
        if isinstance(self.screen, Frame):
            self.screen.redraw()

    def _note(self, text: str, about: NeedKey | None = None) -> None:
        now = self.project.clock()
        frame = next((one for one in reversed(self.screen_stack) if isinstance(one, Frame)), None)
        self.news = News(f"{self.times.time_of_day(now)} {clean(text)}", now, frame, about)

    def news_on(self, screen: object) -> str:
        """The line of news of a screen; empty if there is none."""
        news, now = self.news, self.project.clock()
        return news.text if news is not None and news.is_shown(screen, now, self._needs or set()) else ""

    @property
    def standing_notice(self) -> str:
        """The notice of a screen without news."""
        return "only shows: an agent or a run started this" if self.project.is_leashed else ""

    def tell_refusal(self, error: HandrailError) -> None:
        self.tell(f"✗ {error.message}" + (f" ({error.hint})" if error.hint else ""))

    def _home_changed(self) -> None:
        groups = rows_by_group(self.entries)
        needs = {need_key(row) for row in groups["needs"]}
        old_needs = self._needs if self._needs is not None else needs
        self._needs = needs
        for row in groups["needs"]:
            if need_key(row) not in old_needs:
                self._announce(row)
        self._show_title(len(needs))
        if isinstance(self.screen, Frame):
            self.screen.mark_stale()

    def _announce(self, row: Row) -> None:
        question = (row.get("need") or {}).get("title")
        text = f"{row.get('name')} waits for you: {question}" if question else f"{row.get('name')}: {row.get('status')}"
        self._note(clean(text)[:120], need_key(row))
        now = time.monotonic()
        if now - self._bell_time >= BELLS_APART and may_ring(self.project.settings.notify):
            self._bell_time = now
            self.bell()
        if question and str(row["id"]).startswith("run:"):
            self.run_worker(self._send(str(row["id"]).removeprefix("run:")))

    async def _send(self, run: str) -> None:
        """Tell the person also by the other channels of the settings, unless another process did that first."""
        if self.project.settings.notify and not self.project.is_leashed:
            from handrail.project.notifications import Notifier

            with contextlib.suppress(HandrailError):
                await Notifier(self.project.runs).tell_needs(run)

    def _show_title(self, count: int) -> None:
        name = clean(os.path.basename(self.project.project))
        self.title = f"({count}) handrail {name}" if count else f"handrail {name}"
        if self.title != self._title and self.look.has_title and self._driver is not None and not self.is_headless:
            self._title = self.title
            self._driver.write(f"\x1b]2;{self.title}\x1b\\")

    async def action_interrupt(self) -> None:
        now = time.monotonic()
        if now - self._interrupt_time < TWICE:
            self.exit()
            return
        self._interrupt_time = now
        if isinstance(self.screen, QuestionScreen):
            self.screen.put_off()
            self.tell("what you typed is kept; Ctrl-C again quits")
        else:
            await self.leave()

    @property
    def open_runs(self) -> dict[str, Row]:
        """The runs that were launched here and are not over, with their rows on home."""
        rows = {str(row["id"]).removeprefix("run:"): row for row in self.entries}
        ids = sorted(self.launched_runs & rows.keys())
        return {id_: rows[id_] for id_ in ids if rows[id_].get("status") not in OVER}

    def open(self, topic: str) -> None:
        self.push_screen(_screen_of(topic))

    def neighbour(self, topic: str, by: int) -> None:
        groups = rows_by_group(self.entries)
        ids = [str(row["id"]) for rows in groups.values() for row in rows]
        if topic in ids and 0 <= ids.index(topic) + by < len(ids):
            self.switch_screen(_screen_of(ids[ids.index(topic) + by]))

    def launch(self, name: str) -> None:
        from handrail.tui.forms.launch import LaunchScreen

        self.push_screen(LaunchScreen(self.actions, name), self._open_launched)

    def _open_launched(self, run: str | None) -> None:
        if run:
            self.launched_runs.add(run)
            self.open(f"run:{run}")

    def catalog(self) -> None:
        self.push_screen(CatalogScreen())

    async def leave(self) -> None:
        """Quit. If runs that were launched here are not over, ask what to do with them."""
        runs = self.open_runs
        if not runs:
            self.exit()
            return
        if isinstance(self.screen, QuitScreen):
            return

        def act_on_answer(word: str | None) -> None:
            if word == STOP:
                self.run_worker(self._stop_and_exit(runs))
            elif word == LEAVE:
                self.exit()

        self.push_screen(QuitScreen(runs), act_on_answer)

    async def _stop_and_exit(self, runs: Iterable[str]) -> None:
        for id_ in runs:
            try:
                await self.actions.stop(id_)
            except HandrailError as error:
                self.tell_refusal(error)
                return
        self.exit()

    def _fatal_error(self) -> None:
        """A bug ends the application. Its caller reports it after the terminal is restored."""
        self._close_messages_no_wait()

    @property
    def bug(self) -> Exception | None:
        return self._exception


def _screen_of(topic: str) -> Frame:
    return RunScreen(topic) if topic.startswith("run:") else SessionScreen(topic)
