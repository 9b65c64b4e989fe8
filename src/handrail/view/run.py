"""A loaded run as JSON and as an exit code, for every surface. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from handrail.contracts import Record
from handrail.flows.account import FlowResult, Results, envelope, pending, result, skipped
from handrail.flows.outline import child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Phase, Step
from handrail.runs import machine
from handrail.runs.bounds import CODE as BUDGET
from handrail.runs.fold import RunState, StepState
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import RunStatus, StepStatus
from handrail.runs.modes import available
from handrail.runs.summary import waiting_for
from handrail.source.dataclasses import dataclass

EXIT_CODES: dict[RunStatus, int] = {"completed": 0, "waiting": 4}


@dataclass(frozen=True)
class RunView:
    """A run for display: its state and how long its steps took. `moment` formats a time for people."""

    run: LoadedRun
    moment: Callable[[float], str]

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def state(self) -> RunState:
        return self.run.state

    @cached_property
    def seconds(self) -> dict[str, float]:
        return seconds_of(self.run.records)

    @property
    def delay(self) -> str | None:
        """Until when a running run waits, and why; None if it does not wait."""
        if self.state.status != "running" or not self.state.delays:
            return None
        first = min(self.state.delays.values(), key=lambda delay: delay.until)
        return f"`{first.path}` waits until {self.moment(first.until)}: {first.reason}"

    @property
    def exit_code(self) -> int:
        if self.state.status == "failed" and self.state.code == "timeout":
            return 3
        if self.state.code == BUDGET:
            return 6
        return EXIT_CODES.get(self.state.status, 1)

    def to_json(self) -> dict[str, Any]:
        state = self.state
        return {
            "run": self.id,
            "name": self.run.plan.id,
            "status": state.status,
            "outcome": state.outcome if state.status in ("completed", "stopped") else None,
            "reason": state.reason or self.delay,
            "error": state.error,
            "summary": state.summary,
            "attempt": self.run.attempt,
            "driver": self.run.driver,
            "modes": available(state, self.run.plan).names(),
            "phases": [self._phase(phase) for phase in self.run.plan.phases],
            "questions": [
                {"id": asked.id, "path": asked.path, "form": asked.question} for asked in state.questions.values()
            ],
            "waitingFor": self._waiting_for(),
            "artifacts": state.artifacts,
            "worktree": _tree(self.run),
            "usage": total(usage for many in state.usage.values() for usage in many),
        }

    def _waiting_for(self) -> list[dict[str, Any]] | None:
        """The open questions of a run that can be answered now; None if there is none."""
        asked = self.state.questions.values()
        return waiting_for(self.state.status, [(one.id, one.path, one.question) for one in asked])

    def _used(self, path: str) -> dict[str, Any]:
        """What a phase or step used, including all steps below it."""
        below = path + "/"
        found = [many for at, many in self.state.usage.items() if at == path or at.startswith(below)]
        return total(usage for many in found for usage in many)

    def _phase(self, phase: Phase) -> dict[str, Any]:
        rows = [self._step(phase, step) for step in phase.steps]
        status: StepStatus = self.state.phases.get(segment(phase.id), "pending")
        if any(row["status"] == "failed" for row in rows):
            status = "failed"
        return {"id": phase.id, "status": status, "usage": self._used(segment(phase.id)), "steps": rows}

    def _step(self, phase: Phase, step: Step) -> dict[str, Any]:
        path = f"{segment(phase.id)}/{segment(step.id)}"
        found = self.state.steps.get(path, StepState())
        return {
            "id": step.id,
            "status": found.status,
            "value": self._value(step, path),
            "attempts": found.attempts,
            "seconds": self.seconds.get(path),
            "error": found.error,
            "usage": self._used(path),
        }

    def _value(self, step: Step, path: str) -> Any:
        found = self.state.steps.get(path, StepState())
        if found.has_value:
            return self.run.value(found)
        child = child_of(step, self.run.find) if found.status == "done" else None
        return None if child is None else envelope(child, self._ended(child, f"{path}/"))

    def _ended(self, plan: FlowPlan, base: str) -> FlowResult:
        """How a nested flow ended, by the events of the run."""
        results: Results = {}
        stopped: tuple[str, str] | None = None
        for phase in plan.phases:
            results[phase.id] = {}
            for step in phase.steps:
                path = f"{base}{segment(phase.id)}/{segment(step.id)}"
                found = self.state.steps.get(path, StepState())
                status = {"done": lambda: result(self._value(step, path)), "skipped": skipped}  # noqa: B023 - used at once
                results[phase.id][step.id] = status.get(found.status, pending)()
                if found.stop:
                    stopped = (f"{phase.id}:{step.id}", step.stop_outcome)
        by, outcome = stopped or (None, "success")
        return FlowResult(by, outcome, results)


def _tree(run: LoadedRun) -> dict[str, Any] | None:
    """The worktree in which a run works; None if it works in the project itself."""
    tree = run.about.request.worktree
    return None if tree is None else {"path": tree.path, "branch": tree.branch, "base": tree.base}


def total(usages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of the known numbers; None for a number that is never known."""
    known = list(usages)
    found: dict[str, Any] = {}
    for name in ("inputTokens", "outputTokens", "usd"):
        counts = [usage[name] for usage in known if isinstance(usage.get(name), int | float)]
        found[name] = round(sum(counts), 6) if counts else None
    return found


def seconds_of(records: Iterable[Record]) -> dict[str, float]:
    """How long each step took the last time it ran, without the time in which the run was not driven."""
    begun: dict[str, float] = {}
    took: dict[str, float] = {}
    last: float | None = None
    for moment, event in records:
        idle = 0.0 if last is None or not isinstance(event, machine.RunResumed) else max(0.0, moment - last)
        begun = {path: start + idle for path, start in begun.items()} if idle else begun
        if not isinstance(event, machine.Noticed) and getattr(event, "driven", True):
            last = moment
        if isinstance(event, machine.StepStarted):
            begun[event.path] = moment
        elif isinstance(event, machine.StepDone | machine.StepFailed) and event.path in begun:
            took[event.path] = round(max(0.0, moment - begun[event.path]), 3)
    return took
