"""Records runs through the product's own code, with a clock that the test moves. Shared by the tests of estimates."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from handrail.app import App
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.state import RunState

Seconds = Callable[[str], float]


class Recorder:
    """Runs flows of a project. While the node of a step runs, the clock moves by the seconds of its path."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_700_000_000.0
        self.app = App(str(folder), os.environ, clock=lambda: self.now, by="person")
        self.count = 0

    def fresh(self) -> App:
        """The application without what it has read so far: definitions may have changed."""
        self.app = App(self.app.project, os.environ, clock=lambda: self.now, by="person")
        return self.app

    def run(self, name: str, seconds: Seconds, **request: Any) -> LoadedRun:
        app = self.fresh()
        self.count += 1
        flow = app.definitions.flow_named(name)
        begun = app.runs.begin(app.flows, flow, RunRequest(params={}, **request), f"r-{self.count:04d}")
        return self.drive(begun, "run", seconds)

    def drive(self, run: LoadedRun, mode: run_events.Mode, seconds: Seconds) -> LoadedRun:
        def observer(event: run_events.Event) -> None:
            if isinstance(event, run_events.NodeStarted):
                self.now += seconds(event.path)

        return asyncio.run(self.app.runs.drive(run, mode, observer))


def constant(seconds: Mapping[str, float]) -> Seconds:
    """The seconds of a step by its path; 0 for others."""
    return lambda path: seconds.get(path, 0.0)


def plain_state(events: Iterable[Mapping[str, Any]]) -> RunState:
    """The state after these events of a journal, as plain data. `type` is the name of an event, `t` its time."""
    state = RunState()
    for event in events:
        state.take(event["type"], event, event["t"])
    return state
