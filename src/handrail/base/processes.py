"""Starts other programs, reads their output, and kills them together with their child processes.

No other module starts programs. A program gets an argument list, runs in its own process group and has a timeout;
limited output is kept. Children are found by their parent and by a mark in the environment, which they inherit even
if they leave the group. Without `/proc`, only the program and its group are killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

MARK = "HANDRAIL_CALL"
TABLE = "/proc"


SHORT = 0.5
"""Seconds in which process ids cannot go round. A program that ran for less time has started only later ids."""


def possible_family(pid: int, begin: float) -> dict[int, int]:
    """The processes that a program can have started which itself was started at this time, with their parents."""
    is_short = time.monotonic() - begin < SHORT
    return living_processes(after=pid) if is_short else living_processes(younger=True)


def family(pid: int, mark: str, parents: Mapping[int, int]) -> set[int]:
    """The descendants of a process and the processes with its mark, without the process itself."""
    return descendants({pid}, parents) | processes_with(f"{MARK}={mark}", parents) - {pid}


def descendants(pids: set[int], parents: Mapping[int, int] | None = None) -> set[int]:
    parents = living_processes() if parents is None else parents
    result: set[int] = set()
    waiting = list(pids)
    while waiting:
        parent_id = waiting.pop()
        children = [child for child, parent in parents.items() if parent == parent_id and child not in result]
        result.update(children)
        waiting.extend(children)
    return result - pids


def processes_with(entry: str, parents: Mapping[int, int] | None = None) -> set[int]:
    """All other processes that have exactly this `NAME=value` in their environment."""
    entry_bytes = entry.encode("utf-8", "surrogateescape")
    parents = living_processes() if parents is None else parents
    return {pid for pid in parents if pid != os.getpid() and _has_entry(pid, entry_bytes)}


def living_processes(*, younger: bool = False, after: int | None = None) -> dict[int, int]:
    """All living processes, each with the id of its parent; empty if the system has no `/proc`.

    With `younger`, only those that did not begin before this process: it can have started no others. With `after`, only
    those whose id was given after this one. Reading the whole table takes milliseconds, so a caller that needs it twice
    passes it on.
    """
    parents: dict[int, int] = {}
    try:
        names = [name for name in os.listdir(TABLE) if name.isdigit()]
        names = names if after is None else later_ids(names, after)
    except OSError:
        return parents
    oldest = 0
    for name in [*(["self"] if younger else []), *names]:
        try:
            handle = os.open(f"{TABLE}/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:
                fields = os.read(handle, 4096).rpartition(b")")[2].split(None, 20)
            finally:
                os.close(handle)
            state, parent, start_time = fields[0], int(fields[1]), int(fields[19])
        except (OSError, ValueError, IndexError):
            continue
        if name == "self":
            oldest = start_time
        elif state not in (b"Z", b"X") and start_time >= oldest:
            parents[int(name)] = parent
    return parents


def later_ids(names: list[str], pid: int) -> list[str]:
    """Those of these process ids that were given after one. Ids are given in order, and then from the bottom again."""
    try:
        with open(f"{TABLE}/loadavg", "rb") as file:
            newest = int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return names
    if newest < pid:
        return [name for name in names if int(name) > pid or int(name) <= newest]
    return [name for name in names if pid < int(name) <= newest]


def _has_entry(pid: int, entry_bytes: bytes) -> bool:
    try:
        with open(f"{TABLE}/{pid}/environ", "rb") as file:
            return entry_bytes in file.read().split(b"\0")
    except OSError:
        return False


KEPT_BYTES = 65_536
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
class ProgramResult:
    """How a program ended. `exit_code` is negative for a signal; `output` is the end of its output.

    `left_out` is the number of bytes before `output` that were not kept.
    """

    exit_code: int
    output: str
    timed_out: bool
    seconds: float
    left_out: int = 0


@dataclass(frozen=True)
class CapturedOutput:
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
) -> ProgramResult:
    """Run a program until it ends. Raises `OSError` if it cannot be started."""
    return await run_task(Task(argv=argv, cwd=cwd, env=env, timeout=timeout, stdin=stdin))


async def start(
    task: Task, *, errors: int = asyncio.subprocess.STDOUT, own_group: bool = True
) -> asyncio.subprocess.Process:
    """Start a program in its own process group, or in ours. Raises `OSError` if it cannot be started."""
    _wait_by_descriptors()
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


def _wait_by_descriptors() -> None:
    """Wait for programs as Python 3.12 does: in the event loop. Python 3.11 starts a thread for each program."""
    if sys.version_info >= (3, 12) or not hasattr(os, "pidfd_open"):
        return
    if isinstance(asyncio.get_child_watcher(), asyncio.ThreadedChildWatcher):
        with contextlib.suppress(OSError):  # an old kernel, or a sandbox
            os.close(os.pidfd_open(os.getpid()))
            asyncio.set_child_watcher(_LoopWatcher())


if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):

    class _LoopWatcher(asyncio.PidfdChildWatcher):
        """Uses the loop that runs at this moment, so that several threads can have loops."""

        _loop = property(lambda _self: asyncio.get_running_loop(), lambda _self, _loop: None)

        def attach_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
            """There is none to attach."""


async def run_task(
    task: Task, keep: int = KEPT_BYTES, listener: Callable[[bytes], None] | None = None
) -> ProgramResult:
    """Run a task until it ends. Keeps the last `keep` bytes of its output. `listener` gets all of it while it runs."""
    begin, output = time.monotonic(), _Part(keep, listener)
    code, timed_out = await _run_to_end(task, output)
    return ProgramResult(code, output.text, timed_out, time.monotonic() - begin, output.left_out)


async def capture(task: Task, keep: int) -> CapturedOutput:
    """Run a task until it ends. Keeps the first `keep` bytes of its standard output, apart from its errors."""
    output, errors = _Part(keep, is_first=True), _Part()
    code, timed_out = await _run_to_end(task, output, errors)
    return CapturedOutput(code, bytes(output.data), errors.text, timed_out, output.left_out)


async def _run_to_end(task: Task, part: _Part, errors: _Part | None = None) -> tuple[int, bool]:
    """Run a task until it ends: its exit code, and whether that was at its timeout. Errors may be kept apart."""
    mark, begin = uuid.uuid4().hex, time.monotonic()
    errors_target = asyncio.subprocess.STDOUT if errors is None else asyncio.subprocess.PIPE
    process = await start(replace(task, env={**task.env, MARK: mark}), errors=errors_target)
    output = asyncio.gather(_collect(process.stdout, part), _collect(process.stderr, errors))
    feed_task = asyncio.ensure_future(feed(process, task.stdin))
    timed_out = False
    try:
        async with asyncio.timeout(task.timeout):
            await wait_for_exit(process)
        with contextlib.suppress(TimeoutError):  # a background child may keep the output open forever
            await asyncio.wait_for(asyncio.shield(output), GRACE)
    except TimeoutError:
        timed_out = True
    finally:
        await _kill_group(process)
        _signal(family(process.pid, mark, possible_family(process.pid, begin)), signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # read to the end, so that the pipe is closed
            await asyncio.wait_for(asyncio.shield(output), GRACE)
        for reader in (output, feed_task):
            reader.cancel()
        await asyncio.gather(output, feed_task, return_exceptions=True)
    return process.returncode if process.returncode is not None else -signal.SIGKILL, timed_out


async def wait_for_exit(process: asyncio.subprocess.Process) -> None:
    """Wait until a program has exited. Its `wait` also waits for its pipes, which a child of it may keep open."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None:
            await asyncio.wait({waiting}, timeout=TICK)
    finally:
        waiting.cancel()


def start_detached(argv: Sequence[str], env: Mapping[str, str], log: str) -> int:
    """Start a program that continues after this process ends, and return its process id. Its output goes to `log`."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    devnull = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    streams = [(os.POSIX_SPAWN_DUP2, devnull, 0), (os.POSIX_SPAWN_DUP2, handle, 1), (os.POSIX_SPAWN_DUP2, handle, 2)]
    try:
        return os.posix_spawn(argv[0], list(argv), dict(env), file_actions=streams, setsid=True)
    finally:
        os.close(handle)
        os.close(devnull)


def output_of(argv: Sequence[str], seconds: float) -> str:
    """What a program of the system prints; empty if it cannot be started or takes too long. Blocks."""
    try:
        result = subprocess.run(list(argv), capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603 - ours
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout


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


class _Part:
    """The last bytes of an output, or the first ones, and how many others there were. `listener` gets all of them."""

    def __init__(
        self, most: int = KEPT_BYTES, listener: Callable[[bytes], None] | None = None, *, is_first: bool = False
    ) -> None:
        self.most = most
        self.listener = listener
        self.is_first = is_first
        self.data = bytearray()
        self.left_out = 0

    def add(self, piece: bytes) -> None:
        if self.listener is not None:
            self.listener(piece)
        self.data += piece
        too_many = max(0, len(self.data) - self.most)
        self.left_out += too_many
        del self.data[slice(self.most, None) if self.is_first else slice(too_many)]

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


async def _collect(stream: asyncio.StreamReader | None, part: _Part | None) -> None:
    if stream is None or part is None:
        return
    while piece := await stream.read(KEPT_BYTES):
        part.add(piece)


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM to the process group, and SIGKILL after `GRACE` seconds."""
    signal_group(process.pid, signal.SIGTERM)
    if process.returncode is None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
        signal_group(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # stuck in the kernel
            async with asyncio.timeout(GRACE):
                await process.wait()


def signal_group(pid: int, number: int) -> bool:
    """Send a signal to all processes in the group of a program; 0 is none. False if no process is left in it."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def tail(output: str, lines: int = 12, width: int = 400) -> str:
    """The last non-blank lines of an output, each cut to `width` characters. What is left out is marked with `…`."""
    lines_with_text = [line.rstrip() for line in output.splitlines() if line.strip()]
    short_lines = [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines_with_text[-lines:]]
    return "\n".join(["…", *short_lines] if len(lines_with_text) > lines else short_lines)


def run_in_terminal(argv: Sequence[str], cwd: str) -> int:
    """Run a program that a person uses in this terminal, such as an editor. Returns its exit code. Blocks."""
    return subprocess.run(list(argv), cwd=cwd, check=False).returncode  # noqa: S603 - the person chose it


class RunningProgram:
    """A running program: `async with RunningProgram(task) as program: async for lines in program.lines()`."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.mark = uuid.uuid4().hex
        self._errors = _Part()
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Future[None]] = []
        self._family: set[int] = set()
        self._begin = 0.0

    async def __aenter__(self) -> RunningProgram:
        task = replace(self.task, env={**self.task.env, MARK: self.mark})
        self._begin = time.monotonic()
        self._process = await start(task, errors=asyncio.subprocess.PIPE)
        self._tasks = [
            asyncio.ensure_future(feed(self._process, self.task.stdin)),
            asyncio.ensure_future(_collect(self._process.stderr, self._errors)),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self._kill_all())

    @property
    def errors(self) -> str:
        """The end of its standard error."""
        return self._errors.text

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """The lines that the program prints, until it ends: all that are there at once, without their line ends.

        A line longer than `MAX_LINE` is skipped.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        begun, is_too_long = bytearray(), False
        while piece := await self._process.stdout.read(KEPT_BYTES):
            first, *others = piece.split(b"\n")
            begun += first
            if is_too_long := is_too_long or len(begun) > MAX_LINE:
                begun.clear()
            if others:
                yield [*([] if is_too_long else [bytes(begun)]), *others[:-1]]
                begun, is_too_long = bytearray(others[-1]), False
        if begun:
            yield [bytes(begun)]
        await wait_for_exit(self._process)
        with contextlib.suppress(TimeoutError):  # a background child may keep it open forever
            await asyncio.wait_for(asyncio.shield(self._tasks[1]), GRACE)

    async def _kill_all(self) -> None:
        """Send SIGTERM to all processes, and SIGKILL after `GRACE` seconds, until all have ended."""
        process = self._process
        assert process is not None
        number, waited_seconds = signal.SIGTERM, 0.0
        while self._still_alive(process):
            _signal(self._family | ({process.pid} if process.returncode is None else set()), number)
            signal_group(process.pid, number)
            await asyncio.sleep(TICK)
            waited_seconds += TICK
            number = signal.SIGTERM if waited_seconds < GRACE else signal.SIGKILL
            if waited_seconds > 5 * GRACE:  # not permitted, or stuck in the kernel
                break
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _still_alive(self, process: asyncio.subprocess.Process) -> bool:
        """True if a process of the program still runs. Found ones are kept: a child can outlive its parent."""
        parents = possible_family(process.pid, self._begin)
        self._family |= family(process.pid, self.mark, parents)
        self._family &= parents.keys()
        return process.returncode is None or bool(self._family) or (not parents and signal_group(process.pid, 0))


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
