"""Finds the processes that belong to a program: its descendants, and processes with its mark in their environment.

A child that leaves its process group, or whose parent has ended, still has the mark. On a system without `/proc`, the
result is empty, so a caller also needs the process id of the program and its process group.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

MARK = "HANDRAIL_CALL"
TABLE = "/proc"


def family(pid: int, mark: str, parents: Mapping[int, int] | None = None) -> set[int]:
    """The descendants of a process and the processes with its mark, without the process itself."""
    parents = alive() if parents is None else parents
    return descendants({pid}, parents) | processes_with(f"{MARK}={mark}", parents) - {pid}


def descendants(pids: set[int], parents: Mapping[int, int] | None = None) -> set[int]:
    """All direct and indirect children of these processes."""
    parents = alive() if parents is None else parents
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        parent_id = waiting.pop()
        children = [child for child, parent in parents.items() if parent == parent_id and child not in found]
        found.update(children)
        waiting.extend(children)
    return found - pids


def processes_with(entry: str, parents: Mapping[int, int] | None = None) -> set[int]:
    """All other processes that have exactly this `NAME=value` in their environment."""
    wanted = entry.encode("utf-8", "surrogateescape")
    parents = alive() if parents is None else parents
    return {pid for pid in parents if pid != os.getpid() and _has_entry(pid, wanted)}


def alive() -> dict[int, int]:
    """All living processes, each with the id of its parent; empty if the system has no `/proc`.

    Reading the whole table takes milliseconds, so a caller that needs it twice passes it on.
    """
    found: dict[int, int] = {}
    try:
        names = os.listdir(TABLE)
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"{TABLE}/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    found[int(name)] = int(fields[1])
    return found


def _has_entry(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"{TABLE}/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False
