"""Runs of flows: begin one, go on with one, say where one stands. Below the surfaces, above the engine.

A run keeps the texts of all flows as they were when it began, its parameters, and its journal; that is all it needs
to go on after a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handrail import registry
from handrail.contracts import NodeContext, NodeError
from handrail.driven import machine
from handrail.driven.interpret import FlowFailed, Interpreter, with_defaults
from handrail.driven.load import load_flow
from handrail.driven.machine import Event, RunState
from handrail.driven.plan import FlowPlan
from handrail.engine import journal
from handrail.engine.run import Run
from handrail.engine.session import make_private
from handrail.errors import NotFound, RefusedError, StateError, UsageError
from handrail.flowcatalog import FlowCatalog, FoundFlow
from handrail.project import Places, file_name
from handrail.sourcefile import Source
from handrail.suggest import nearest

ABOUT = "about"
Observer = Callable[[Event], None]


class RunView(NamedTuple):
    """A run as every surface shows it."""

    id: str
    plan: FlowPlan
    state: RunState
    seconds: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        state = self.state
        return {
            "run": self.id,
            "name": self.plan.id,
            "status": state.status,
            "outcome": state.outcome if state.status in ("completed", "stopped") else None,
            "reason": state.reason,
            "error": state.error,
            "summary": state.summary,
            "phases": [self._phase(phase.id, [step.id for step in phase.steps]) for phase in self.plan.phases],
            "artifacts": [],
            "usage": {"inputTokens": None, "outputTokens": None, "usd": None},
        }

    def _phase(self, id_: str, steps: list[str]) -> dict[str, Any]:
        rows = [self._step(id_, step) for step in steps]
        status = self.state.phases.get(id_, "pending")
        if any(row["status"] == "failed" for row in rows):
            status = "failed"
        return {"id": id_, "status": status, "steps": rows}

    def _step(self, phase: str, step: str) -> dict[str, Any]:
        path = f"{phase}/{step}"
        found = self.state.steps.get(path, machine.StepState())
        return {
            "id": step,
            "status": found.status,
            "value": found.value,
            "attempts": found.attempts,
            "seconds": self.seconds.get(path),
            "error": found.error,
        }


class Runs:
    """The runs of one project."""

    def __init__(self, project: str, places: Places, env: Mapping[str, str], clock: Callable[[], float]) -> None:
        self.project = project
        self.env = env
        self.clock = clock
        self.folder = os.path.join(places.state, "runs", file_name(project))

    def ids(self) -> list[str]:
        try:
            return sorted(n for n in os.listdir(self.folder) if os.path.exists(os.path.join(self.folder, n, ABOUT)))
        except OSError:
            return []

    def _engine(self, id_: str, observer: Observer | None = None) -> Run:
        context = NodeContext(self.project, self.env)
        return Run(os.path.join(self.folder, file_name(id_)), registry.nodes(), context, self.clock, observer)

    def begin(self, catalog: FlowCatalog, flow: FoundFlow, params: dict[str, Any], id_: str) -> str:
        """Put down all that a run needs before it does anything."""
        assert flow.plan is not None
        try:
            given = with_defaults(flow.plan, params)
        except NodeError as error:
            raise UsageError(error.message, "give parameters with `--param NAME=VALUE`") from error
        folder = os.path.join(self.folder, id_)
        make_private(folder)
        texts = {known.id: [known.file, known.text] for known in catalog.flows.values()}
        about = {"flow": flow.id, "params": given, "flows": texts}
        data = json.dumps(about, ensure_ascii=False).encode("utf-8", "surrogatepass")
        journal.replace(os.path.join(folder, ABOUT), data, durable=True)
        return id_

    def _about(self, id_: str) -> dict[str, Any]:
        path = os.path.join(self.folder, file_name(id_), ABOUT)
        try:
            with open(path, "rb") as file:
                about = json.loads(file.read().decode("utf-8", "surrogatepass"))
        except FileNotFoundError:
            close = nearest(id_, self.ids())
            hint = f"did you mean `{close[0]}`?" if close else "`handrail runs` lists them"
            raise NotFound(f"there is no run `{id_}` in this project", hint) from None
        except (OSError, ValueError) as error:
            raise StateError(f"run `{id_}` cannot be read: {error}") from error
        assert isinstance(about, dict)
        return about

    def _plans(self, about: dict[str, Any]) -> dict[str, FlowPlan]:
        """The flows as they were when the run began."""
        known = registry.known()
        plans: dict[str, FlowPlan] = {}
        for id_, (file, text) in about["flows"].items():
            plan, _ = load_flow(Source(file, text), id_, known)
            if plan is not None:
                plans[id_] = plan
        if about["flow"] not in plans:
            raise StateError(f"the flow `{about['flow']}` of this run cannot be read by this version")
        return plans

    async def drive(self, id_: str, observer: Observer | None = None) -> RunView:
        """Run to the end, or go on from where the journal ends. What is finished is not done again."""
        about = self._about(id_)
        plans = self._plans(about)
        engine = self._engine(id_, observer)
        with engine.held():
            if engine.state.status in ("completed", "stopped"):
                raise RefusedError(f"run `{id_}` is {engine.state.status} already", f"`handrail log {id_}` shows it")
            interpreter = Interpreter(engine, plans[about["flow"]], lambda name: _named(plans, name), {})
            engine.record(await self._ended(interpreter, about["params"]))
        return self.view(id_)

    async def _ended(self, interpreter: Interpreter, params: dict[str, Any]) -> machine.RunEnded:
        try:
            ended = await interpreter.run(params, {"cwd": self.project})
        except FlowFailed as error:
            return machine.RunEnded("failed", "success", f"{error.code} at {error.path}", error.message)
        if ended.stopped_by is None:
            return machine.RunEnded("completed", "success", None, None)
        status = "completed" if ended.outcome == "success" else "stopped"
        return machine.RunEnded(status, ended.outcome, f"Stopped by {ended.stopped_by}", None)

    def view(self, id_: str) -> RunView:
        about = self._about(id_)
        plan = self._plans(about)[about["flow"]]
        records = self.records(id_)
        state = machine.fold(event for _, event in records)
        return RunView(id_, plan, state, _seconds(records))

    def records(self, id_: str) -> list[tuple[float, Event]]:
        """(time, event) of everything that happened."""
        self._about(id_)
        scan = journal.read(os.path.join(self.folder, file_name(id_), "journal"))
        return [(r["t"], machine.event_from_json(data)) for r in scan.records for data in r["events"]]


def _named(plans: dict[str, FlowPlan], name: str) -> FlowPlan | None:
    if name in plans:
        return plans[name]
    base = os.path.splitext(os.path.basename(name))[0]
    same = [plan for id_, plan in plans.items() if id_.rsplit("/", 1)[-1] == base]
    return same[0] if len(same) == 1 else None


def _seconds(records: list[tuple[float, Event]]) -> dict[str, float]:
    begun: dict[str, float] = {}
    took: dict[str, float] = {}
    for moment, event in records:
        if isinstance(event, machine.StepStarted):
            begun.setdefault(event.path, moment)
        elif isinstance(event, machine.StepDone | machine.StepFailed) and event.path in begun:
            took[event.path] = round(max(0.0, moment - begun[event.path]), 3)
    return took
