"""How many places a test explores. The selection is the same in every test run.

`make test` tries one in ten of those that `make verify` tries (`--whole`); `make test-long` (`--thorough`) tries all.
With `--thorough=N`, one in N places is tried, unless the selection of `make verify` has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Place = TypeVar("Place")
SHARE = 10
"""`make test` tries one in so many of the places, rounds and inputs of `make verify`."""


@dataclass(frozen=True)
class Depth:
    """Selects the places that a test explores."""

    thorough: int
    """0: the selection. 1: all places. N: one in N places."""
    is_whole: bool = True
    """False: only a share of the selection."""

    def places(self, everything: Sequence[Place], every: int, first: int = 0) -> Sequence[Place]:
        """One of `every` places, beginning at `first`. Tests with all values of `first` together try all places."""
        few = every if self.is_whole else every * SHARE
        step = min(every, self.thorough) if self.thorough else few
        return everything[first % step :: step]

    def count(self, few: int, full: int) -> int:
        """How many rounds: `few` by `make verify`, `full` by `make test-long`."""
        if self.thorough:
            return max(few, full // self.thorough)
        return few if self.is_whole else max(1, few // SHARE)
