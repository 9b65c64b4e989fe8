"""Which outputs of a step a flow uses. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.expressions.tree import Const, Expression, Ref, walk
from handrail.flows.plan import FlowPlan, Phase, Step

WHOLE = "value"


def outputs_read(plan: FlowPlan, phase: str, step: str) -> tuple[str, ...]:
    """The names of the outputs that expressions of the flow use; `value` if one uses the whole result."""
    found: dict[str, None] = {}
    for expression in expressions_of(plan):
        for part in walk(expression):
            names = part.names if isinstance(part, Ref) else []
            if names[:3] == ["steps", phase, step] and len(names) > 3 and names[3] in ("outputs", "value"):
                found[names[4] if len(names) > 4 else WHOLE] = None
    return tuple(sorted(found))


def params_read(plan: FlowPlan) -> set[str] | None:
    """The names of the params that a flow uses; None if it may use any, because it uses them as a whole."""
    refs = [part.names for expression in expressions_of(plan) for part in walk(expression) if isinstance(part, Ref)]
    if ["params"] in refs:
        return None
    return {names[1] for names in refs if names[0] == "params"}


def uses_task(plan: FlowPlan) -> bool:
    """True if a flow uses `context.task`, or the context as a whole."""
    refs = (part.names for expression in expressions_of(plan) for part in walk(expression) if isinstance(part, Ref))
    return any(names[:2] in (["context"], ["context", "task"]) for names in refs)


def chooses_late(plan: FlowPlan) -> bool:
    """True if an expression chooses a flow that this one runs."""
    flows = [step.flow for phase in plan.phases for step in phase.steps if step.flow is not None]
    return any(not isinstance(flow, Const) for flow in flows)


def steps_read(expression: Expression) -> list[list[str]]:
    """The names in each reference of an expression to a step: `steps`, the phase, the step and what follows."""
    found = (part.names for part in walk(expression) if isinstance(part, Ref))
    return [names for names in found if names[0] == "steps" and len(names) > 2]


def phases_read(expression: Expression) -> set[str]:
    """The ids of the phases whose results an expression uses."""
    found = (part.names for part in walk(expression) if isinstance(part, Ref))
    return {names[1] for names in found if names[0] == "steps" and len(names) > 1}


def expressions_of(plan: FlowPlan) -> Iterator[Expression]:
    """Every expression of a flow."""
    for phase in plan.phases:
        yield from _of_phase(phase)
        for step in phase.steps:
            yield from filter(None, _of_step(step))


def _of_phase(phase: Phase) -> Iterator[Expression]:
    yield from phase.guards
    yield from (item for _, item in phase.items)
    if phase.when is not None:
        yield phase.when
    yield from (condition for bound in phase.bounds for condition in bound.conditions)


def _of_step(step: Step) -> Iterator[Expression | None]:
    yield step.when
    yield from step.params.values()
    if step.prompt is not None:
        yield from step.prompt.values
        yield step.prompt.extra
    for expectation in step.expect or ():
        yield expectation.when
        yield from expectation.params.values()
    for action in step.after:
        yield action.when
        yield from action.params.values()
    yield from (output.path for output in step.makes)
    yield step.stop_if
