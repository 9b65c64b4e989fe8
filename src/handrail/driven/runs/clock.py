"""The clock of a run: it goes while a process drives the run, and stands still otherwise. Pure.

A process begins to drive a run with `RunStarted` or `RunResumed`, and ends with `RunParked` or `RunEnded`. If it was
killed, its time is known only up to its last record. Other records may be made while no process drives the run: every
`Noticed`, a `RunEnded` that is not `driven`, and whatever is between an end and a resume. They take no time.

A restart begins its journal with what it keeps of the attempt before, and then resumes: no process was killed there.
Events are plain data, so that a list of runs imports no event types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_BEGINS = ("RunStarted", "RunResumed")
_ENDS = ("RunParked", "RunEnded")


class RunClock:
    """Call `take` with every record of an attempt, in order. `seconds` is what the clock shows at the last one.

    `last` is the time of the last record that a driver made; None before the first one. `is_going`: a process drives
    the run, as far as the records say. `has_gaps`: a process was killed, so its last moments are not known.
    """

    __slots__ = ("has_gaps", "is_going", "last", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.last: float | None = None
        self.is_going = False
        self.has_gaps = False

    def take(self, at: float, kind: str, event: Mapping[str, Any]) -> bool:
        """Take a record by its time, the name of its event and its fields. True if a driver made it."""
        if kind in _BEGINS:
            self.has_gaps |= self.is_going and event.get("mode") != "restart"
        elif not self.is_going or self.last is None or kind == "Noticed":
            return False
        elif not event.get("driven", True):
            self.is_going, self.has_gaps = False, True
            return False
        else:
            self.seconds += max(0.0, at - self.last)
        self.last = at
        self.is_going = kind not in _ENDS
        return True

    def at(self, now: float) -> float:
        """What the clock shows now, if the process that drove the run at the last record still drives it."""
        return self.seconds + (max(0.0, now - self.last) if self.is_going and self.last is not None else 0.0)


def clock_after(records: Iterable[tuple[float, object]]) -> RunClock:
    """The clock after these events, each with its time."""
    clock = RunClock()
    for at, event in records:
        clock.take(at, type(event).__name__, vars(event))
    return clock
