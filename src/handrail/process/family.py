"""Which processes belong to a program: what descends from it, and what carries its mark in the environment.

A child that leaves its process group, or whose parent has died, still has the mark. Where the system does not tell,
nothing is found.
"""

from __future__ import annotations

import contextlib
import os

MARK = "HANDRAIL_CALL"


def family(pid: int, mark: str) -> set[int]:
    """Everything that descends from a process or carries its mark, but not the process itself."""
    return descendants({pid}) | carriers(f"{MARK}={mark}") - {pid}


def descendants(pids: set[int]) -> set[int]:
    """Everything that these processes have started, and what that has started."""
    parents = _parents()
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        above = waiting.pop()
        below = [child for child, parent in parents.items() if parent == above and child not in found]
        found.update(below)
        waiting.extend(below)
    return found - pids


def carriers(entry: str) -> set[int]:
    """Every other process that has this very `NAME=value` in its environment."""
    wanted = entry.encode("utf-8", "surrogateescape")
    return {pid for pid in _parents() if pid != os.getpid() and _carries(pid, wanted)}


def alive() -> set[int]:
    return set(_parents())


def _parents() -> dict[int, int]:
    """Every process that is alive, and who started it."""
    found: dict[int, int] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    found[int(name)] = int(fields[1])
    return found


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False
