"""Waiting for something to become true, not longer than it may take."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT = 30.0


def until(holds: Callable[[], object], what: str | Callable[[], str]) -> None:
    """Look again and again; fail with `what` was waited for when it takes too long."""
    deadline = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what if isinstance(what, str) else what()}")
        time.sleep(0.02)
