"""Lines of a screen, and the words in them: times, durations, money, places. Pure.

A line is some pieces of text, each with the name of a style. What is not known is `–`, never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from handrail.view.rows.rows import Row
from handrail.view.text.columns import clipped, columns, duration, padded, sign_of

UNKNOWN = "–"
DAY = 86_400
OVER = ("completed", "stopped", "failed", "cancelled", "done", "none", "damaged")
"""The statuses of a run or a session that has ended."""
QUIET = 60.0
"""In seconds: without any event for so long, what runs is called quiet."""
STYLES = {"?": "need", "●": "run", "~": "delay", "✓": "done", "✗": "fail", "■": "stop", "·": "dim", "○": "dim"}
"""The style of each sign. `!` has that of what needs a person."""

COUNTED = {"tools": "tool", "denied": "denied", "retries": "retry"}
"""What is counted of a step, and the word for one of it."""


class Piece(NamedTuple):
    """A text, its style, and the action of the screen that a click on it does."""

    text: str
    style: str = ""
    action: str = ""


class TextLine(NamedTuple):
    """A line of a screen. One with an id can be selected; `mark` is what a selected line is in other places."""

    id: str | None
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


class LocalTime(NamedTuple):
    """A point in time on the clock of the person: the number of its day, and the time of day."""

    day: int
    date: str
    time: str


class Times(NamedTuple):
    """The present, and how a point in time is called here."""

    now: float
    local: Callable[[float], LocalTime]

    def time_of_day(self, at: float) -> str:
        return self.local(at).time

    def date_words(self, at: float | None) -> str:
        """`13:55` for today, `yesterday`, else a date."""
        if at is None:
            return UNKNOWN
        day, today = self.local(at), self.local(self.now).day
        if day.day == today:
            return day.time[:5]
        return "yesterday" if day.day == today - 1 else day.date

    def age_of(self, at: float | None) -> str:
        """How long ago, in its largest unit."""
        return UNKNOWN if at is None else age(self.now - at)


def line(id_: str | None, *pieces: Piece | str) -> TextLine:
    parts = (Piece(one) if isinstance(one, str) else one for one in pieces)
    return TextLine(id_, tuple(one._replace(text=steady(one.text)) for one in parts))


def error_lines(message: str, hints: Iterable[str | None], width: int) -> Iterator[TextLine]:
    room = max(20, width - 5)
    for number, part in enumerate(wrapped(message, room)):
        yield line(None, Piece(f" {' ' if number else '!'} {part}", "need"))
    for hint in filter(None, hints):
        yield from (line(None, f"   {part}") for part in wrapped(hint, room))


def age(seconds: float) -> str:
    """`38s`, `12m`, `6h`, `3d`."""
    whole_seconds = int(max(0.0, seconds))
    for size, unit in ((DAY, "d"), (3600, "h"), (60, "m")):
        if whole_seconds >= size:
            return f"{whole_seconds // size}{unit}"
    return f"{whole_seconds}s"


def spell(seconds: float | None) -> str:
    """A duration; `–` if it is not known."""
    return UNKNOWN if seconds is None else duration(seconds)


def money(usage: Row | None) -> str:
    """What is known of the costs: `$0.42`, `≥$0.42` if a part is not known, `–` if nothing is."""
    usd = (usage or {}).get("usd")
    if not isinstance(usd, int | float) or isinstance(usd, bool):
        return UNKNOWN
    prefix = "" if (usage or {}).get("complete", True) else "≥"
    if usd < 0.005:
        return UNKNOWN if prefix else "<$0.01" if usd > 0 else "$0"
    return f"{prefix}${usd:,.2f}"


def tokens(usage: Row | None) -> str:
    """`81,234 in · – out`."""
    counts = usage or {}
    numbers = [counts.get("inputTokens"), counts.get("outputTokens")]
    words = [f"{one:,}" if isinstance(one, int | float) else UNKNOWN for one in numbers]
    return f"{words[0]} in · {words[1]} out"


def path_words(path: Any) -> str:
    """`review › 2 › look`: the parts of a path, or of a list of names, or a text as it is."""
    if path is None:
        return ""
    parts = path.split("/") if isinstance(path, str) and " " not in path else path
    return parts if isinstance(parts, str) else " › ".join(str(part) for part in parts)


def sign(status: str) -> Piece:
    char = sign_of(status)
    return Piece(char, STYLES.get(char, "need"))


def steady(text: str) -> str:
    """The text without the character that makes the one before it a wide emoji: terminals disagree on its width."""
    return text.replace("\ufe0f", "")


def cell(text: str, width: int) -> str:
    """The text, cut or filled to this width."""
    text = steady(text[: _max_characters(width)])  # what is further behind is not seen, and measuring it takes long
    return padded(clipped(text, width), width) if width > 0 else ""


def ending(text: str, width: int) -> str:
    """A path, cut at its beginning or filled to this width: its end says most."""
    cut = 0
    while cut < len(text) and columns(text[cut:]) + (1 if cut else 0) > width:
        cut += 1
    return cell(f"…{text[cut:]}" if cut else text, width)


def right(text: str, width: int) -> str:
    text = clipped(text, width)
    return " " * (width - columns(text)) + text


def spread(start: str, end: str, width: int, style: str = "") -> tuple[Piece, ...]:
    """One text at the left, one at the right. The left one is cut if there is not enough room."""
    room = max(0, width - columns(end) - (1 if end else 0))
    return Piece(cell(start, room), style), Piece((" " if end else "") + end)


def rule(title: str, width: int, end: str = "") -> TextLine:
    """A heading with a rule to the right edge."""
    tail = f" {end} ─" if end else ""
    head = f" {clipped(title, max(0, width - columns(tail) - 3))} "
    return line(None, Piece(head, "head"), Piece("─" * max(0, width - columns(head) - columns(tail)) + tail, "dim"))


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, each broken at spaces where it is longer than the width."""
    lines: list[str] = []
    for paragraph in steady(text).split("\n"):
        rest = paragraph
        while width > 0 and (cut := _break(rest, width)) is not None:
            lines.append(rest[:cut])
            rest = rest[cut:].lstrip(" ")
        lines.append(rest)
    return lines


def _break(text: str, width: int) -> int | None:
    """Where a line is broken; None if it fits. Only its beginning is measured, also if it is very long."""
    start = text[: _max_characters(width)]
    if columns(start) <= width:
        return None if len(start) == len(text) else len(start)
    head = clipped(start, width + 1)[:-1]
    space = head.rfind(" ")
    return max(space if space > width // 3 else len(head), 1)


def _max_characters(width: int) -> int:
    """How many characters are looked at for this width. More do not fit, unless most of them take no room."""
    return 8 * width + 64


def in_lines(parts: Sequence[str], width: int, gap: str) -> list[str]:
    """The parts in as few lines as possible. No part is broken."""
    lines = [""]
    for one in parts:
        if lines[-1] and columns(lines[-1] + gap + one) > width:
            lines.append("")
        lines[-1] += (gap if lines[-1] else "") + one
    return lines


def counted(number: int, name: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {COUNTED[name] if number == 1 else name}"
