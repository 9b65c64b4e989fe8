"""Measures what an idle terminal surface costs: its processor time, compared with a Textual app that shows nothing."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bench.flowplace import Flows, many
from bench.measure import BenchError, talk
from bench.place import environment
from bench.rows import Bound, Part, Row

RUNS, STEPS = 20, 10
WARM_SECONDS, IDLE_SECONDS = 25.0, 60.0
ROWS, COLUMNS = 24, 80
EMPTY = "from textual.app import App; App().run()"
ABOUT = f"""\
`handrail ui` shows a project with {RUNS} runs that have ended. Beside it runs a Textual app without any widget, in a
terminal of the same size. Both are left alone for {IDLE_SECONDS:.0f} seconds. Their processor time is compared, without
that of their start."""


class Shown(NamedTuple):
    """A program in a terminal of its own."""

    process: subprocess.Popen[bytes]
    written: list[int]
    """How many bytes it wrote, piece by piece."""


def measure(folder: Path) -> Part:
    place = folder / "terminal"
    flows = Flows(place, {"done": many(STEPS)})
    for _ in range(RUNS):
        flows.run("done")
    env = {**environment(place / "home"), "TERM": "xterm-256color"}
    handrail = [sys.executable, "-P", "-m", "handrail", "--project", str(flows.project), "ui"]
    talk(f"an idle terminal surface and an empty Textual app, {IDLE_SECONDS:.0f} seconds")
    with _in_terminal(handrail, env) as own, _in_terminal([sys.executable, "-P", "-c", EMPTY], env) as empty:
        time.sleep(WARM_SECONDS)
        before = _seconds(own), _seconds(empty)
        time.sleep(IDLE_SECONDS)
        mine, other = _seconds(own) - before[0], _seconds(empty) - before[1]
    row = Row("idle terminal surface", "empty Textual app", mine / other, bound=Bound(2))
    return Part("An idle terminal", ABOUT, [row])


@contextmanager
def _in_terminal(argv: list[str], env: dict[str, str]) -> Iterator[Shown]:
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(argv, env=env, stdin=other, stdout=other, stderr=other, start_new_session=True)
    os.close(other)
    shown = Shown(process, [])
    reader = threading.Thread(target=_drain, args=(own, shown), daemon=True)
    reader.start()
    try:
        yield shown
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(own)


def _drain(terminal: int, shown: Shown) -> None:
    """Read what is written, so that nothing waits for it."""
    with suppress(OSError):  # the program has ended
        while data := os.read(terminal, 65_536):
            shown.written.append(len(data))


def _seconds(shown: Shown) -> float:
    """The processor time of a program that shows something."""
    if shown.process.poll() is not None or sum(shown.written) < 1_000:
        raise BenchError(f"`{shown.process.args!r}` does not show anything")
    tasks = Path(f"/proc/{shown.process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9
