"""How deep a test explores: `make test` tries a fixed spread of places, `--thorough` (`make test-long`) tries all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Place = TypeVar("Place")


@dataclass(frozen=True)
class Depth:
    """What an exploring test asks. The choice is the same in every test run."""

    thorough: bool

    def places(self, everything: Sequence[Place], every: int, first: int = 0) -> Sequence[Place]:
        """One place out of `every`, from `first` on. Tests that differ in `first` only meet all places together."""
        return everything if self.thorough else everything[first % every :: every]

    def count(self, few: int, full: int) -> int:
        return full if self.thorough else few
