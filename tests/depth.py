"""How many places a test explores: `make test` tries a fixed selection, `--thorough` (`make test-long`) tries all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Place = TypeVar("Place")


@dataclass(frozen=True)
class Depth:
    """Selects the places that a test explores. The selection is the same in every test run."""

    thorough: bool

    def places(self, everything: Sequence[Place], every: int, first: int = 0) -> Sequence[Place]:
        """One of `every` places, beginning at `first`. Tests with all values of `first` together try all places."""
        return everything if self.thorough else everything[first % every :: every]

    def count(self, few: int, full: int) -> int:
        return full if self.thorough else few
