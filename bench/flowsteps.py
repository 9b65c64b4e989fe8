"""Measures a step of a long run, steps of short runs, and the bare write of a record, all in turn.

Disks sometimes stall for seconds, so runs that follow each other are not comparable. Here a long run pauses after every
`HOLD` steps. During the pause, short runs are run in another thread, and bare records are written.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.flowplace import Ends, Flows, Ran, Watch
from bench.measure import BenchError, Sample, talk, timed

LONG = 10_000
HOLD = 250
BLOCK = 1_000
BARE = 50
TENS = 4
TALK = 2_000
PAIRS = 15


class Steps:
    """The measurements: runs by their length, and the seconds of every bare record."""

    def __init__(self, flows: Flows, folder: Path) -> None:
        self.flows = flows
        self.runs: dict[int, list[Ran]] = {10: [], 100: [], 1_000: []}
        self.bare: list[float] = []
        self.lines = _records(flows.run("n100"), 100)
        self.handle = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self.end = 0
        talk(f"{LONG} steps, with short runs in between")
        with ThreadPoolExecutor(1) as aside:
            try:
                self.long = flows.run(f"n{LONG}", Watch(lambda done: self._between(done, aside)))
            finally:
                os.close(self.handle)
        _records(self.long, LONG)
        self.pairs = [self._pair() for _ in range(PAIRS)]

    def _pair(self) -> tuple[float, float]:
        """Seconds per step of a whole run, and seconds per record for only writing the same bytes right after it."""
        ran = self.flows.run(f"n{BLOCK}", Ends())
        handle, end = os.open(ran.folder / "again", os.O_RDWR | os.O_CREAT, 0o600), 0
        lines = ran.lines
        try:
            begin = time.perf_counter()
            for line in lines:
                os.pwrite(handle, line, end)
                os.fsync(handle)
                end += len(line)
            return ran.watch.seconds / BLOCK, (time.perf_counter() - begin) / len(lines)
        finally:
            os.close(handle)

    def _between(self, done: int, aside: ThreadPoolExecutor) -> None:
        if done % HOLD == 0:
            aside.submit(self._others, done).result()
        if done % TALK == 0:
            talk(f"steps: {done} of {LONG}")

    def _others(self, done: int) -> None:
        turns: list[Callable[[], None]] = [self._append, lambda: self._run(10, TENS), lambda: self._run(100, 1)]
        turn = done // HOLD % len(turns)
        for job in [*turns[turn:], *turns[:turn]]:
            job()
        if done % BLOCK == 0:
            self._run(1_000, 1)

    def _run(self, size: int, times: int) -> None:
        self.runs[size] += [self.flows.run(f"n{size}") for _ in range(times)]

    def _append(self) -> None:
        """Write the bytes of real records one after the other to an open file."""
        for line in self.lines[:BARE]:
            self.bare.append(timed(partial(self._put, line)))

    def _put(self, line: bytes) -> None:
        os.pwrite(self.handle, line, self.end)
        os.fsync(self.handle)
        self.end += len(line)

    @property
    def late(self) -> Sample:
        """Each step of the second half of the long run."""
        return Sample(tuple(self.long.watch.steps[LONG // 2 :]))

    @property
    def short(self) -> Sample:
        """Each step of the runs of 100 steps that were run during that half."""
        runs = self.runs[100]
        return Sample(tuple(step for ran in runs[len(runs) // 2 :] for step in ran.watch.steps[1:]))

    @property
    def every(self) -> Sample:
        return Sample(tuple(self.long.watch.steps[1:]))

    def seconds(self, size: int) -> float:
        """Seconds per step of a run of this length: the time of the whole run divided by its steps."""
        if size == LONG:
            steps = self.long.watch.steps
            return statistics.median(sum(steps[at : at + BLOCK]) / BLOCK for at in range(0, LONG, BLOCK))
        return statistics.median(ran.watch.seconds / size for ran in self.runs[size])

    def bytes(self, size: int) -> float:
        """Bytes per step in the journal of a run of this length."""
        ran = self.long if size == LONG else self.runs[size][0]
        return sum(map(len, ran.lines)) / size


def _records(ran: Ran, size: int) -> list[bytes]:
    """The records of all steps except the first.

    The journal has to have one record per step, one for the end, and few others: an event that is not durable gets its
    own record if it has waited long enough.
    """
    lines = ran.lines
    if not size + 1 <= len(lines) <= size * 1.05 + 3:
        raise BenchError(f"{size} steps left {len(lines)} records, expected about {size + 1}")
    return lines[1:-1]
