"""A run as it happens, on stderr: redrawn in place on a terminal, one plain line an event anywhere else.

No colours and no hidden cursor: whatever ends us leaves the terminal as it was. Only lines that were drawn are
overwritten, also after the window has changed its size.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TextIO

from handrail.flows.plan import FlowPlan
from handrail.runs.machine import Answered, Event
from handrail.view.progress import Progress, told

Past = Iterable[tuple[float, Event]]
_UP = "\x1b[{}A"
_ERASE_REST = "\x1b[K"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"


def can_draw(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Is this a terminal that lines can be redrawn on?"""
    return stream.isatty() and env.get("TERM", "") not in ("", "dumb")


def _size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of a terminal; 80 and 24 where it does not say."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return size.columns or 80, size.lines or 24


def _write(stream: TextIO, text: str) -> None:
    """A run goes on though nobody can see it any more."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


class Live:
    """A view that is redrawn in place. `past` is what happened in earlier lives of the run."""

    def __init__(self, stream: TextIO, plan: FlowPlan, clock: Callable[[], float], past: Past = ()) -> None:
        self.stream = stream
        self.clock = clock
        self.progress = Progress(plan)
        self.is_paused = False
        self._drawn: list[str] = []
        for moment, event in past:
            self.progress.take(event, moment)

    def observer(self, event: Event) -> None:
        """Something happened; it is seen at the next tick. After an answer, what was left standing goes on below."""
        self.progress.take(event, self.clock())
        if isinstance(event, Answered):
            self.is_paused = False

    def tick(self) -> None:
        if not self.is_paused:
            self._draw()

    def close(self) -> None:
        """Leave the state as it is now on the screen. Nothing more is drawn, but after an answer."""
        if not self.is_paused:
            self._draw()
            self._drawn = []
            self.is_paused = True

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Take the view off the screen while something else is said or asked there."""
        was_paused, self.is_paused = self.is_paused, True
        self._put([])
        try:
            yield
        finally:
            self.is_paused = was_paused

    def _draw(self) -> None:
        width, height = _size(self.stream)
        lines = self.progress.lines(self.clock(), width - 1, max(1, height - 1))
        if lines != self._drawn:
            self._put(lines)

    def _put(self, lines: list[str]) -> None:
        """Write over what was drawn, and blank what is left of it."""
        _, height = _size(self.stream)
        before = min(len(self._drawn), max(0, height - 1))
        left = max(0, before - len(lines))
        text = "\r" + (_UP.format(before) if before else "")
        text += "".join(f"{line}{_ERASE_REST}\n" for line in [*lines, *[""] * left])
        text += _UP.format(left) if left else ""
        if lines or before:
            _write(self.stream, f"{_NO_WRAP}{text}{_WRAP}")
        self._drawn = lines


class Plain:
    """One line for everything that begins, ends, fails or is asked."""

    def __init__(self, stream: TextIO, plan: FlowPlan, clock: Callable[[], float], past: Past = ()) -> None:
        self.stream = stream
        self.clock = clock
        self.progress = Progress(plan)
        for moment, event in past:
            self.progress.take(event, moment)

    def observer(self, event: Event) -> None:
        now = self.clock()
        self.progress.take(event, now)
        line = told(event, self.progress, now)
        if line is not None:
            _write(self.stream, f"{line}\n")

    def tick(self) -> None:
        """Time alone changes nothing here."""

    def close(self) -> None:
        """All has been said."""

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Lines that were printed stand in nobody's way."""
        yield
