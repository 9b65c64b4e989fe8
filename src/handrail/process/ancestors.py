"""The processes above this one: its parent, the parent of that, and so on, each as its command line.

Reads `/proc`; on a system without it, asks `ps`. Whatever cannot be read is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

MOST = 100
SECONDS = 5.0


def ancestors(pid: int) -> Iterator[tuple[str, ...]]:
    """The command lines above a process, the nearest first. The first word is the program."""
    if os.path.isdir("/proc/self"):
        yield from _from_proc(pid)
    else:
        yield from _from_ps(pid)


def _from_proc(pid: int) -> Iterator[tuple[str, ...]]:
    for _ in range(MOST):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
            if pid <= 0:
                return
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode("utf-8", "replace").split("\0")
        except (OSError, ValueError, IndexError):
            return
        yield tuple(words[:-1] if len(words) > 1 else words)
        try:
            yield (os.readlink(f"/proc/{pid}/exe"),)
        except OSError:  # a process of another user
            continue


def _from_ps(pid: int) -> Iterator[tuple[str, ...]]:
    """The same from one call of `ps`. Words with spaces are split, which only makes a match less likely."""
    from handrail.process.child import listed

    rows = [line.split(None, 2) for line in listed(["ps", "-axo", "pid=,ppid=,command="], SECONDS).splitlines()]
    known = {int(row[0]): (int(row[1]), row[2]) for row in rows if len(row) == 3 and row[0].isdigit()}
    for _ in range(MOST):
        if pid not in known or (pid := known[pid][0]) not in known:
            return
        yield tuple(known[pid][1].split())
