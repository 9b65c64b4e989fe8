"""Foreign text on a screen: cleaned, bounded, and never markup. Also times and the keys of a footer."""

from __future__ import annotations

import time
from collections.abc import Iterable

from textual.content import Content

from handrail.source.clean import clean

UNKNOWN = "–"
LINES = 5_000
"""Lines of one text that are shown."""


def shown(text: object, style: str = "") -> Content:
    """Text with line breaks, as it is safe to show. What is left out is counted."""
    whole = "" if text is None else str(text)
    lines = whole.split("\n", LINES)
    if len(lines) > LINES:
        rest = lines.pop()
        lines.append(f"… ({rest.count(chr(10)) + 1} more lines)")
    return Content.styled(clean("\n".join(lines)), style)


def in_line(text: object, style: str = "") -> Content:
    """Text in one line, as it is safe to show."""
    return Content.styled(clean(" ".join(str(text or "").split())), style)


def ends(left: Content, right: Content, width: int) -> Content:
    """Two texts at both ends of a line. The left one is cut if there is no room."""
    room = max(0, width - right.cell_length - 2)
    left = left.truncate(room, ellipsis=True)
    return Content.assemble(left, " " * max(1, width - left.cell_length - right.cell_length), right)


def clock(at: float | None) -> str:
    """A time of day, or the sign of what is not known."""
    return UNKNOWN if at is None else time.strftime("%H:%M:%S", time.localtime(at))


def ago(seconds: float) -> str:
    """How long ago something was, in its largest unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return f"{max(0, int(seconds))}s ago"


def keys(pairs: Iterable[tuple[str, str]]) -> Content:
    """The footer of a screen: keys and what they do."""
    parts: list[Content | tuple[str, str] | str] = []
    for key, words in pairs:
        parts += ["  "] * bool(parts) + [(key, "bold"), f" {words}"]
    return Content.assemble(*parts)
