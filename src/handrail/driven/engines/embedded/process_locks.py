"""Which process drives a run, and which programs still run for it. Both hold locks that end with them.

A program that a step starts inherits a locked descriptor. If the program outlives its driver, the next driver sees the
lock and does not start the program again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator

from handrail.base import files, locks
from handrail.base.digest import hex_digest
from handrail.base.errors import RefusedError, StateError
from handrail.base.files import make_private
from handrail.base.processes import descendants, processes_with
from handrail.driven.engines.embedded.run_folders import LOCK, PROGRAMS, RunGone, announce, holder


@contextlib.asynccontextmanager
async def run_locked(folder: str) -> AsyncIterator[None]:
    """Hold the lock of a run. A probe holds the lock briefly, so a failed attempt is retried for a moment."""
    end = time.monotonic() + locks.PROBE_SECONDS
    while (handle := acquire_run(folder)) is None:
        if time.monotonic() >= end:
            raise _driven(folder)
        await asyncio.sleep(0.001)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        announce(folder)
        yield
    finally:
        os.close(handle)
        announce(folder)


def acquire_run(folder: str) -> int | None:
    """Acquire the lock of a run; None if a process holds it. Raises `RunGone` if the run was removed meanwhile."""
    path = os.path.join(folder, LOCK)
    try:
        handle = locks.acquire(path)
    except StateError:
        if not os.path.isdir(folder):
            raise RunGone(folder) from None
        raise
    if handle is not None and files.identity(handle) != files.identity(path):
        os.close(handle)
        raise RunGone(folder)
    return handle


def _driven(folder: str) -> RefusedError:
    run = os.path.basename(folder)
    message = f"run `{run}` is driven by process {holder(folder) or 'unknown'}"
    return RefusedError(message, f"wait until it ends, or run `handrail stop {run}`")


class Programs:
    """The programs that the steps of a run started, by the path of the step.

    A program is recognised by the lock that it inherited, and its children by the key in their environment.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, PROGRAMS)

    def _file(self, path: str) -> str:
        return os.path.join(self.folder, hex_digest(path.encode())[:24])

    def hold(self, path: str) -> int | None:
        """A locked descriptor for a program to inherit. The caller closes it when the step is done."""
        make_private(self.folder)
        return locks.acquire(self._file(path), locks.PROBE_SECONDS)

    def is_held(self, path: str) -> bool:
        """True if a program that this step started still holds its lock."""
        return locks.is_locked(self._file(path))

    def is_running(self, path: str, key: str) -> bool:
        return self.is_held(path) or bool(processes_with(f"HANDRAIL_KEY={key}"))

    def release(self, path: str, handle: int) -> None:
        """Release the lock when the step is done. Nobody waits for programs that it left running."""
        files.remove(self._file(path))
        os.close(handle)

    def pids(self, path: str, key: str) -> set[int]:
        """The processes that still run for a step; empty if the system does not show them."""
        return processes_with(f"HANDRAIL_KEY={key}") | _holders({os.path.realpath(self._file(path))})

    async def end(self, run: str) -> None:
        """Kill every process that outlived the driver of a run."""
        held = {os.path.realpath(entry.path) for entry in files.entries(self.folder) if locks.is_locked(entry.path)}
        for _ in range(20):
            found = processes_with(f"HANDRAIL_RUN={run}") | _holders(held)
            found |= descendants(found)
            for pid in found - {os.getpid(), os.getppid()}:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                return
            await asyncio.sleep(0.05)


def _holders(held: set[str]) -> set[int]:
    """Processes that have one of these files open."""
    found: set[int] = set()
    for process in files.entries("/proc") if held else ():
        for link in files.entries(f"{process.path}/fd") if process.name.isdigit() else ():
            with contextlib.suppress(OSError):
                if os.readlink(link.path) in held:
                    found.add(int(process.name))
    return found - {os.getpid()}
