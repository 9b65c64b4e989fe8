"""Runs a flow's plan. Knows no clock, no files, no processes: everything goes through `Durable`.

Read it top to bottom: a flow is its phases, a phase its steps, a step is `when` → params → prompt → node →
expect → after → `stopFlowIf`. What was finished before a crash is answered by `Durable` and not done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handrail.contracts import Durable, NodeError, Work
from handrail.driven import machine
from handrail.driven.plan import After, Expectation, FlowPlan, Phase, Prompt, Step
from handrail.operations import Unresolved, as_text, is_true, same
from handrail.templates import render
from handrail.values import ABSENT, Expression, Scope

FlowFinder = Callable[[str], FlowPlan | None]


class FlowFailed(Exception):
    """A step could not be done. Carries the path of the step and the reason."""

    def __init__(self, path: str, code: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.code = code
        self.message = message


class Ended(NamedTuple):
    """How a flow ended, and what its steps made."""

    stopped_by: str | None
    outcome: str
    steps: dict[str, dict[str, dict[str, Any]]]


class _NeedsFact(Exception):
    """A decision needs to know something about the world first."""

    def __init__(self, kind: str, subject: str) -> None:
        super().__init__(kind, subject)
        self.kind = kind
        self.subject = subject


class Interpreter:
    """One flow being run; a nested flow has an interpreter of its own below this one's path."""

    def __init__(self, durable: Durable, plan: FlowPlan, find: FlowFinder, prompts: Mapping[str, str]) -> None:
        self.durable = durable
        self.plan = plan
        self.find = find
        self.prompts = prompts
        self.base = ""
        self.params: dict[str, Any] = {}
        self.context: dict[str, Any] = {}
        self.steps: dict[str, dict[str, dict[str, Any]]] = {}

    async def run(self, params: dict[str, Any], context: dict[str, Any], base: str = "") -> Ended:
        self.params, self.context, self.base = params, context, base
        stopped: tuple[str, str] | None = None
        for phase in self.plan.phases:
            self.steps[phase.id] = {step.id: _pending() for step in phase.steps}
            if stopped is not None:
                self.durable.note(machine.PhaseSkipped(self.at(phase), "the flow stopped before"))
            else:
                stopped = await self._phase(phase)
        by, outcome = stopped or (None, "success")
        return Ended(by, outcome, self.steps)

    def at(self, phase: Phase, step: Step | None = None) -> str:
        return f"{self.base}{phase.id}" if step is None else f"{self.base}{phase.id}/{step.id}"

    async def _phase(self, phase: Phase) -> tuple[str, str] | None:
        try:
            return await self.phase(phase)
        except (Unresolved, NodeError) as error:
            raise FlowFailed(self.at(phase), error.code, error.message) from error

    async def phase(self, phase: Phase) -> tuple[str, str] | None:
        """(who stopped the flow, outcome), or nothing when it goes on."""
        path = self.at(phase)
        for condition in (*phase.guards, *([phase.when] if phase.when is not None else [])):
            if not is_true(await self.resolve(condition, phase, f"{path}?")):
                for step in phase.steps:
                    self.steps[phase.id][step.id] = {**_pending(), "status": "skipped"}
                    self.durable.note(machine.StepSkipped(self.at(phase, step)))
                self.durable.note(machine.PhaseSkipped(path, "its condition does not hold"))
                return None
        self.durable.note(machine.PhaseStarted(path))
        async with self.durable.limit(path, phase.timeout):
            stopped = await self._steps(phase)
        self.durable.note(machine.PhaseDone(path))
        return stopped

    async def _steps(self, phase: Phase) -> tuple[str, str] | None:
        if phase.parallel > 1:
            room = asyncio.Semaphore(phase.parallel)

            async def one(step: Step) -> tuple[str, str] | None:
                async with room:
                    return await self.step(phase, step)

            found = await self.durable.together([one(step) for step in phase.steps])
            return next((stop for stop in found if stop is not None), None)
        for step in phase.steps:
            if stopped := await self.step(phase, step):
                return stopped
        return None

    async def step(self, phase: Phase, step: Step) -> tuple[str, str] | None:
        path = self.at(phase, step)
        self.durable.note(machine.StepStarted(path))
        try:
            if step.when is not None and not is_true(await self.resolve(step.when, phase, f"{path}?")):
                self.steps[phase.id][step.id] = {**_pending(), "status": "skipped"}
                self.durable.note(machine.StepSkipped(path))
                return None
            value = await self.node(phase, step, path)
            self.steps[phase.id][step.id] = _result(value)
            await self.check(phase, step, path)
            for action in step.after:
                await self.afterwards(phase, action, path)
            stop = step.stop_if is not None and is_true(await self.resolve(step.stop_if, phase, f"{path}!"))
        except Unresolved as error:
            self.fail(path, error.code, error.message)
        except NodeError as error:
            self.fail(path, error.code, error.message)
        self.durable.note(machine.StepDone(path, stop))
        return (f"{phase.id}:{step.id}", step.stop_outcome) if stop else None

    def fail(self, path: str, code: str, message: str) -> None:
        self.durable.note(machine.StepFailed(path, code, message))
        raise FlowFailed(path, code, message)

    async def node(self, phase: Phase, step: Step, path: str) -> Any:
        params = {name: await self.resolve(value, phase, f"{path}.{name}") for name, value in step.params.items()}
        prompt = await self.prompt(step.prompt, phase, path) if step.prompt is not None else None
        if step.node == "flow-run":
            return await self.nested(params, path)
        work = Work(path, step.node, params, prompt, step.expect is None, step.timeout)
        return await self.durable.node(work, step.retry)

    async def nested(self, params: dict[str, Any], path: str) -> Any:
        """A child flow: its steps lie below this one's path; its result is an account of how it ended."""
        name = as_text(params.get("fileName", ""))
        child = self.find(name)
        if child is None:
            raise NodeError("flow-missing", f"there is no flow `{name}`")
        given = {key: value for key, value in params.items() if key != "fileName"}
        inner = Interpreter(self.durable, child, self.find, self.prompts)
        try:
            ended = await inner.run(with_defaults(child, given), self.context, f"{path}/")
        except FlowFailed as error:
            raise NodeError(error.code, error.message) from error
        return envelope(child, ended)

    async def prompt(self, prompt: Prompt, phase: Phase, path: str) -> str:
        values = [await self.resolve(value, phase, f"{path}.prompt") for value in prompt.values]
        names = dict(zip(prompt.names, map(as_text, values), strict=True))
        body = render(prompt.inline if prompt.inline is not None else self.prompts[prompt.template or ""], names)
        extra = as_text(await self.resolve(prompt.extra, phase, f"{path}.extra")) if prompt.extra is not None else ""
        return "\n\n".join(part for part in (body, extra) if part)

    async def check(self, phase: Phase, step: Step, path: str) -> None:
        for number, expectation in enumerate(step.expect or ()):
            place = f"{path}:{number}"
            if expectation.when is not None and not is_true(await self.resolve(expectation.when, phase, place)):
                continue
            if not await self._holds(phase, expectation, place):
                raise NodeError("expectation", expectation.message or f"`{expectation.kind}` does not hold")

    async def _holds(self, phase: Phase, expectation: Expectation, place: str) -> bool:
        params = {n: await self.resolve(v, phase, f"{place}.{n}") for n, v in expectation.params.items()}
        if expectation.kind == "step-output":
            return same(params["value"], params["equals"]) if "equals" in params else is_true(params["value"])
        if expectation.kind == "require-structured-artifacts":
            raise NodeError("expectation-unknown", "structured artifacts cannot be checked yet", transient=False)
        paths = params.get("paths") or [params["path"]]
        return all([bool(await self.durable.look("file", as_text(item))) for item in paths])

    async def afterwards(self, phase: Phase, action: After, path: str) -> None:
        if action.when is not None and not is_true(await self.resolve(action.when, phase, f"{path}+")):
            return
        source = as_text(await self.resolve(action.params["path"], phase, f"{path}+.path"))
        text = await self.durable.look("text", source)
        if text is None:
            raise NodeError("file-missing", f"`{source}` cannot be read")
        self.durable.note(machine.SummarySet(str(text).strip()))

    async def resolve(self, expression: Expression, phase: Phase, path: str) -> Any:
        """An expression's value. What it needs to know about the world is asked for and recorded first."""
        facts: dict[tuple[str, str], Any] = {}

        def fact(kind: str, subject: str) -> Any:
            if (kind, subject) not in facts:
                raise _NeedsFact(kind, subject)
            return facts[kind, subject]

        def artifact(kind: str, key: str, iteration: float | None) -> str:
            return str(fact("artifact", f"{kind} {key} {'' if iteration is None else iteration}"))

        values = {
            "params": self.params,
            "flow": self.plan.constants,
            "context": self.context,
            "repeat": phase.rounds,
            "steps": self.steps,
        }
        scope = Scope(
            values, lambda p: bool(fact("exists", p)), artifact, lambda k, key: list(fact("artifacts", f"{k} {key}"))
        )
        while True:
            try:
                return expression.resolve(scope)
            except _NeedsFact as need:
                found = await self.durable.fact(path, need.kind, need.subject)
                facts[need.kind, need.subject] = found


def _pending() -> dict[str, Any]:
    return {"status": "pending", "value": ABSENT, "outputs": ABSENT}


def _result(value: Any) -> dict[str, Any]:
    return {"status": "done", "value": value, "outputs": value if isinstance(value, dict) else ABSENT}


def with_defaults(plan: FlowPlan, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters a flow gets: what was given, else what it declares. Missing or unknown ones are refused."""
    if plan.params is None:
        return given
    names = {param.name for param in plan.params}
    unknown = sorted(given.keys() - names)
    missing = [p.name for p in plan.params if p.required and given.get(p.name) is None]
    if unknown or missing:
        what = f"no value for `{missing[0]}`" if missing else f"no param `{unknown[0]}`"
        raise NodeError("params", f"flow `{plan.id}` has {what}")
    return {p.name: given.get(p.name, p.default) for p in plan.params}


def envelope(plan: FlowPlan, ended: Ended) -> dict[str, Any]:
    """What a step that ran a flow has as its value: the account that flows of the second seed look into."""
    phases = [
        {
            "id": phase.id,
            "status": _phase_status(ended, phase),
            "steps": [_account(step.id, ended.steps[phase.id][step.id]) for step in phase.steps],
        }
        for phase in plan.phases
    ]
    state = {
        "flowKind": plan.kind,
        "flowVersion": plan.version,
        "terminated": ended.stopped_by is not None,
        "terminationOutcome": ended.outcome,
        "phases": phases,
    }
    return {"flowKind": plan.kind, "flowVersion": plan.version, "executionState": state}


def _phase_status(ended: Ended, phase: Phase) -> str:
    statuses = {step["status"] for step in ended.steps[phase.id].values()}
    return "skipped" if statuses and statuses <= {"skipped", "pending"} else "done"


def _account(id_: str, step: dict[str, Any]) -> dict[str, Any]:
    told = {"id": id_, "status": step["status"]}
    for name in ("value", "outputs"):
        if step[name] is not ABSENT:
            told[name] = step[name]
    return told
