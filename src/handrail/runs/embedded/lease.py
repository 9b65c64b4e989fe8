"""Who may drive a run, and what still works for it. Both are locks that die with their holder, so none goes stale.

A program that a step starts inherits a locked descriptor. If it outlives us, its lock tells the next driver, which
then does not start a second one beside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from handrail.errors import RefusedError
from handrail.process.family import carriers, descendants
from handrail.state import locks
from handrail.state.digest import hex_digest
from handrail.state.files import make_private

LOCK = "lock"
PROGRAMS = "programs"


@contextlib.contextmanager
def held(folder: str) -> Iterator[None]:
    """This process drives the run, and no other does."""
    with locks.locked(os.path.join(folder, LOCK), locks.PROBE_SECONDS, lambda: _driven(folder)) as handle:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield


def _driven(folder: str) -> RefusedError:
    run = os.path.basename(folder)
    message = f"run `{run}` is driven by process {holder(folder) or 'unknown'}"
    return RefusedError(message, f"wait for it, or `handrail stop {run}`")


def holder(folder: str) -> int | None:
    """The process that drives the run, if one does."""
    path = os.path.join(folder, LOCK)
    if not locks.is_locked(path):
        return None
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return 0


class Programs:
    """The programs that the steps of a run started, each by the path of its step.

    They are known by the lock that they inherited, and what they started in turn by the key in its environment.
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
        """Does a program that this step started still live, as far as its lock tells?"""
        return locks.is_locked(self._file(path))

    def is_running(self, path: str, key: str) -> bool:
        return self.is_held(path) or bool(carriers(f"HANDRAIL_KEY={key}"))

    def release(self, path: str, handle: int) -> None:
        """The step is done: nothing that it left behind matters any more."""
        with contextlib.suppress(OSError):
            os.unlink(self._file(path))
        os.close(handle)

    def pids(self, path: str, key: str) -> set[int]:
        """Which processes are still at work for a step; empty where the system does not tell."""
        return carriers(f"HANDRAIL_KEY={key}") | _holders({os.path.realpath(self._file(path))})

    def end(self, run: str) -> None:
        """End everything that outlived the driver of a run."""
        files = set()
        with contextlib.suppress(OSError):
            files = {os.path.realpath(entry.path) for entry in os.scandir(self.folder) if locks.is_locked(entry.path)}
        for _ in range(20):
            found = carriers(f"HANDRAIL_RUN={run}") | _holders(files)
            found |= descendants(found)
            for pid in found - {os.getpid(), os.getppid()}:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                return
            time.sleep(0.05)


def _holders(files: set[str]) -> set[int]:
    """Processes that have one of these files open."""
    return {pid for pid in _processes() if files & _open_files(pid)} if files else set()


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _open_files(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"{folder}/{name}"))
    return found
