"""Measures how long a resumed run takes until its next step starts. It reads the journal and skips finished steps."""

from __future__ import annotations

import json
import time
from pathlib import Path

from bench.flowplace import Flows, Phase, many
from bench.measure import BenchError, Job, Sample, interleave, talk, timed
from bench.rows import Bound, Row, slower
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun

SIZES = (1_000, 10_000)
ROUNDS = 5
READY = "ready"
LINEAR = Bound(2)
_CHECKSUM = 9


def rows(folder: Path, step: Sample) -> list[Row]:
    """The rows about resuming. `step` is the time of a step when it is run."""
    flows = Flows(folder, {f"f{size}": [*many(size), _failing()] for size in SIZES})
    begun = {size: flows.begin(f"f{size}") for size in SIZES}
    for size, run in begun.items():
        talk(f"a run of {size} steps that fails at the end")
        flows.drive(run, "failed")
    jobs: dict[str, Job] = {}
    for size, run in begun.items():
        jobs[f"resume {size}"] = _resume(flows, run, size)
        jobs[f"read {size}"] = _read(flows.attempt(run) / "journal", size)
    times = interleave("resume", jobs, ROUNDS)
    (flows.project / READY).touch()
    for size, run in begun.items():
        _finish(flows, run, size)
    few, most = SIZES
    long, short = times[f"resume {most}"], times[f"resume {few}"]
    return [
        slower(f"{most:,} steps resumed", "its journal, read and given to `json.loads`", long, times[f"read {most}"]),
        slower(f"{most:,} steps resumed, each", f"{few:,} steps resumed, each", long, short, LINEAR),
        slower(f"{most:,} steps resumed, each", "such a step when it is run", long, step),
    ]


def _failing() -> Phase:
    """A phase that fails until the file `ready` exists."""
    return {
        "id": "end",
        "steps": [{"id": "check", "node": "command", "params": {"argv": {"const": ["test", "-e", READY]}}}],
    }


def _resume(flows: Flows, run: LoadedRun, size: int) -> Job:
    """Seconds per step until the failed step starts again. It fails again, so that this can be repeated."""

    def job() -> float:
        begin = time.perf_counter()
        ran = flows.drive(run, "failed")
        return (ran.watch.first_node - begin) / size

    return job


def _read(journal: Path, size: int) -> Job:
    def read() -> None:
        for line in journal.read_bytes().splitlines():
            json.loads(line[_CHECKSUM:])

    return lambda: timed(read) / size


def _finish(flows: Flows, run: LoadedRun, size: int) -> None:
    """Raise `BenchError` if the run cannot be finished or if a step was run twice."""
    flows.drive(run, "completed")
    records = flows.app.runs.load(run.id).records
    started = [event.path for _, event in records if isinstance(event, run_events.NodeFinished)]
    done = [path for path in started if not path.startswith("end/")]
    if len(done) != size or len(set(done)) != size:
        raise BenchError(f"run `{run.id}` started {len(done)} nodes, {len(set(done))} of them once, expected {size}")
