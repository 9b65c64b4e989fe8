"""What agents used, added up. What is not known is never zero: it makes a sum incomplete. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = ("inputTokens", "outputTokens", "usd")


class Spent:
    """A sum of reports of usage."""

    __slots__ = ("complete", "sums")

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.complete = True

    def add(self, usage: Mapping[str, Any]) -> None:
        for name in NAMES:
            if isinstance(usage.get(name), int | float):
                self.sums[name] = self.sums.get(name, 0) + usage[name]
            else:
                self.complete = False

    def to_json(self) -> dict[str, Any]:
        sums = {name: round(self.sums[name], 6) if name in self.sums else None for name in NAMES}
        return {**sums, "complete": self.complete}
