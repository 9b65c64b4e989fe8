"""Which phases and steps take place whenever the flow reaches them. Pure.

A `when` also holds there if its opposite has ended the flow before: `stopFlowIf: X` above, and `when: {not: X}` here.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.expressions.tree import Const, Expression, Not, Ref, Test, Truth
from handrail.flows.plan import Phase, Step
from handrail.source.dataclasses import dataclass
from handrail.source.values import is_true

Fact = tuple[str, bool]
"""The path of a value, and whether it is true."""


@dataclass(frozen=True)
class Skippable:
    """The indexes of the phases, and of the steps in their phases, that may be skipped."""

    phases: frozenset[int]
    steps: frozenset[tuple[int, int]]


def skippable(phases: Sequence[Phase]) -> Skippable:
    maybe_phases: set[int] = set()
    maybe_steps: set[tuple[int, int]] = set()
    known: set[Fact] = set()
    for number, phase in enumerate(phases):
        if _may_be_false(phase, known):
            maybe_phases.add(number)
        is_alone = phase.lane is None and not phase.guards and phase.parallel.limit == 1 and number not in maybe_phases
        for place, step in enumerate(phase.steps):
            if _may_be_false(step, known):
                maybe_steps.add((number, place))
            elif is_alone and step.stop_if is not None and (fact := _fact(step.stop_if)) is not None:
                known.add((fact[0], not fact[1]))
    return Skippable(frozenset(maybe_phases), frozenset(maybe_steps))


def _may_be_false(part: Phase | Step, known: set[Fact]) -> bool:
    return is_conditional(part) and (part.when is None or _fact(part.when) not in known)


def is_conditional(part: Phase | Step) -> bool:
    return part.when is not None and constant_truth(part.when) is not True


def constant_truth(condition: Expression) -> bool | None:
    """The truth of a condition that is written as a constant. None for any other condition."""
    if isinstance(condition, Truth):
        return constant_truth(condition.value)
    return is_true(condition.value) if isinstance(condition, Const) else None


def _fact(condition: Expression) -> Fact | None:
    """The one value that a condition is about, and whether that has to be true. None for any other condition."""
    if isinstance(condition, Truth):
        return _fact(condition.value)
    if isinstance(condition, Ref):
        return condition.path, True
    if isinstance(condition, Not) and (opposite := _fact(condition.condition)) is not None:
        return opposite[0], not opposite[1]
    if isinstance(condition, Test) and condition.is_equality:
        sides = (condition.left, condition.right)
        paths = [side.path for side in sides if isinstance(side, Ref)]
        values = [side.value for side in sides if isinstance(side, Const) and isinstance(side.value, bool)]
        return (paths[0], values[0] == (condition.rule == "equals")) if paths and values else None
    return None
