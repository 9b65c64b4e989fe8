"""A definition as a small tree for a graph: phases, steps, repeats, what is parallel, and nested workflows. Pure.

Each item has `kind`: `phase`, `repeat`, `parallel`, `step` or `workflow`; what is inside of it is its `items`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handrail.expressions.words import in_words
from handrail.flows.blocks import Block, Rounds, Side, Single, blocks_of
from handrail.flows.outline import child_of
from handrail.flows.plan import FlowPlan, Step
from handrail.source.clean import clean
from handrail.workflows.plan import Plan, Stop

Item = dict[str, Any]
Finder = Callable[[str], FlowPlan | None]


def flow_items(plan: FlowPlan, find: Finder) -> list[Item]:
    """The phases of a flow as its file has them: the rounds of a repeat are one item."""
    return [_block(block, find) for block in blocks_of(plan)]


def _block(block: Block, find: Finder) -> Item:
    match block:
        case Single():
            phase = block.phase
            steps = [_step(step, find) for step in phase.steps]
            when = None if phase.when is None else clean(in_words(phase.when))
            return {
                "kind": "phase",
                "id": phase.id,
                "name": clean(phase.shape or phase.id),
                "when": when,
                "parallel": phase.parallel.limit if phase.parallel.limit > 1 else None,
                "items": steps,
            }
        case Rounds():
            inner = [_block(one, find) for one in block.blocks]
            name = next((item["name"] for item in inner if "name" in item), "repeat")
            return {"kind": "repeat", "name": name, "rounds": block.count, "again": block.again, "items": inner}
        case Side():
            return {"kind": "parallel", "limit": block.limit, "items": [_block(one, find) for one in block.blocks]}


def _step(step: Step, find: Finder) -> Item:
    child = child_of(step, find)
    return {
        "kind": "step",
        "id": step.id,
        "name": clean(step.id),
        "node": step.node,
        "group": step.routing_group,
        "when": None if step.when is None else clean(in_words(step.when)),
        "stops": None if step.stop_if is None else clean(in_words(step.stop_if)),
        "tries": step.retry.attempts,
        "flow": None if child is None else child.id,
        "line": step.line or None,
    }


def workflow_items(plan: Plan) -> list[Item]:
    """The phases of a workflow, each below the subworkflow that it is in."""
    return _stops(plan.stops, 1)


def _stops(stops: Sequence[Stop], depth: int) -> list[Item]:
    """The stops at this depth of the breadcrumb, in order; deeper ones are below their subworkflow."""
    items: list[Item] = []
    at = 0
    while at < len(stops):
        stop = stops[at]
        if len(stop.levels) <= depth:
            items.append(_phase(stop))
            at += 1
            continue
        entry = stop.levels[depth - 1].position
        end = at
        while end < len(stops) and len(stops[end].levels) > depth and stops[end].levels[depth - 1].position == entry:
            end += 1
        level = stop.levels[depth]
        inner = _stops(stops[at:end], depth + 1)
        is_loopable = any(one.scope_loopable for one in stops[at:end] if len(one.levels) == depth + 1)
        items.append(
            {"kind": "workflow", "key": level.key, "name": clean(level.name), "loopable": is_loopable, "items": inner}
        )
        at = end
    return items


def _phase(stop: Stop) -> Item:
    return {
        "kind": "phase",
        "id": stop.id,
        "name": clean(stop.name),
        "emoji": stop.emoji,
        "gate": {"deny": stop.deny, "allow": stop.allow},
        "exit": [clean(check.claim) for check in stop.checks],
        "items": [],
    }
