"""What every screen is given: the topics that it follows, and what the terminal can show."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import date
from functools import cached_property
from typing import Any

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter, NoColor

from handrail.base.dataclasses import dataclass
from handrail.base.errors import HandrailError
from handrail.tui.lines.words import LocalTime, Piece, TextLine, error_lines, line
from handrail.view.live.hub import Hub, WatchedTopic
from handrail.view.rows.rows import HEAD, ReceivedRows, Row
from handrail.view.text.columns import ALL_SIGNS, columns

PROBE_SECONDS = 10.0
"""In seconds: how often a topic without changes is asked whether a program of it is still there."""


class Feed:
    """The rows of a topic. `on_change` is called after every message, and when the topic cannot be read any more."""

    def __init__(self, topic: str, on_change: Callable[[], None]) -> None:
        self.topic = topic
        self.on_change = on_change
        self.received = ReceivedRows()
        self.live: dict[str, Any] = {}
        self.error: HandrailError | None = None
        self.is_ready = False

    @property
    def head(self) -> Row:
        return self.received.rows.get((HEAD, ""), {})

    @property
    def tail(self) -> list[Row]:
        return list(self.received.tail.values())

    def section(self, name: str) -> list[Row]:
        return [row for (section, _), row in self.received.rows.items() if section == name]

    def instead(self, subject: str, width: int, about: str = "", hint: str = "") -> list[TextLine]:
        """The lines while there is nothing to show: it is still read, or it cannot be read. Else there are none."""
        if self.error is not None:
            return list(error_lines(about + self.error.message, (hint, self.error.hint), width))
        return [] if self.is_ready else [line(None, Piece(f"   reading {subject} …", "dim"))]

    async def run(self, hub: Hub, clock: Callable[[], float]) -> None:
        try:
            async with hub.watching(self.topic) as topic:
                await self._follow(topic, clock)
        except HandrailError as error:
            self.error = error
            self.on_change()

    async def _follow(self, topic: WatchedTopic, clock: Callable[[], float]) -> None:
        place, line_number = ("", 0), 0
        while True:
            messages, new_place = await topic.messages(*place, clock(), line_number)
            old_live = self.live
            for message in messages:
                self.received.take(message)
                self.live = message.get("live") or {}
            lines = next((message["tail"]["seq"] for message in messages if message.get("tail")), line_number)
            if (new_place, lines) != (place, line_number) or self.live != old_live or not self.is_ready:
                self.is_ready = True
                self.on_change()
            place, line_number = new_place, lines
            topic.check()
            if (topic.place, topic.tail) == (place, line_number):
                await topic.change(PROBE_SECONDS)


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

    @cached_property
    def filters(self) -> list[LineFilter]:
        """What changes every line before it is written."""
        filters: list[LineFilter] = [] if self.has_colour else [NoColor()]
        return filters if self.has_signs else [*filters, Ascii(is_all=self.is_ascii)]

    def key(self, name: str) -> str:
        """The name of a key, as this terminal can show it."""
        return name if self.has_signs else _KEYS.get(name, name)


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
    local = time.localtime(at)
    day = date(local.tm_year, local.tm_mon, local.tm_mday)
    return LocalTime(day.toordinal(), day.isoformat(), time.strftime("%H:%M:%S", local))
