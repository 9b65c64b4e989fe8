"""Compares the times of jobs: every job once per round, in turn, so that noise affects all of them equally."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

Job = Callable[[], float]
TALK_SECONDS = 5.0


class BenchError(Exception):
    """The measured code did not give the expected result."""


class Sample(NamedTuple):
    """The times of one job."""

    times: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.times, n=20, method="inclusive")[-1]

    @property
    def best(self) -> float:
        return min(self.times)


def talk(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def interleave(title: str, jobs: Mapping[str, Job], rounds: int) -> dict[str, Sample]:
    """Run every job once per round. Each round begins with another job, so that the order varies."""
    talk(f"{title}: {rounds} rounds of {len(jobs)}")
    times: dict[str, list[float]] = {name: [] for name in jobs}
    names = list(jobs)
    said = time.monotonic()
    for number in range(rounds):
        turn = number % len(names)
        for name in [*names[turn:], *names[:turn]]:
            times[name].append(jobs[name]())
        if time.monotonic() - said > TALK_SECONDS:
            said = time.monotonic()
            talk(f"{title}: {number + 1} of {rounds}")
    return {name: Sample(tuple(values)) for name, values in times.items()}


def timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def spawn(argv: list[str], env: Mapping[str, str], stdin: str = os.devnull, stdout: str = os.devnull) -> float:
    """How long a process takes from its start to its end, with as little overhead as possible."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    begin = time.perf_counter()
    process = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    _, status = os.waitpid(process, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise BenchError(f"`{' '.join(argv)}` ended with {os.waitstatus_to_exitcode(status)}")
    return seconds
