"""A run as every surface shows it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from handrail.flows.account import Ended, Results, envelope, pending, result, skipped
from handrail.flows.outline import child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Phase, Step
from handrail.runs import machine
from handrail.runs.embedded.memory import Kept
from handrail.runs.machine import Event, RunState, StepState
from handrail.runs.modes import available

Finder = Callable[[str], FlowPlan | None]
EXIT_CODES = {"completed": 0, "waiting": 4, "running": 1}


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run: what it was started from, where it stands, how long its steps took."""

    id: str
    plan: FlowPlan
    find: Finder
    state: RunState
    seconds: dict[str, float]
    value: Callable[[Kept], Any]
    driver: int | None = None
    attempt: int = 1

    def __repr__(self) -> str:
        return f"<run {self.id}: {self.state.status}>"  # the whole plan is no use in a message

    @property
    def delay(self) -> str | None:
        """What a run that goes on waits for, if it does."""
        if self.state.status != "running" or not self.state.delays:
            return None
        first = min(self.state.delays.values(), key=lambda delay: delay.until)
        moment = time.strftime("%H:%M:%S", time.localtime(first.until))
        return f"`{first.path}` waits until {moment}: {first.reason}"

    @property
    def exit_code(self) -> int:
        if self.state.status == "failed" and (self.state.reason or "").startswith("timeout"):
            return 3
        return EXIT_CODES.get(self.state.status, 1)

    def to_json(self) -> dict[str, Any]:
        state = self.state
        return {
            "run": self.id,
            "name": self.plan.id,
            "status": state.status,
            "outcome": state.outcome if state.status in ("completed", "stopped") else None,
            "reason": state.reason or self.delay,
            "error": state.error,
            "summary": state.summary,
            "attempt": self.attempt,
            "driver": self.driver,
            "modes": available(state, self.plan).names(),
            "phases": [self._phase(phase) for phase in self.plan.phases],
            "questions": [{"path": asked.path, "form": asked.question} for asked in state.questions.values()],
            "artifacts": state.artifacts,
            "usage": total(usage for many in state.usage.values() for usage in many),
        }

    def _used(self, path: str) -> dict[str, Any]:
        """What a step, a phase and all below them used."""
        below = path + "/"
        found = [many for at, many in self.state.usage.items() if at == path or at.startswith(below)]
        return total(usage for many in found for usage in many)

    def _phase(self, phase: Phase) -> dict[str, Any]:
        rows = [self._step(phase, step) for step in phase.steps]
        status = self.state.phases.get(segment(phase.id), "pending")
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
            return self.value(Kept(found.value, found.payload))
        child = child_of(step, self.find) if found.status == "done" else None
        return None if child is None else envelope(child, self._ended(child, f"{path}/"))

    def _ended(self, plan: FlowPlan, base: str) -> Ended:
        """How a nested flow ended, as the journal tells it."""
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
        return Ended(by, outcome, results)


def total(usages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of what is known; where nothing is, null."""
    known = list(usages)
    found: dict[str, Any] = {}
    for name in ("inputTokens", "outputTokens", "usd"):
        counts = [usage[name] for usage in known if isinstance(usage.get(name), int | float)]
        found[name] = round(sum(counts), 6) if counts else None
    return found


def seconds_of(records: list[tuple[float, Event]]) -> dict[str, float]:
    """How long each step took, the last time it was begun."""
    begun: dict[str, float] = {}
    took: dict[str, float] = {}
    for moment, event in records:
        if isinstance(event, machine.StepStarted):
            begun[event.path] = moment
        elif isinstance(event, machine.StepDone | machine.StepFailed) and event.path in begun:
            took[event.path] = round(max(0.0, moment - begun[event.path]), 3)
    return took


def named(plans: dict[str, FlowPlan], name: str) -> FlowPlan | None:
    """The flow of an id, or the only one whose file has this name."""
    if name in plans:
        return plans[name]
    base = os.path.splitext(os.path.basename(name))[0]
    same = [plan for id_, plan in plans.items() if id_.rsplit("/", 1)[-1] == base]
    return same[0] if len(same) == 1 else None
