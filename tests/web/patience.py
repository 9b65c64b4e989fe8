"""Waits for what other processes do, but not forever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from support import Project

PATIENCE = 60.0
"""Seconds in which something has to happen."""
T = TypeVar("T")


def until(look: Callable[[], T], is_wanted: Callable[[T], bool]) -> T:
    """What `look` finds, once it is what is wanted."""
    deadline = time.monotonic() + PATIENCE
    while not is_wanted(found := look()):
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s; last seen: {found}"
        time.sleep(0.05)
    return found


def ended(project: Project, run: str) -> str:
    """The status of a run, once it has ended."""
    found = until(lambda: project.json("runs", run), lambda now: now["status"] not in ("running", "waiting"))
    return str(found["status"])
