"""What agents used, added up. What is not known is never zero: it makes a sum incomplete. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = ("inputTokens", "outputTokens", "usd")


class Calls:
    """Which calls of agents have not reported what they used, by the paths of their steps."""

    def __init__(self) -> None:
        self._silent: dict[str, None] = {}

    def begin(self, path: str) -> None:
        self._silent[path] = None

    def report(self, path: str) -> None:
        self._silent.pop(path, None)

    def end(self, path: str) -> bool:
        """The node of a step has ended. True if what its agent used is not known."""
        return path in self._silent and self._silent.pop(path) is None

    def interrupt(self) -> list[str]:
        """The process was killed. The paths of the steps whose agents did not report what they used."""
        silent, self._silent = list(self._silent), {}
        return silent


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
