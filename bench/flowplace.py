"""Flows with many steps in a temporary project, run as `handrail run` runs them. Measures when each step is done."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import BenchError
from bench.place import environment
from handrail.app import App
from handrail.driven.engines.embedded.engine import Embedded
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.run_events import Event

STEPS_A_PHASE = 10
RESULT = "x" * 20
Phase = dict[str, Any]


def many(steps: int) -> list[Phase]:
    """Phases of ten steps that only have a result. Written as a repeat, because a file may not have 10,000 phases."""
    same = [{"id": f"s{n}", "node": "set", "params": {"value": {"const": RESULT}}} for n in range(STEPS_A_PHASE)]
    rounds = {"var": "round", "from": 1, "to": steps // STEPS_A_PHASE}
    return [{"repeat": rounds, "phases": [{"id": "p${round}", "steps": same}]}]


class Watch:
    """Observes a run: how long it and each of its steps took, and when the first node started.

    `between` is called after each step with the number of finished steps. Its own time is not counted.
    """

    def __init__(self, between: Callable[[int], None] | None = None) -> None:
        self.between = between
        self.steps: list[float] = []
        self.seconds = self.first_node = self._since = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case run_events.StepDone():
                self._note()
                if self.between is not None:
                    self.between(len(self.steps))
                self._since = time.perf_counter()
            case run_events.StepStarted():
                self.first_node = self.first_node or time.perf_counter()
            case run_events.RunStarted():
                self._since = time.perf_counter()
            case run_events.RunEnded():
                self.seconds = sum(self.steps) + time.perf_counter() - self._since

    def _note(self) -> None:
        self.steps.append(time.perf_counter() - self._since)


class Ends(Watch):
    """Observes only the start and the end of a run, so that the steps are not slowed down."""

    def __call__(self, event: Event) -> None:
        kind = type(event)
        if kind is run_events.RunStarted:
            self._since = time.perf_counter()
        elif kind is run_events.RunEnded:
            self.seconds = time.perf_counter() - self._since


class Ran(NamedTuple):
    """A run that ended: its folder, its observer, and how long the whole call took."""

    folder: Path
    watch: Watch
    whole: float

    @property
    def lines(self) -> list[bytes]:
        return (self.folder / "journal").read_bytes().splitlines(keepends=True)

    @property
    def size(self) -> int:
        """The size of all files of the run."""
        return sum(path.stat().st_size for path in self.folder.parent.rglob("*") if path.is_file())


class Flows:
    """A project with flows. `files`: name of a flow → its phases."""

    def __init__(self, folder: Path, files: dict[str, list[Phase]]) -> None:
        self.project = folder / "project"
        flows = self.project / ".handrail" / "flows"
        flows.mkdir(parents=True)
        for name, phases in files.items():
            text = json.dumps({"kind": name, "version": 1, "phases": phases})
            (flows / f"{name}.json").write_text(text, encoding="utf-8")
        self.app = App(str(self.project), environment(folder / "home"))
        self.app.trust.grant(0.0)
        self.begun = 0
        if problems := self.app.flows.problems:
            raise BenchError(f"the flows cannot be read: {problems[0].message}")

    def begin(self, name: str, scope: str = "") -> LoadedRun:
        """A run that is ready to be driven."""
        self.begun += 1
        catalog = self.app.flows
        return self.app.runs.begin(catalog, catalog.find(name), RunRequest(params={}, scope=scope), f"r{self.begun}")

    def run(self, name: str, watch: Watch | None = None) -> Ran:
        """One run of a flow, from its start to its end."""
        return self.drive(self.begin(name), "completed", watch)

    def drive(self, run: LoadedRun, status: str, watch: Watch | None = None) -> Ran:
        watch = watch or Watch()
        begin = time.perf_counter()
        ended = asyncio.run(self.app.runs.drive(run, observer=watch))
        whole = time.perf_counter() - begin
        if ended.state.status != status:
            raise BenchError(f"run `{run.id}` is {ended.state.status}, expected {status}: {ended.state.error}")
        return Ran(self.attempt(run), watch, whole)

    def attempt(self, run: LoadedRun) -> Path:
        """The folder of the current attempt of a run."""
        engine = self.app.runs.engine
        assert isinstance(engine, Embedded)
        return Path(engine.attempt(run.id))
