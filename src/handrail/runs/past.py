"""What the phases of a past run took, from its events. Pure.

Time counts while a process drives the run: not while it waits for a person, and not between a kill and a resume.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from handrail.contracts import Record
from handrail.flows.paths import top
from handrail.runs import machine
from handrail.runs.likely import Taken
from handrail.runs.summary import END_WITHOUT_DRIVER, RESTARTED, kind_of
from handrail.source.dataclasses import dataclass, field


@dataclass
class PhaseTaken:
    """A phase of a past run. Times are seconds on the clock of the run, which stands still while nobody drives it.

    `is_own`: it ran in this run once. Not so if `--from` left it out, a restart kept it, or `continue` ran it again.
    """

    begun: float = 0.0
    ended: float | None = None
    is_skipped: bool = False
    is_own: bool = True
    sessions: int = 0
    usages: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def counts(self) -> bool:
        """True if the phase is behind the run, one way or the other."""
        return self.is_own and (self.is_skipped or self.ended is not None)

    def used(self, *names: str) -> float | None:
        """The sum of these numbers over all calls of agents. None if an agent did not report one of them."""
        if not self.usages:
            return 0.0 if not self.sessions else None
        return _sum(usage.get(name) for usage in self.usages for name in names)


class PastRun:
    """A past run: its phases by path, and whether it reached its own end, in whatever definition it had."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.phases: dict[str, PhaseTaken] = {}
        self.routings: list[machine.Routed] = []
        self.is_whole = False
        clock, last = 0.0, None
        for at, event in records:
            kind = kind_of(type(event).__name__, vars(event))
            if kind in ("Noticed", END_WITHOUT_DRIVER):  # may be recorded when no process drives the run
                continue
            if last is not None and kind not in ("RunResumed", RESTARTED):
                clock += max(0.0, at - last)
            last = None if kind in ("RunParked", "RunEnded") else at
            self._take(event, clock)

    def _phase(self, path: str) -> PhaseTaken:
        return self.phases.setdefault(top(path), PhaseTaken())

    def _take(self, event: machine.Event, clock: float) -> None:
        match event:
            case machine.PhaseStarted() if "/" not in event.path:
                self._phase(event.path).begun = clock
            case machine.PhaseDone() if "/" not in event.path:
                self._phase(event.path).ended = clock
            case machine.PhaseSkipped() if "/" not in event.path:
                self._phase(event.path).is_skipped = True
                self._phase(event.path).is_own = event.reason != machine.LEFT_OUT
            case machine.SessionOpened():
                self._phase(event.path).sessions += 1
            case machine.UsageReported():
                self._phase(event.path).usages.append(event.usage)
            case machine.Routed():
                self.routings.append(event)
            case machine.RunResumed():
                self._resume(event)
            case machine.RunEnded():
                self.is_whole = event.status in ("completed", "stopped") and event.code != "until"
            case _:
                pass

    def _resume(self, event: machine.RunResumed) -> None:
        self.is_whole = False
        again = [path for path, phase in self.phases.items() if event.mode == "restart" and phase.counts]
        for path in (*again, *event.rewound):
            self._phase(path).is_own = False

    def taken(self, paths: Sequence[str]) -> Taken | None:
        """What these phases took together; None if one of them was not done.

        A run that reached its end may lack some of them: its definition did not have them, such as further rounds.
        """
        known = [self.phases[path] for path in paths if path in self.phases]
        if not known or not all(phase.counts for phase in known) or (len(known) < len(paths) and not self.is_whole):
            return None
        times = [(phase.begun, phase.ended) for phase in known if phase.ended is not None]
        return Taken(
            seconds=_length(times),
            tokens=_sum(phase.used("inputTokens", "outputTokens") for phase in known),
            usd=_sum(phase.used("usd") for phase in known),
        )


def _length(times: Iterable[tuple[float, float]]) -> float:
    """How long at least one of these lasted: phases that ran at the same time count once."""
    total, until = 0.0, 0.0
    for begun, ended in sorted(times):
        total += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return total


def _sum(numbers: Iterable[float | None]) -> float | None:
    found = list(numbers)
    return None if None in found else sum(number for number in found if number is not None)
