"""Who may drive a run, and what still works for it. Both are locks that die with their holder, so none goes stale.

A program that a step starts inherits a locked descriptor. If it outlives us, its lock tells the next driver, which
then does not start a second one beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import signal
import time
from collections.abc import Iterator

from handrail.engine.family import carriers, descendants
from handrail.engine.session import make_private
from handrail.errors import RefusedError

LOCK = "lock"
TRIES = 40
PROGRAMS = "programs"


@contextlib.contextmanager
def held(folder: str) -> Iterator[None]:
    """This process drives the run, and no other does."""
    make_private(folder)
    handle = _locked(os.path.join(folder, LOCK), TRIES)
    if handle is None:
        who = holder(folder)
        message = f"run `{os.path.basename(folder)}` is driven by process {who or 'unknown'}"
        hint = f"wait for it, or `handrail stop {os.path.basename(folder)}`"
        raise RefusedError(message, hint)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def holder(folder: str) -> int | None:
    """The process that drives the run, if one does."""
    path = os.path.join(folder, LOCK)
    if not _is_locked(path):
        return None
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return 0


def _locked(path: str, tries: int = 1) -> int | None:
    """A descriptor that holds the lock, or nothing when somebody else has it. Who only looks has it for a moment."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for left in reversed(range(tries)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.005 if left else 0)
        else:
            return handle
    os.close(handle)
    return None


def _is_locked(path: str) -> bool:
    if not os.path.exists(path):
        return False
    handle = _locked(path)
    if handle is None:
        return True
    os.close(handle)
    return False


class Programs:
    """The programs that the steps of a run started, each by the path of its step.

    They are known by the lock that they inherited, and what they started in turn by the key in its environment.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, PROGRAMS)

    def _file(self, path: str) -> str:
        return os.path.join(self.folder, hashlib.sha256(path.encode()).hexdigest()[:24])

    def hold(self, path: str) -> int | None:
        """A locked descriptor for a program to inherit. The caller closes it when the step is done."""
        make_private(self.folder)
        return _locked(self._file(path), TRIES)

    def is_held(self, path: str) -> bool:
        """Does a program that this step started still live, as far as its lock tells?"""
        return _is_locked(self._file(path))

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
            files = {os.path.realpath(entry.path) for entry in os.scandir(self.folder) if _is_locked(entry.path)}
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
