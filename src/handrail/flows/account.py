"""Results of steps as other steps see them, and the result of a nested flow. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handrail.contracts import NodeError
from handrail.expressions.tree import ABSENT
from handrail.flows.plan import FlowPlan, Phase
from handrail.source.dataclasses import dataclass
from handrail.source.suggest import did_you_mean
from handrail.source.values import same, shown

Results = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class FlowResult:
    """How a flow ended, and the results of its steps. `is_partial`: the request was to end before its last phase."""

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
    """The params of a flow: given values, else declared defaults. Raises `NodeError` for missing or unknown params.

    A flow of AgentWeaver's form gets also those that it does not declare.
    """
    if plan.params is None:
        return given
    names = {param.name for param in plan.params}
    unknown = [] if plan.is_foreign else sorted(given.keys() - names)
    missing = [p.name for p in plan.params if p.required and given.get(p.name) is None]
    if unknown or missing:
        raise NodeError("params", f"flow `{plan.id}` has {_lacks(names, unknown, missing, given)}", transient=False)
    for param in plan.params if any(p.choices for p in plan.params) else ():
        value = given.get(param.name)
        if param.choices and value is not None and not any(same(value, choice) for choice in param.choices):
            known = ", ".join(f"`{shown(choice)}`" for choice in param.choices)
            message = f"`{param.name}` of flow `{plan.id}` has to be one of {known}, found `{shown(value)}`"
            raise NodeError("params", message, transient=False)
    declared = {p.name: given.get(p.name, p.default) for p in plan.params}
    return {**given, **declared}


def _lacks(names: set[str], unknown: list[str], missing: list[str], given: dict[str, Any]) -> str:
    found = []
    if missing:
        found.append(f"no value for `{missing[0]}`")
        found[-1] += ": it is required, and null is no value" if missing[0] in given else ""
    if unknown:
        close = did_you_mean(unknown[0], sorted(names))
        found.append(f"no param `{unknown[0]}`" + (f"; {close}" if close else ""))
    return ", and ".join(found)


def envelope(plan: FlowPlan, result: FlowResult) -> dict[str, Any]:
    """The value of a step that ran a flow, in the structure that AgentWeaver's flows refer to."""
    phases = [
        {
            "id": phase.id,
            "status": _phase_status(result, phase),
            "steps": [_step_entry(step.id, result.steps[phase.id][step.id]) for step in phase.steps],
        }
        for phase in plan.phases
    ]
    state = {
        "flowKind": plan.kind,
        "flowVersion": plan.version,
        "terminated": result.stopped_by is not None,
        "terminationOutcome": result.outcome,
        "phases": phases,
    }
    return {"flowKind": plan.kind, "flowVersion": plan.version, "executionState": state}


def _phase_status(result: FlowResult, phase: Phase) -> str:
    statuses = {step["status"] for step in result.steps[phase.id].values()}
    return "skipped" if statuses and statuses <= {"skipped", "pending"} else "done"


def _step_entry(id_: str, step: dict[str, Any]) -> dict[str, Any]:
    entry = {"id": id_, "status": step["status"]}
    for name in ("value", "outputs"):
        if step[name] is not ABSENT:
            entry[name] = step[name]
    return entry


def texts(value: Any) -> Iterator[str]:
    """Every short text inside a value: any of them may be the path of an input file."""
    if isinstance(value, str):
        if 0 < len(value) <= 1024:
            yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
