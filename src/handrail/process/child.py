"""Starts other programs. No other module does. Takes argument lists, a timeout, and keeps limited output.

A program runs in its own process group. After the timeout, the whole group is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from handrail.process.family import MARK, family

KEEP = 65_536
MAX_LINE = 64 * 1024 * 1024
GRACE = 2.0
TICK = 0.05


@dataclass(frozen=True, kw_only=True)
class Task:
    """A program to run: arguments, folder, environment and timeout. `hold` is a descriptor that it inherits."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    timeout: float
    stdin: bytes | None = None
    hold: int | None = None


@dataclass(frozen=True)
class Ended:
    """How a program ended. `exit_code` is negative for a signal; `output` is the end of its output.

    `left_out` is the number of bytes before `output` that were not kept.
    """

    exit_code: int
    output: str
    timed_out: bool
    seconds: float
    left_out: int = 0


@dataclass(frozen=True)
class Printed:
    """How a program ended, and what it printed: the beginning of its standard output, the end of its standard error.

    `left_out` is the number of bytes after `data` that were not kept.
    """

    exit_code: int
    data: bytes
    errors: str
    timed_out: bool
    left_out: int = 0


async def run(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float, stdin: bytes | None = None
) -> Ended:
    """Run a program until it ends. Raises `OSError` if it cannot be started."""
    return await perform(Task(argv=argv, cwd=cwd, env=env, timeout=timeout, stdin=stdin))


async def start(
    task: Task, *, errors: int = asyncio.subprocess.STDOUT, own_group: bool = True
) -> asyncio.subprocess.Process:
    """Start a program in its own process group, or in ours. Raises `OSError` if it cannot be started."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *task.argv,
            cwd=task.cwd,
            env=dict(task.env),
            stdin=asyncio.subprocess.DEVNULL if task.stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=MAX_LINE,
            start_new_session=own_group,
            pass_fds=() if task.hold is None else (task.hold,),
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:  # wait for the start: only a started process can be killed
        await _kill_group(await starting)
        raise


async def perform(task: Task, keep: int = KEEP, heard: Callable[[bytes], None] | None = None) -> Ended:
    """Run a task until it ends. Keeps the last `keep` bytes of its output. `heard` gets all of it while it runs."""
    begin, kept = time.monotonic(), _Tail(keep, heard)
    code, timed_out = await _heard(task, kept)
    text = kept.data.decode("utf-8", "replace")
    return Ended(code, text, timed_out, time.monotonic() - begin, kept.left_out)


async def capture(task: Task, keep: int) -> Printed:
    """Run a task until it ends. Keeps the first `keep` bytes of its standard output, apart from its errors."""
    kept, errors = _Head(keep), _Tail(KEEP)
    code, timed_out = await _heard(task, kept, errors)
    return Printed(code, bytes(kept.data), errors.data.decode("utf-8", "replace"), timed_out, kept.left_out)


async def _heard(task: Task, kept: _Kept, errors: _Kept | None = None) -> tuple[int, bool]:
    """Run a task until it ends: its exit code, and whether that was at its timeout. Errors may be kept apart."""
    mark = uuid.uuid4().hex
    apart = asyncio.subprocess.STDOUT if errors is None else asyncio.subprocess.PIPE
    process = await start(replace(task, env={**task.env, MARK: mark}), errors=apart)
    output = asyncio.gather(_collect(process.stdout, kept), _collect(process.stderr, errors))
    feeding = asyncio.ensure_future(feed(process, task.stdin))
    timed_out = False
    try:
        async with asyncio.timeout(task.timeout):
            await exited(process)
        with contextlib.suppress(TimeoutError):  # a background child may keep the output open forever
            await asyncio.wait_for(asyncio.shield(output), GRACE)
    except TimeoutError:
        timed_out = True
    finally:
        await _kill_group(process)
        for pid in family(process.pid, mark):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # read to the end, so that the pipe is closed
            await asyncio.wait_for(asyncio.shield(output), GRACE)
        for reader in (output, feeding):
            reader.cancel()
        await asyncio.gather(output, feeding, return_exceptions=True)
    return process.returncode if process.returncode is not None else -signal.SIGKILL, timed_out


async def exited(process: asyncio.subprocess.Process) -> None:
    """Wait until a program has exited. Its `wait` also waits for its pipes, which a child of it may keep open."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None:
            await asyncio.wait({waiting}, timeout=TICK)
    finally:
        waiting.cancel()


def detach(argv: Sequence[str], env: Mapping[str, str], log: str) -> int:
    """Start a program that continues after this process ends, and return its process id. Its output goes to `log`."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    devnull = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    streams = [(os.POSIX_SPAWN_DUP2, devnull, 0), (os.POSIX_SPAWN_DUP2, handle, 1), (os.POSIX_SPAWN_DUP2, handle, 2)]
    try:
        return os.posix_spawn(argv[0], list(argv), dict(env), file_actions=streams, setsid=True)
    finally:
        os.close(handle)
        os.close(devnull)


def listed(argv: Sequence[str], seconds: float) -> str:
    """What a program of the system prints; empty if it cannot be started or takes too long. Blocks."""
    try:
        ended = subprocess.run(list(argv), capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603 - ours
    except (OSError, subprocess.SubprocessError):
        return ""
    return ended.stdout


async def feed(process: asyncio.subprocess.Process, data: bytes | None) -> None:
    """Write the data to the standard input of a program, then close it."""
    if data is None or process.stdin is None:
        return
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except (BrokenPipeError, ConnectionResetError):  # the program did not read its input
        return


class _Tail:
    """The last bytes of an output, and how many came before them."""

    def __init__(self, most: int, heard: Callable[[bytes], None] | None = None) -> None:
        self.most = most
        self.heard = heard
        self.data = bytearray()
        self.left_out = 0

    def add(self, piece: bytes) -> None:
        if self.heard is not None:
            self.heard(piece)
        self.data += piece
        too_many = max(0, len(self.data) - self.most)
        self.left_out += too_many
        del self.data[:too_many]


class _Head:
    """The first bytes of an output, and how many came after them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.data = bytearray()
        self.left_out = 0

    def add(self, piece: bytes) -> None:
        fits = piece[: self.most - len(self.data)]
        self.data += fits
        self.left_out += len(piece) - len(fits)


_Kept = _Tail | _Head


async def _collect(stream: asyncio.StreamReader | None, kept: _Kept | None) -> None:
    if stream is None or kept is None:
        return
    while piece := await stream.read(KEEP):
        kept.add(piece)


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM to the process group, and SIGKILL after `GRACE` seconds."""
    if process.returncode is not None:
        return signal_group(process.pid, signal.SIGTERM)
    signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE)
    signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # stuck in the kernel
        await asyncio.wait_for(process.wait(), GRACE)
    return None


def signal_group(pid: int, number: int) -> None:
    """Send a signal to all processes in the group of a program."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # already ended
        return


def has_group(pid: int) -> bool:
    """True if a process is left in the group of a program."""
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def tail(output: str, lines: int = 12, width: int = 400) -> str:
    """The last non-blank lines of an output, each cut to `width` characters. What is left out is marked with `…`."""
    found = [line.rstrip() for line in output.splitlines() if line.strip()]
    kept = [line if len(line) <= width else f"{line[: width - 1]}…" for line in found[-lines:]]
    return "\n".join(["…", *kept] if len(found) > lines else kept)


def attend(argv: Sequence[str], cwd: str) -> int:
    """Run a program that a person uses in this terminal, such as an editor. Returns its exit code. Blocks."""
    return subprocess.run(list(argv), cwd=cwd, check=False).returncode  # noqa: S603 - the person chose it
