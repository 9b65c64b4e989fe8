"""A program that is listened to while it works, and everything it starts. When we let go, all of it is ended.

What it started is found by parentage and by a mark in the environment, which children inherit even where they leave
the process group; both are looked up before anything is ended.
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

from handrail.process.child import GRACE, KEEP, Task, feed, start
from handrail.process.family import MARK, alive, family

TICK = 0.05


class Program:
    """One program at work: `async with Program(task) as program: async for line in program.lines()`."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.mark = uuid.uuid4().hex
        self.errors = ""
        self._process: asyncio.subprocess.Process | None = None
        self._beside: list[asyncio.Future[None]] = []
        self._known: set[int] = set()

    async def __aenter__(self) -> Program:
        marked = replace(self.task, env={**self.task.env, MARK: self.mark})
        self._process = await start(marked, errors=asyncio.subprocess.PIPE)
        self._beside = [
            asyncio.ensure_future(feed(self._process, self.task.stdin)),
            asyncio.ensure_future(self._listen()),
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(self._end())

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def lines(self) -> AsyncIterator[bytes]:
        """What it prints, line by line, until it ends. A line that is too long is left out."""
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
        await self._process.wait()
        with contextlib.suppress(TimeoutError):  # something in the background may hold it open for ever
            await asyncio.wait_for(asyncio.shield(self._beside[1]), GRACE)

    async def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        kept = b""
        while piece := await self._process.stderr.read(KEEP):
            kept = (kept + piece)[-KEEP:]
            self.errors = kept.decode("utf-8", "replace")

    async def _end(self) -> None:
        """SIGTERM to all of it, and a little later SIGKILL to what is left, until nothing is."""
        process = self._process
        assert process is not None
        number, waited = signal.SIGTERM, 0.0
        while left := self._alive(process):
            _signal(left, number)
            await asyncio.sleep(TICK)
            waited += TICK
            number = signal.SIGTERM if waited < GRACE else signal.SIGKILL
            if waited > 5 * GRACE:  # not ours to end, or stuck in the kernel
                break
        await process.wait()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)

    def _alive(self, process: asyncio.subprocess.Process) -> set[int]:
        """Everything of it that still runs. What is seen once is remembered: a child outlives its parent."""
        self._known |= family(process.pid, self.mark)
        if process.returncode is None:
            self._known.add(process.pid)
        self._known &= alive() if self._known else set()
        return self._known


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
