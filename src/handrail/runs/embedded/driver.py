"""Which process drives a run. This module is small, so that `handrail runs` starts fast."""

from __future__ import annotations

import os

from handrail.state import locks

LOCK = "lock"


def holder(folder: str) -> int | None:
    """The id of the process that drives the run, 0 if the id cannot be read, None if no process drives it."""
    path = os.path.join(folder, LOCK)
    if not locks.is_locked(path):
        return None
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return 0
