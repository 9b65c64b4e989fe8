"""Measures a whole session of the real Claude Code with a scripted model, with and without Handrail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from bench import host
from bench.measure import BenchError, Job, Sample, interleave, spawn, timed
from bench.piworkflows import Missing
from bench.place import KEY, TASK, environment, write_workflow
from bench.rows import Bound, Part, Row, skipped, slower

ROUNDS, SHORT_ROUNDS, CALLS, STARTS = 5, 20, 50, 10
PYTHON = "`python -I -c pass`"
WITHOUT = "the same without Handrail"
WHOLE = f"a session of {CALLS} tool calls"
EACH, ONCE = "time added per tool call", "time added once per session"
BOUNDS = {ONCE: Bound(30)}
ABOUT = f"""\
The real Claude Code without a terminal, a scripted model on this machine that answers immediately, and {CALLS} turns
with one `Bash` call of `true` each. With Handrail, a workflow of one phase is started before and finished after these
calls. {ROUNDS} sessions of each, in turn, and {SHORT_ROUNDS} without a tool call. *Once per session* is the difference
between the sessions without tool calls: the server of `workflow_step`, the start, one move and the end. *Per tool
call* is the remaining difference between the long sessions, divided by {CALLS}. A model that takes seconds per turn
hides most of it."""


class _Side(NamedTuple):
    """Claude Code with its own home, the prompt, and the last turns of the model."""

    claude: host.Claude
    prompt: str
    end: tuple[host.Turn, ...]

    def run(self, calls: int) -> float:
        model = self.claude.model
        model.requests.clear()
        model.script(*[host.BASH] * calls, *self.end)
        seconds = timed(self._finish)
        results = host.tool_results(model.received()[-1])
        led = len(self.end) == 1 or results[-1].startswith("✓ Finished")
        if results.count(host.RAN) != calls or not led:
            raise BenchError(f"{results.count(host.RAN)} of {calls} calls ran; the last result was {results[-1:]}")
        return seconds

    def _finish(self) -> None:
        said = host.answer(self.claude, self.prompt)
        if said != host.DONE.text:
            raise BenchError(f"the session ended with {said!r}")


def measure(folder: Path, missing: Missing | None) -> Part:
    title = "A whole session in Claude Code"
    if missing:
        rows = [skipped(WHOLE, WITHOUT, None, missing.why)]
        return Part(title, ABOUT, [*rows, *[skipped(what, PYTHON, None, missing.why) for what in (EACH, ONCE)]])
    model = host.Model([])
    try:
        return Part(title, ABOUT, _rows(folder / "session", model))
    finally:
        model.close()


def _rows(folder: Path, model: host.Model) -> list[Row]:
    ours = _Side(host.Claude(folder / "with", model), f"/workflow {KEY} {TASK}", (host.NEXT, host.DONE))
    bare = _Side(host.Claude(folder / "bare", model), TASK, (host.DONE,))
    for side in (ours, bare):
        write_workflow(side.claude.project / ".pi" / "workflows" / KEY, 0, ("build",))
    ours.claude.handrail("install", "claude")
    starts: list[float] = []

    def start() -> float:
        argv, env = [sys.executable, "-I", "-c", "pass"], environment(folder)
        starts.extend(spawn(argv, env) for _ in range(STARTS))
        return 0.0

    long: dict[str, Job] = {"with": lambda: ours.run(CALLS), "bare": lambda: bare.run(CALLS)}
    short: dict[str, Job] = {
        "with, no calls": lambda: ours.run(0),
        "bare, no calls": lambda: bare.run(0),
        "python": start,
    }
    ours.run(0)
    bare.run(0)
    times = {**interleave("sessions", long, ROUNDS), **interleave("short sessions", short, SHORT_ROUNDS)}
    times["python"] = Sample(tuple(starts))
    medians = {name: sample.median for name, sample in times.items()}
    minima = {name: sample.best for name, sample in times.items()}
    added = [
        Row(what, PYTHON, rule(medians) / medians["python"], rule(minima) / minima["python"], BOUNDS.get(what))
        for what, rule in {EACH: _each, ONCE: _once}.items()
    ]
    return [slower(WHOLE, WITHOUT, times["with"], times["bare"]), *added]


def _once(seconds: dict[str, float]) -> float:
    return seconds["with, no calls"] - seconds["bare, no calls"]


def _each(seconds: dict[str, float]) -> float:
    return (seconds["with"] - seconds["bare"] - _once(seconds)) / CALLS
