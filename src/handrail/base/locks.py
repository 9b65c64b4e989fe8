"""Locks between processes. The system releases a lock when its process ends, so there are no stale locks.

Only this module calls `flock`. If a child process inherits the descriptor, the lock is held until the child ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator

from handrail.base.errors import StateError
from handrail.base.files import make_private, way_out

PROBE_SECONDS = 0.2
"""How long to retry, because a probe such as `is_locked` holds the lock briefly."""
_LONGEST_PAUSE = 0.02


def acquire(path: str, seconds: float = 0.0) -> int | None:
    """Acquire the lock and return its descriptor, or None if another process still holds it after `seconds`."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"the lock `{path}` cannot be opened: {error.strerror}", way_out(path, error)) from error
    deadline, pause = time.monotonic() + seconds, 0.001
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            os.close(handle)
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return handle


def _try_lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def locked(path: str, seconds: float, busy: Callable[[], Exception]) -> Iterator[int]:
    """Hold a lock. Creates its folder if necessary. Raises `busy()` if the lock cannot be acquired in time."""
    make_private(os.path.dirname(path))
    handle = acquire(path, seconds)
    if handle is None:
        raise busy()
    try:
        yield handle
    finally:
        os.close(handle)


def is_locked(path: str) -> bool:
    """True if a process holds the lock now. Writes nothing, so it works in a folder that nobody may write to."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StateError(f"the lock `{path}` cannot be opened: {error.strerror}", way_out(path, error)) from error
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)
