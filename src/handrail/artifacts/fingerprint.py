"""Tells whether a file was changed between two looks at it: its identity, its time and its content."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time

from handrail.state.regular import Unreadable, read_regular

MAX_BYTES = 64 * 1024 * 1024
"""Larger files are not published."""
TICK = 20_000_000
"""In nanoseconds. File systems do not measure time more finely: two writes within one tick may look like one."""


def fingerprint(path: str) -> str | None:
    """Differs after each write to a settled file, even if the same content is written again. None if there is none."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{seen.st_ino} {seen.st_mtime_ns} {digest_of_file(path)}"


async def settle(path: str) -> None:
    """Wait a tick if the file was written within the last one, so that its next write gets another time."""
    try:
        age = time.time_ns() - os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return
    if 0 <= age < TICK:
        await asyncio.sleep(TICK / 1e9)


def digest_of_file(path: str) -> str | None:
    try:
        return hashlib.sha256(read_regular(path, MAX_BYTES)).hexdigest()
    except Unreadable:
        return None
