"""What every screen is given: the application behind it, the topics that it follows, what the terminal can show.

`Application` is implemented in `app.py`. A feed reads nothing itself; the hub does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Protocol

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter, NoColor

from handrail.app import App as Project
from handrail.base.dataclasses import dataclass
from handrail.base.errors import HandrailError
from handrail.tui.lines.words import LocalTime, Times
from handrail.view.actions import Actions
from handrail.view.live.hub import Hub, Watched
from handrail.view.rows.rows import HEAD, ReceivedRows, Row, RowMessage
from handrail.view.text.columns import ALL_SIGNS, columns

PROBE_SECONDS = 10.0
"""In seconds: how often a topic without changes is asked whether a program of it is still there."""
KEPT_TAIL = 2_000
"""Lines of a tail."""


class Feed:
    """The rows of a topic. `changed` is called after every message, and when the topic cannot be read any more."""

    def __init__(self, hub: Hub, topic: str, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self.hub = hub
        self.topic = topic
        self.clock = clock
        self.changed = changed
        self.received = ReceivedRows()
        self.tail: deque[Row] = deque(maxlen=KEPT_TAIL)
        self.lost = 0
        self.live: dict[str, Any] = {}
        self.error: HandrailError | None = None
        self.is_ready = False

    @property
    def head(self) -> Row:
        return self.received.rows.get((HEAD, ""), {})

    def section(self, name: str) -> list[Row]:
        return [row for (section, _), row in self.received.rows.items() if section == name]

    async def run(self) -> None:
        """Follow the topic until this is cancelled."""
        try:
            async with self.hub.watching(self.topic) as watched:
                await self._follow(watched)
        except HandrailError as error:
            self.error = error
            self.changed()

    async def _follow(self, watched: Watched) -> None:
        place, printed = ("", 0), 0
        while True:
            messages, reached = await watched.messages(*place, self.clock(), printed)
            before = self.live
            for message in messages:
                self._take(message)
            lines = next((message["tail"]["seq"] for message in messages if message.get("tail")), printed)
            if (reached, lines) != (place, printed) or self.live != before or not self.is_ready:
                self.is_ready = True
                self.changed()
            place, printed = reached, lines
            watched.check()
            if (watched.place, watched.tail) == (place, printed):
                await watched.change(PROBE_SECONDS)

    def _take(self, message: RowMessage) -> None:
        self.received.take(message)
        self.live = message.get("live") or {}
        tail = message.get("tail")
        if tail:
            if not tail["base"]:
                self.tail.clear()
                self.lost = 0
            self.lost += tail.get("lost") or 0
            self.tail.extend(tail.get("rows") or ())


DUMB = ("dumb", "unknown")
_FRAMES = {
    "─": "-", "━": "-", "│": "|", "┊": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+",
    "≥": ">", "█": "#", "▒": "=", "┄": "?", "×": "x", "→": ">", "•": "*",
    "▁": "_", "▂": "_", "▃": "_", "▄": "_", "▅": "|", "▆": "|", "▇": "|", "▔": "-",
    "▊": "|", "▕": "|", "╸": "-", "╺": "-", "┴": "+", "▌": "|", "▏": "|", "▎": "|", "▸": ">",
    "▾": "v", "›": ">", "…": ".", "⋯": "-", "“": '"', "”": '"', "–": "-", "−": "-", "↵": "^",
}  # fmt: skip
TWINS = str.maketrans({**_FRAMES, **{sign.char: sign.ascii for sign in ALL_SIGNS}})
_KEYS = {"↵": "Enter", "↑": "Up", "↓": "Down", "←": "Left", "→": "Right"}


@dataclass(frozen=True)
class TerminalLook:
    """`has_signs`: False if only ASCII signs are shown. `is_ascii`: False if other text may have other characters."""

    has_signs: bool = True
    is_ascii: bool = False
    has_colour: bool = True
    has_title: bool = True

    @classmethod
    def of(cls, env: Mapping[str, str]) -> TerminalLook:
        """What the environment says. A locale that does not name UTF-8 has none."""
        term = env.get("TERM", "")
        locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
        is_ascii = "utf8" not in locale.lower().replace("-", "")
        is_plain = term in ("linux", *DUMB)
        has_colour = not env.get("NO_COLOR") and term not in DUMB
        return cls(not is_ascii and not is_plain, is_ascii, has_colour, not is_plain)

    def filters(self) -> list[LineFilter]:
        """What changes every line before it is written."""
        found: list[LineFilter] = [] if self.has_colour else [NoColor()]
        return found if self.has_signs else [*found, Ascii(is_all=self.is_ascii)]

    def key(self, shown: str) -> str:
        """The name of a key, as this terminal can show it."""
        return shown if self.has_signs else _KEYS.get(shown, shown)


class Ascii(LineFilter):
    """Shows signs and frames with their twins in ASCII. The width of a line stays the same."""

    def __init__(self, *, is_all: bool) -> None:
        super().__init__()
        self.is_all = is_all

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [Segment(self.plain(text), style, control) for text, style, control in segments]

    def plain(self, text: str) -> str:
        if text.isascii():
            return text
        text = text.translate(TWINS)
        if not self.is_all or text.isascii():
            return text
        return "".join(char if char.isascii() else "?" * columns(char) for char in text)


def local_time(at: float) -> LocalTime:
    """A point in time on the clock of this machine."""
    there = time.localtime(at)
    day = date(there.tm_year, there.tm_mon, there.tm_mday)
    return LocalTime(day.toordinal(), day.isoformat(), time.strftime("%H:%M:%S", there))


class Application(Protocol):
    """The application. `launched` are the ids of the runs that were started here."""

    look: TerminalLook
    project: Project
    actions: Actions
    hub: Hub
    home: Feed
    launched: set[str]

    @property
    def times(self) -> Times: ...

    @property
    def entries(self) -> list[Row]: ...

    @property
    def needing(self) -> int: ...

    @property
    def is_trusted(self) -> bool: ...

    def is_held(self, seconds: float) -> bool: ...

    def tell(self, text: str) -> None: ...

    def news_on(self, screen: object) -> str:
        """The line of news of a screen; empty if there is none."""

    @property
    def standing(self) -> str:
        """What a screen without news says."""

    def refused(self, error: HandrailError) -> None: ...

    async def leave(self) -> None: ...

    def open(self, topic: str) -> None:
        """Show a run or a session."""

    def neighbour(self, topic: str, by: int) -> None:
        """Show the run or session before or after this one, instead of it."""

    def launch(self, name: str | None = None) -> None:
        """Ask what to launch, and how."""

    def catalog(self) -> None:
        """Show everything that can be launched."""

    def push_screen(self, screen: Any, callback: Any = None) -> Any:
        """Textual's."""

    def push_screen_wait(self, screen: Any) -> Any:
        """Textual's."""

    def run_worker(self, work: Any) -> Any:
        """Textual's."""

    def suspend(self) -> Any:
        """Textual's."""

    def copy_to_clipboard(self, text: str) -> None:
        """Textual's."""
