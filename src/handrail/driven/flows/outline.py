"""A plan as plain data: every expression as text, nested flows expanded one level. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handrail.driven.expressions.tree import Const, Expression
from handrail.driven.expressions.words import as_data, in_words
from handrail.driven.flows.plan import FlowPlan, Parallelism, Phase, Prompt, Step, path_segment, prompt_words

FlowFinder = Callable[[str], FlowPlan | None]


def outline(plan: FlowPlan, find: FlowFinder) -> dict[str, Any]:
    """The whole plan. `find` returns the plan of a nested flow by name."""
    return {
        "id": plan.id,
        "also": list(plan.also),
        "file": plan.file,
        "kind": plan.kind,
        "version": plan.version,
        "description": plan.description,
        "examples": list(plan.examples),
        "visible": plan.visible,
        "constants": plan.constants,
        "params": None
        if plan.params is None
        else [{**vars(param), "choices": list(param.choices)} for param in plan.params],
        "env": list(plan.env),
        "timeout": plan.timeout,
        "continue": plan.again,
        "overrides": plan.overrides,
        "nested": list(plan.nested),
        "phases": _phases(plan, find),
    }


def child_of(step: Step, find: FlowFinder) -> FlowPlan | None:
    """The flow that a step runs. None if the step runs none, or if only the run knows which."""
    return find(str(step.flow.value)) if isinstance(step.flow, Const) else None


def step_at(plan: FlowPlan, find: FlowFinder, path: str) -> Step | None:
    """The step at a path, also in nested flows. None if there is none, or if only the run knows which flow it is in."""
    first, _, rest = path.partition("/")
    name, _, below = rest.partition("/")
    phases = (phase for phase in plan.phases if path_segment(phase.id) == first)
    step = next((step for phase in phases for step in phase.steps if path_segment(step.id) == name), None)
    child = child_of(step, find) if step is not None and below else None
    return step if not below else None if child is None else step_at(child, find, below)


def _phases(plan: FlowPlan, find: FlowFinder | None) -> list[dict[str, Any]]:
    guards: dict[int, str] = {}  # all rounds share guards with the rounds before them
    for phase in plan.phases:
        for guard in phase.guards:
            if id(guard) not in guards:
                guards[id(guard)] = in_words(guard)
    return [
        {**_phase(plan, phase, find), "guards": [guards[id(guard)] for guard in phase.guards]} for phase in plan.phases
    ]


def _phase(plan: FlowPlan, phase: Phase, find: FlowFinder | None) -> dict[str, Any]:
    return {
        "id": phase.id,
        "rounds": phase.rounds,
        "items": {name: as_data(item) for name, item in phase.items},
        "guards": [],
        "when": _words(phase.when),
        "parallel": _parallelism(phase.parallel) if phase.parallel.limit > 1 else None,
        "lane": {**vars(phase.lane), **_parallelism(plan.groups[phase.lane.group])} if phase.lane else None,
        "timeout": phase.timeout,
        "steps": [_step(step, find) for step in phase.steps],
    }


def _step(step: Step, find: FlowFinder | None) -> dict[str, Any]:
    child = child_of(step, find) if find is not None else None
    return {
        "id": step.id,
        "node": step.node,
        "when": _words(step.when),
        "params": _all(step.params),
        "prompt": None if step.prompt is None else _prompt(step.prompt),
        "expect": None if step.expect is None else [
            {"kind": e.kind, "when": _words(e.when), "params": _all(e.params), "message": e.message}
            for e in step.expect
        ],
        "after": [{"kind": a.kind, "when": _words(a.when), "params": _all(a.params)} for a in step.after],
        "makes": [
            {"path": as_data(made.path), "name": made.name, "schema": made.schema, "required": made.required}
            for made in step.makes
        ],
        "stopFlowIf": _words(step.stop_if),
        "stopFlowOutcome": step.stop_outcome,
        "routingGroup": step.routing_group,
        "retry": {**vars(step.retry)},
        "timeout": step.timeout,
        "rerun": step.rerun,
        "flow": child and {"id": child.id, "phases": _phases(child, None)},
    }  # fmt: skip


def _prompt(prompt: Prompt) -> dict[str, Any]:
    named = zip(prompt.names, prompt.values, strict=True) if prompt.name is not None else ()
    return {
        "template": prompt.name,
        "vars": {name: as_data(value) for name, value in named},
        "text": prompt_words(prompt),
        "format": "plain" if prompt.plain else "task-prompt",
    }


def _all(values: Mapping[str, Expression]) -> dict[str, Any]:
    return {name: as_data(value) for name, value in values.items()}


def _words(expression: Expression | None) -> str | None:
    return None if expression is None else in_words(expression)


def _parallelism(how: Parallelism) -> dict[str, Any]:
    return {"limit": how.limit, "onFailure": how.on_failure}
