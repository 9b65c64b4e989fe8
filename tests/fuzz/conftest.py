"""A fuzz test that hangs fails. An alarm stops Python code; `faulthandler` ends the run if C code hangs."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import settings

SECONDS = 120
"""CPU time, so that a busy machine causes no failure."""
WALL_CLOCK_FACTOR = 10


@pytest.fixture(autouse=True)
def fail_if_it_hangs() -> Iterator[None]:
    """The limit is far above the usual time and grows with the number of inputs."""
    limit = SECONDS * max(1, settings.get_profile("fuzz").max_examples // 10_000)

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"not finished after {limit} seconds", pytrace=True)

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, limit)
    faulthandler.dump_traceback_later(WALL_CLOCK_FACTOR * limit, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
