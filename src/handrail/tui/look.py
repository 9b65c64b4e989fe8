"""What the terminal can show: colours or none, signs or only ASCII; and the clock of the person."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import date

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter, NoColor

from handrail.source.dataclasses import dataclass
from handrail.topics import signs
from handrail.tui.drawing.words import Local
from handrail.view.columns import columns

DUMB = ("dumb", "unknown")
_FRAMES = {
    "─": "-", "━": "-", "│": "|", "┊": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+",
    "≥": ">", "█": "#", "▒": "=", "┄": "?", "×": "x", "→": ">", "•": "*",
    "▁": "_", "▂": "_", "▃": "_", "▄": "_", "▅": "|", "▆": "|", "▇": "|", "▔": "-",
    "▊": "|", "▕": "|", "╸": "-", "╺": "-", "┴": "+", "▌": "|", "▏": "|", "▎": "|", "▸": ">",
    "▾": "v", "›": ">", "…": ".", "⋯": "-", "“": '"', "”": '"', "–": "-", "−": "-", "↵": "^",
}  # fmt: skip
TWINS = str.maketrans({**_FRAMES, **{sign.char: sign.ascii for sign in signs.ALL}})
_KEYS = {"↵": "Enter", "↑": "Up", "↓": "Down", "←": "Left", "→": "Right"}


@dataclass(frozen=True)
class Look:
    """`has_signs`: False if only ASCII signs are shown. `is_ascii`: False if other text may have other characters."""

    has_signs: bool = True
    is_ascii: bool = False
    has_colour: bool = True
    has_title: bool = True

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Look:
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


def local(at: float) -> Local:
    """A point in time on the clock of this machine."""
    there = time.localtime(at)
    day = date(there.tm_year, there.tm_mon, there.tm_mday)
    return Local(day.toordinal(), day.isoformat(), time.strftime("%H:%M:%S", there))
