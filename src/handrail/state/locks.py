"""Locks between processes. A lock dies with the process that holds it, so none is ever left behind.

The only place that calls `flock`. A descriptor may be inherited by a program: then the lock lives as long as that
program does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator

from handrail.errors import StateError
from handrail.state.files import make_private

PROBE_SECONDS = 0.2
"""How long a lock may be held by somebody who only looks whether it is held."""
_LONGEST_PAUSE = 0.02


def acquire(path: str, seconds: float = 0.0) -> int | None:
    """A descriptor that holds the lock, or None if somebody else still holds it after so many seconds."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"the lock `{path}` cannot be opened: {error.strerror}") from error
    deadline, pause = time.monotonic() + seconds, 0.001
    while not _try(handle):
        if time.monotonic() >= deadline:
            os.close(handle)
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return handle


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def locked(path: str, seconds: float, busy: Callable[[], Exception]) -> Iterator[int]:
    """Hold a lock, in a folder that is made if it is missing; raises `busy()` if it cannot be had in time."""
    make_private(os.path.dirname(path))
    handle = acquire(path, seconds)
    if handle is None:
        raise busy()
    try:
        yield handle
    finally:
        os.close(handle)


def is_locked(path: str) -> bool:
    """True if some process holds the lock now."""
    if not os.path.exists(path):
        return False
    handle = acquire(path)
    if handle is None:
        return True
    os.close(handle)
    return False
