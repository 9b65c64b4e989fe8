"""What steps of a flow see of each other, and how a flow that ran inside another is accounted for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from handrail.contracts import NodeError
from handrail.expressions.tree import ABSENT
from handrail.flows.plan import FlowPlan, Phase

Results = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class FlowResult:
    """How a flow ended, and what its steps made. `is_partial`: it was to end before its last phase."""

    stopped_by: str | None
    outcome: str
    steps: Results
    is_partial: bool = False


def pending() -> dict[str, Any]:
    return {"status": "pending", "value": ABSENT, "outputs": ABSENT}


def skipped() -> dict[str, Any]:
    return {**pending(), "status": "skipped"}


def result(value: Any) -> dict[str, Any]:
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
        raise NodeError("params", f"flow `{plan.id}` has {what}", transient=False)
    return {p.name: given.get(p.name, p.default) for p in plan.params}


def envelope(plan: FlowPlan, ended: FlowResult) -> dict[str, Any]:
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


def _phase_status(ended: FlowResult, phase: Phase) -> str:
    statuses = {step["status"] for step in ended.steps[phase.id].values()}
    return "skipped" if statuses and statuses <= {"skipped", "pending"} else "done"


def _account(id_: str, step: dict[str, Any]) -> dict[str, Any]:
    told = {"id": id_, "status": step["status"]}
    for name in ("value", "outputs"):
        if step[name] is not ABSENT:
            told[name] = step[name]
    return told


def texts(value: Any) -> Iterator[str]:
    """Every short text inside a value: what may be the path of something that was used."""
    if isinstance(value, str):
        if 0 < len(value) <= 1024:
            yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
