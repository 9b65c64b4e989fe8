"""How many places a test explores: `make test` tries a fixed selection, `--thorough` (`make test-long`) tries all.

With `--thorough=N`, one in N places is tried, unless the selection of `make test` has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Place = TypeVar("Place")


@dataclass(frozen=True)
class Depth:
    """Selects the places that a test explores. The selection is the same in every test run."""

    thorough: int
    """0: the selection. 1: all places. N: one in N places."""

    def places(self, everything: Sequence[Place], every: int, first: int = 0) -> Sequence[Place]:
        """One of `every` places, beginning at `first`. Tests with all values of `first` together try all places."""
        step = min(every, self.thorough) if self.thorough else every
        return everything[first % step :: step]

    def count(self, few: int, full: int) -> int:
        return max(few, full // self.thorough) if self.thorough else few
