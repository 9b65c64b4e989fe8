"""The outline of a workflow: its phases, each inside the subworkflow that it belongs to. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from handrail.base.dataclasses import dataclass
from handrail.guided.workflows.plan import Plan, Stop


@dataclass(frozen=True)
class PhaseItem:
    """A phase. `position` is its place among its neighbours, `at` its place in the plan, both from 0."""

    position: int
    at: int
    stop: Stop


@dataclass(frozen=True)
class SubworkflowItem:
    """A subworkflow with what is in it. `at` is the place of its first phase in the plan."""

    position: int
    at: int
    key: str
    name: str
    items: tuple[OutlineItem, ...]


OutlineItem = PhaseItem | SubworkflowItem


def outline(plan: Plan) -> tuple[OutlineItem, ...]:
    """All phases and subworkflows of a workflow, in order."""
    return _items(list(enumerate(plan.stops)), 0)


def _items(stops: Sequence[tuple[int, Stop]], depth: int) -> tuple[OutlineItem, ...]:
    """The items at this depth of the breadcrumb."""
    found: list[OutlineItem] = []
    for position, group in itertools.groupby(stops, key=lambda pair: pair[1].levels[depth].position):
        inside = list(group)
        at, stop = inside[0]
        if len(stop.levels) == depth + 1:
            found.append(PhaseItem(position, at, stop))
        else:
            level = stop.levels[depth + 1]
            found.append(SubworkflowItem(position, at, level.key, level.name, _items(inside, depth + 1)))
    return tuple(found)
