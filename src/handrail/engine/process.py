"""Starting other programs: the only place that does. Argument lists, a time limit, bounded output.

A program runs in a process group of its own; when its time is up the whole group is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

KEEP = 65_536
GRACE = 2.0


class Ended(NamedTuple):
    """How a program ended. `exit_code` is negative for a signal; the end of its output is kept."""

    exit_code: int
    output: str
    timed_out: bool
    seconds: float


async def run(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float, stdin: bytes | None = None
) -> Ended:
    """Run a program to its end. Raises `OSError` when it cannot be started at all."""
    begin = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    kept = bytearray()
    output = asyncio.ensure_future(_collect(process, kept))
    feeding = asyncio.ensure_future(_feed(process, stdin))
    timed_out = False
    try:
        async with asyncio.timeout(timeout):
            await process.wait()
        with contextlib.suppress(TimeoutError):  # a child in the background may hold the output open for ever
            await asyncio.wait_for(asyncio.shield(output), GRACE)
    except TimeoutError:
        timed_out = True
    finally:
        await _end_group(process)
        for task in (output, feeding):
            task.cancel()
        await asyncio.gather(output, feeding, return_exceptions=True)
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Ended(code, kept.decode("utf-8", "replace"), timed_out, time.monotonic() - begin)


async def lines(argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float) -> AsyncIterator[str]:
    """The lines a program prints, as it prints them. When the caller stops listening, the program is ended."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        limit=16 * KEEP,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(timeout):
            async for line in process.stdout:
                yield line.decode("utf-8", "replace").rstrip("\n")
            await process.wait()
    finally:
        if process.returncode is None:
            await _end_group(process)


async def _feed(process: asyncio.subprocess.Process, data: bytes | None) -> None:
    if data is None or process.stdin is None:
        return
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except (BrokenPipeError, ConnectionResetError):  # the program did not want to read it
        return


async def _collect(process: asyncio.subprocess.Process, kept: bytearray) -> None:
    assert process.stdout is not None
    while piece := await process.stdout.read(KEEP):
        kept += piece
        del kept[:-KEEP]


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, and a little later SIGKILL, to the program and everything it started in its group."""
    if process.returncode is not None:
        return _signal_group(process.pid, signal.SIGTERM)
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE)
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()
    return None


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # already gone
        return


def tail(output: str, lines: int = 12, width: int = 400) -> str:
    """The last lines of an output, short enough to read."""
    kept = [line.rstrip()[:width] for line in output.splitlines() if line.strip()]
    return "\n".join(kept[-lines:])
