"""Which process drives a run, and whether a program outlived it. Small, so that `handrail runs` starts fast."""

from __future__ import annotations

import contextlib
import os
import time

from handrail.state import locks

LOCK = "lock"
PROGRAMS = "programs"
"""The folder of an attempt with one lock per program that its steps started."""


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


def has_program(attempt: str) -> bool:
    """True if a program that a step of this attempt started still runs."""
    folder = os.path.join(attempt, PROGRAMS)
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(locks.is_locked(os.path.join(folder, name)) for name in names)


def announce(folder: str) -> None:
    """Tell those who watch the runs of a project that the driver of this run came or went.

    They look at all runs if the folder of the project has another time than before. If this fails, they look later.
    """
    now = time.time_ns()
    for path in (os.path.join(folder, LOCK), os.path.dirname(folder)):
        with contextlib.suppress(OSError):
            os.utime(path, ns=(now, now))
