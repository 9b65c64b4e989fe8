"""References into the result of a nested flow: its phases and steps are known as soon as both files are read. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from handrail.expressions.parse import Place
from handrail.expressions.tree import Const
from handrail.flows.plan import FlowPlan, Step
from handrail.flows.reading import Reading
from handrail.source.values import index_of

RESULT = "executionState"
RESULT_FIELDS = ("flowKind", "flowVersion", "terminated", "terminationOutcome", "phases")
PHASE_FIELDS = ("id", "status", "steps")
STEP_FIELDS = ("id", "status", "value", "outputs")


class Inside(NamedTuple):
    """A reference into a nested flow: the name of the flow, the path, and its names after `executionState`."""

    flow: str
    path: str
    names: tuple[str, ...]
    place: Place


class Wrong(NamedTuple):
    """What such a reference names that is not there. `known` are the names that are."""

    code: str
    message: str
    name: str
    known: tuple[str, ...]


def references_inside(flow: Reading) -> Iterator[Inside]:
    """The references of a flow into the flows that its steps run. A reference that may fail is not one of them."""
    steps = {(phase.id, step.id): step for phase in flow.phases for step in phase.steps}
    for slot in flow.slots:
        for use in slot.used:
            names = use.ref.names
            step = steps.get((names[1], names[2])) if names[0:1] == ["steps"] and len(names) > 5 else None
            name = _flow_of(step) if step is not None and names[4] == RESULT else None
            if name is not None and not use.is_shielded:
                yield Inside(name, use.ref.path, tuple(names[5:]), use.place)


def _flow_of(step: Step) -> str | None:
    name = step.flow
    return name.value if isinstance(name, Const) and isinstance(name.value, str) else None


def wrong_inside(inside: Inside, plan: FlowPlan) -> Wrong | None:
    """The first name that the nested flow does not have. None if all are there."""
    if inside.names[0] not in RESULT_FIELDS:
        return Wrong("ref-output", f"`{RESULT}` has no `{inside.names[0]}`", inside.names[0], RESULT_FIELDS)
    names = inside.names[1:]
    if inside.names[0] != "phases" or not names:
        return None
    phases = tuple(phase.id for phase in plan.phases)
    at = _place(names[0], phases)
    if at is None:
        return Wrong("ref-phase", f"flow `{plan.id}` has no phase `{names[0]}`", names[0], phases)
    if len(names) > 1 and names[1] not in PHASE_FIELDS:
        return Wrong("ref-field", f"a phase has no `{names[1]}`", names[1], PHASE_FIELDS)
    if len(names) < 3 or names[1] != "steps":
        return None
    steps = tuple(step.id for step in plan.phases[at].steps)
    if _place(names[2], steps) is None:
        return Wrong("ref-step", f"phase `{phases[at]}` of `{plan.id}` has no step `{names[2]}`", names[2], steps)
    if len(names) > 3 and names[3] not in STEP_FIELDS:
        return Wrong("ref-field", f"a step has no `{names[3]}`", names[3], STEP_FIELDS)
    return None


def _place(name: str, ids: tuple[str, ...]) -> int | None:
    index = index_of(name)
    if index is not None:
        return index if index < len(ids) else None
    return ids.index(name) if name in ids else None
