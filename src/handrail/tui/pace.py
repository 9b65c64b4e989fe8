"""How often a screen may be drawn: five times a second, and less on a terminal that is slow to write. Pure."""

from __future__ import annotations

FASTEST, SLOWEST = 0.2, 1.0
SLOW = 0.1
"""In seconds: a drawing that took longer halves the rate."""


class Pace:
    """The interval between two drawings."""

    def __init__(self) -> None:
        self.interval = FASTEST
        self._last = float("-inf")

    def wait(self, now: float) -> float:
        """How long to wait until the next drawing may begin."""
        return max(0.0, self._last + self.interval - now)

    def begin(self, now: float) -> None:
        self._last = now

    def took(self, seconds: float) -> None:
        """A drawing took so long until it was written."""
        if seconds > SLOW:
            self.interval = min(SLOWEST, self.interval * 2)
