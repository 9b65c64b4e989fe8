"""A terminal on which lines can be drawn: whether it is one, its size, and writing to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import TextIO


def can_draw(stream: TextIO, env: Mapping[str, str]) -> bool:
    """True if the stream is a terminal that can redraw lines."""
    return stream.isatty() and env.get("TERM", "") not in ("", "dumb")


def size_of(stream: TextIO) -> tuple[int, int]:
    """The columns and lines of a terminal; 80 and 24 if they are not known."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return size.columns or 80, size.lines or 24


def write(stream: TextIO, text: str) -> None:
    """Write a text, and ignore errors: no work fails because the terminal was closed."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()
