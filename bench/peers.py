"""Compares steps on our engine with steps on other embeddable engines. Says why if these cannot be installed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from bench.flowplace import Flows, Watch, many
from bench.measure import Sample, talk
from bench.piworkflows import Missing
from bench.place import ROOT, environment
from bench.rows import Part, Row, faster, skipped

SETUP, PYTHON = ROOT / "scripts" / "peers", ROOT / ".cache" / "bench-peers" / "bin" / "python"
RUN = ROOT / "bench" / "peerrun.py"
INSTALL_SECONDS, RUN_SECONDS = 300.0, 60.0
SIZES = {100: 10, 1_000: 1}
EVERY = 25
NAMES = {
    "dbos": "DBOS on SQLite",
    "langgraph": "LangGraph on SQLite, constant state",
    "langgraph-kept": "LangGraph on SQLite, results kept in its state",
}
OFF = {
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "DO_NOT_TRACK": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
ABOUT = f"""\
The same steps on other engines that need no server: each in its own process, with its files on the same disk, and each
result on disk before the next step starts. DBOS runs a workflow of steps with its default SQLite database. LangGraph
runs one node in a loop with `SqliteSaver` and `durability="sync"`, once with a state of constant size and once with a
state that keeps all results, as our runs do. A step lasts from its start to the start of the next. Both sides pause
after every {EVERY} steps while the other side runs as many. {SIZES[100]} runs of 100 steps and one of 1,000. Starting,
importing and connecting are not measured. The ratio says how many times as fast Handrail is."""


def find_peers() -> Missing | None:
    """Install the pinned versions if needed. None if the engines can be run."""
    talk("the other engines: installing if needed")
    process = subprocess.Popen([str(SETUP), sys.executable], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        code = process.wait(INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    return None if code == 0 and PYTHON.exists() else Missing("they could not be installed; see above")


def measure(folder: Path) -> Part:
    missing = find_peers()
    found: list[Row] = []
    for engine, name in NAMES.items():
        times = missing or _in_turn(engine, folder / engine)
        for size in SIZES:
            what = f"a step of {size:,}"
            if isinstance(times, Missing):
                found.append(skipped(what, name, None, times.why))
            else:
                found.append(faster(what, name, *times[size]))
    return Part("Other engines", ABOUT, found)


def _in_turn(engine: str, folder: Path) -> dict[int, tuple[Sample, Sample]] | Missing:
    """The seconds of each step, ours and theirs, by the length of the run."""
    talk(f"{engine}, in turn with ours")
    flows = Flows(folder, {f"n{size}": many(size) for size in SIZES})
    ours: dict[int, list[float]] = {size: [] for size in SIZES}
    theirs: dict[int, list[float]] = {size: [] for size in SIZES}
    runs = [size for size, rounds in SIZES.items() for _ in range(rounds)]
    try:
        with Peer(engine, folder, runs) as peer:
            peer.ready()
            for size in runs:
                ours[size] += flows.run(f"n{size}", Watch(peer.after)).watch.steps[1:]
            for size, steps in zip(runs, peer.steps(), strict=True):
                theirs[size] += steps
    except PeerGone:
        return Missing("it failed, or took too long; see above")
    return {size: (Sample(tuple(ours[size])), Sample(tuple(theirs[size]))) for size in SIZES}


class PeerGone(Exception):
    """The process of the other engine ended or was killed."""


class Peer:
    """Another engine in its own process. It waits for its turn after every `EVERY` steps."""

    def __init__(self, engine: str, folder: Path, runs: list[int]) -> None:
        self.argv = [str(PYTHON), "-I", str(RUN), engine, str(folder), f"{EVERY}", *map(str, runs)]
        self.env = {**environment(folder), **OFF}

    def __enter__(self) -> Peer:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.argv, env=self.env, stdin=pipe, stdout=pipe, text=True)
        self.watchdog = threading.Timer(RUN_SECONDS, self.process.kill)
        self.watchdog.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.watchdog.cancel()
        self.process.kill()
        with contextlib.suppress(BrokenPipeError), self.process:
            pass

    def ready(self) -> None:
        """Wait until the engine is ready for its first step."""
        self._read_line()

    def after(self, done: int) -> None:
        """Let the engine run as many steps as we did."""
        if done % EVERY == 0:
            self._turn()

    def steps(self) -> list[list[float]]:
        """The seconds of each step of each run. Waits until all are done."""
        times: list[list[float]] = json.loads(self._turn())
        return times

    def _turn(self) -> str:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except OSError as error:
            raise PeerGone from error
        return self._read_line()

    def _read_line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise PeerGone
        return line
