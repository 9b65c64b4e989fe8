"""Time limits and waits that continue over the lives of a run, for engines that run a flow in one event loop.

How much of a limit is used up is recorded now and then, so a kill loses little of it: a fiftieth of the limit, but at
least a second and at most ten minutes. Time in which nobody drives the run does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from handrail.contracts import NodeError
from handrail.runs.machine import FactFound
from handrail.runs.tries import WAIT, TimeSpent
from handrail.source.plain import counted

PARTS = 50
LEAST, MOST = 1.0, 600.0
SMALL = 100
Facts = Mapping[str, Mapping[tuple[str, str, str], Any]]


async def rest(
    facts: Facts, record: Callable[[FactFound], None], clock: Callable[[], float], path: str, seconds: float
) -> None:
    """The wait of a node. When it ends is recorded, so a resumed run only waits for what is left."""
    key = (WAIT, "until", f"{seconds:g}")
    until = facts.get(path, {}).get(key)
    if until is None and seconds > 0:
        until = clock() + seconds
        record(FactFound(path, *key, until))
    await asyncio.sleep(min(max((until or 0.0) - clock(), 0.0), seconds))


class Limits:
    """The time limits of one run. `spent` returns the seconds that earlier lives used of the limit at a path."""

    def __init__(self, spent: Callable[[str], float], record: Callable[[TimeSpent], None]) -> None:
        self.spent = spent
        self.record = record

    def left(self, path: str, seconds: float | None) -> float | None:
        return None if seconds is None else max(0.0, seconds - self.spent(path))

    @contextlib.asynccontextmanager
    async def within(self, path: str, seconds: float | None) -> AsyncIterator[None]:
        """Raises `NodeError` with the code `timeout` if the body takes longer, together with earlier lives."""
        if seconds is None:
            yield
            return
        before, begun = self.spent(path), time.monotonic()

        def used() -> float:
            return before + time.monotonic() - begun

        beat = asyncio.ensure_future(self._beat(path, seconds, used))
        scope = asyncio.timeout(max(0.0, seconds - before))
        try:
            async with scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            self.record(TimeSpent(path, seconds, is_over=True))
            what = f"`{path}`" if path else "the run"
            told = f", {before:.0f} of them before the run was resumed" if before >= 1 else ""
            raise NodeError("timeout", f"{what} was not done after {counted(seconds, 'second')}{told}") from error
        except BaseException:
            if used() - self.spent(path) >= seconds / SMALL:
                self.record(TimeSpent(path, round(used(), 3)))
            raise
        finally:
            beat.cancel()

    async def _beat(self, path: str, seconds: float, used: Callable[[], float]) -> Any:
        while True:
            await asyncio.sleep(min(max(LEAST, seconds / PARTS), MOST))
            self.record(TimeSpent(path, round(used(), 3)))
