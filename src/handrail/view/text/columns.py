"""Text for a terminal: signs of statuses, widths, columns, durations. Pure; imports little: quick commands use it.

A status is always shown as sign and word; colour only repeats it. Each sign has a twin in ASCII. `▸` and `▾` mean
folded and unfolded, nothing else.
"""

from __future__ import annotations

from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Sign(Record):
    """`ascii` is for terminals that show no other characters; `word` is what the sign means."""

    char: str
    ascii: str
    word: str


NEEDS_YOU = Sign("?", "?", "needs you")
RUNNING = Sign("●", "*", "running")
DELAYED = Sign("~", "~", "delayed")
DONE = Sign("✓", "+", "done")
FAILED = Sign("✗", "x", "failed")
STOPPED = Sign("■", "#", "stopped")
SKIPPED = Sign("·", ".", "skipped")
PENDING = Sign("○", "o", "pending")
NOTICE = Sign("!", "!", "interrupted")
ROUNDS = Sign("↻", "@", "rounds")
ALL_SIGNS = (NEEDS_YOU, RUNNING, DELAYED, DONE, FAILED, STOPPED, SKIPPED, PENDING, NOTICE, ROUNDS)

OF_STATUS: dict[str, Sign] = {
    "waiting": NEEDS_YOU,
    "running": RUNNING,
    "active": RUNNING,
    "current": RUNNING,
    "delayed": DELAYED,
    "completed": DONE,
    "done": DONE,
    "failed": FAILED,
    "left": STOPPED,
    "stopped": STOPPED,
    "cancelled": STOPPED,
    "skipped": SKIPPED,
    "pending": PENDING,
    "ahead": PENDING,
    "none": PENDING,
    "interrupted": NOTICE,
    "answered": NOTICE,
    "damaged": NOTICE,
}
"""The sign of each status of a run, a session, a step or a phase. The page has this table from the server."""
WORDS = {"damaged": "cannot be read", "current": "here"}
"""What people read instead of a status. Every other status is its own word, in lists, on all surfaces and in JSON."""


def word_of(status: str) -> str:
    """A status in words for a person."""
    return WORDS.get(status, status) if status in OF_STATUS else "unknown"


def session_status(status: str, question: object, let_go: str | None) -> str:
    """The status of a session, as people see it. `let_go` is why its agent stopped; one that asks a person waits."""
    if status != "active":
        return status
    return "waiting" if question else "interrupted" if let_go else status


def sign_of(status: str) -> str:
    """The sign before a status; `!` before one that is not in the table."""
    return OF_STATUS.get(status, NOTICE).char


SIGNS = {status: sign_of(status) for status in ("pending", "running", "done", "skipped", "failed")}
_EMOJI_STYLE = "\ufe0f"


def table(rows: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """The rows in aligned columns. The last column is not padded, and a column that is always empty is left out."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    numbers = [number for number, width in enumerate(widths) if width]
    return [gap.join(padded(row[number], widths[number]) for number in numbers).rstrip() for row in rows]


def padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def duration(seconds: float) -> str:
    """`0.4s`, `42s`, `3m 05s`, `1h 02m`."""
    whole_seconds = int(max(0.0, seconds))
    if whole_seconds < 10:
        return f"{max(0.0, seconds):.1f}s"
    if whole_seconds < 60:
        return f"{whole_seconds}s"
    if whole_seconds < 3600:
        return f"{whole_seconds // 60}m {whole_seconds % 60:02d}s"
    return f"{whole_seconds // 3600}h {whole_seconds % 3600 // 60:02d}m"


def columns(text: str) -> int:
    """How many columns a text takes on a terminal. If in doubt, the larger number."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(char: str) -> int:
    import unicodedata

    if char == _EMOJI_STYLE:
        return 1  # makes the character before it wide, on most terminals
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clipped(text: str, width: int) -> str:
    """The text, cut to `width` columns. `…` replaces the rest."""
    if columns(text) <= width:
        return text
    used_columns, end = 0, 0
    for char in text:
        used_columns += _columns_of(char)
        if used_columns > width - 1:
            break
        end += 1
    return (text[:end] + "…") if width > 0 else ""
