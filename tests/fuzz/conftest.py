"""A fuzz test that hangs fails: in Python by an alarm, in C by ending the run with every stack shown."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import settings

SECONDS = 120
"""Of the processor: a busy machine fails nobody."""
BUSY = 10


@pytest.fixture(autouse=True)
def fails_when_it_hangs() -> Iterator[None]:
    """Far above what a target needs; grows with the number of inputs."""
    limit = SECONDS * max(1, settings.get_profile("fuzz").max_examples // 10_000)

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"not done after {limit} seconds", pytrace=True)

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, limit)
    faulthandler.dump_traceback_later(BUSY * limit, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
