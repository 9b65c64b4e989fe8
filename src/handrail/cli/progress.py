"""Shows a run on stderr while it is driven: redrawn in place on a terminal, else one plain line per event.

It does not hide the cursor, and each line resets its colours, so a killed process leaves the terminal usable. It
overwrites only lines that it drew, even after the window was resized.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from handrail.cli.output import in_colour, shows_colour
from handrail.cli.terminal import size_of, write
from handrail.flows.plan import FlowPlan
from handrail.runs.machine import Answered, Event
from handrail.view.progress import Progress, event_line

Past = Iterable[tuple[float, Event]]
_UP = "\x1b[{}A"
_ERASE_REST = "\x1b[K"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"


class Live:
    """A view that is redrawn in place. `past` are the events from before this drive."""

    def __init__(self, stream: TextIO, plan: FlowPlan, clock: Callable[[], float], past: Past = ()) -> None:
        self.stream = stream
        self.clock = clock
        self.progress = Progress(plan)
        self.is_paused = False
        self.paint: Callable[[str], str] = in_colour if shows_colour(stream) else str
        self._drawn: list[str] = []
        for moment, event in past:
            self.progress.take(event, moment)

    def observer(self, event: Event) -> None:
        """Take an event; the next tick draws it. After an answer, a closed view is drawn again below."""
        self.progress.take(event, self.clock())
        if isinstance(event, Answered):
            self.is_paused = False

    def tick(self) -> None:
        if not self.is_paused:
            self._draw()

    def close(self) -> None:
        """Draw the state a last time and leave it on the screen. Only an answer makes it draw again.

        Open questions are left out: they are asked below, or the command says how to answer them.
        """
        if not self.is_paused:
            self._draw(asks=False)
            self._drawn = []
            self.is_paused = True

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Remove the view from the screen while something else is printed or asked there."""
        was_paused, self.is_paused = self.is_paused, True
        self._put([])
        try:
            yield
        finally:
            self.is_paused = was_paused

    def _draw(self, *, asks: bool = True) -> None:
        width, height = size_of(self.stream)
        lines = self.progress.lines(self.clock(), width - 1, max(1, height - 1), asks=asks)
        if lines != self._drawn:
            self._put(lines)

    def _put(self, lines: list[str]) -> None:
        """Overwrite the drawn lines, and clear those that are left."""
        _, height = size_of(self.stream)
        before = min(len(self._drawn), max(0, height - 1))
        left = max(0, before - len(lines))
        text = "\r" + (_UP.format(before) if before else "")
        text += "".join(f"{self.paint(line)}{_ERASE_REST}\n" for line in [*lines, *[""] * left])
        text += _UP.format(left) if left else ""
        if lines or before:
            write(self.stream, f"{_NO_WRAP}{text}{_WRAP}")
        self._drawn = lines


class Plain:
    """One line for each event that people need to see."""

    def __init__(self, stream: TextIO, plan: FlowPlan, clock: Callable[[], float], past: Past = ()) -> None:
        self.stream = stream
        self.clock = clock
        self.progress = Progress(plan)
        for moment, event in past:
            self.progress.take(event, moment)

    def observer(self, event: Event) -> None:
        now = self.clock()
        self.progress.take(event, now)
        line = event_line(event, self.progress, now)
        if line is not None:
            write(self.stream, f"{line}\n")

    def tick(self) -> None:
        """Does nothing: a printed line does not change with time."""

    def close(self) -> None:
        """Does nothing: all lines are already printed."""

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Does nothing: printed lines can stay on the screen."""
        yield
