"""Runs a program and yields its output line by line. On exit, the program and all its child processes are killed.

Child processes are found by their parent and by a mark in the environment, which they inherit even if they leave the
process group. Both are looked up before any process is killed. On a system without `/proc`, the program and its process
group are killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType

from handrail.process.child import GRACE, KEEP, TICK, Task, exited, feed, has_group, signal_group, start
from handrail.process.family import MARK, alive, family


class Program:
    """A running program: `async with Program(task) as program: async for line in program.lines()`."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.mark = uuid.uuid4().hex
        self.errors = ""
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Future[None]] = []
        self._family: set[int] = set()

    async def __aenter__(self) -> Program:
        marked = replace(self.task, env={**self.task.env, MARK: self.mark})
        self._process = await start(marked, errors=asyncio.subprocess.PIPE)
        self._tasks = [
            asyncio.ensure_future(feed(self._process, self.task.stdin)),
            asyncio.ensure_future(self._read_errors()),
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(self._kill_all())

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines that the program prints, until it ends. A line longer than `MAX_LINE` is skipped."""
        assert self._process is not None
        assert self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # longer than the limit
                continue
            if not line:
                break
            yield line
        await exited(self._process)
        with contextlib.suppress(TimeoutError):  # a background child may keep it open forever
            await asyncio.wait_for(asyncio.shield(self._tasks[1]), GRACE)

    async def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        kept = b""
        while piece := await self._process.stderr.read(KEEP):
            kept = (kept + piece)[-KEEP:]
            self.errors = kept.decode("utf-8", "replace")

    async def _kill_all(self) -> None:
        """Send SIGTERM to all processes, and SIGKILL after `GRACE` seconds, until all have ended."""
        process = self._process
        assert process is not None
        number, waited = signal.SIGTERM, 0.0
        while self._still_alive(process):
            _signal(self._family | ({process.pid} if process.returncode is None else set()), number)
            signal_group(process.pid, number)
            await asyncio.sleep(TICK)
            waited += TICK
            number = signal.SIGTERM if waited < GRACE else signal.SIGKILL
            if waited > 5 * GRACE:  # not permitted, or stuck in the kernel
                break
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _still_alive(self, process: asyncio.subprocess.Process) -> bool:
        """True if a process of the program still runs. Found ones are kept: a child can outlive its parent."""
        running = alive()
        self._family |= family(process.pid, self.mark, running)
        self._family &= running.keys()
        return process.returncode is None or bool(self._family) or (not running and has_group(process.pid))


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
