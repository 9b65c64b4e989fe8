"""Results of steps as other steps see them, the result of a nested flow, and which of them a flow uses. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.driven.expressions.tree import ABSENT, Const, Expression, Ref, walk
from handrail.driven.flows.keys import PARAM_KINDS
from handrail.driven.flows.plan import (
    AfterAction,
    Bound,
    Expectation,
    FlowPlan,
    MadeFile,
    Param,
    Phase,
    Prompt,
    Step,
)
from handrail.extensions.contracts import LastingError
from handrail.source.fields import noun
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import ValueKind
from handrail.source.values import as_text, same, shown

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


def with_defaults(plan: FlowPlan, params: dict[str, Any]) -> dict[str, Any]:
    """The params of a flow: given values, else declared defaults. Raises `NodeError` for missing or unknown params.

    A flow of AgentWeaver's form gets also those that it does not declare.
    """
    if plan.params is None:
        return params
    names = {param.name for param in plan.params}
    unknown = [] if plan.is_foreign else sorted(params.keys() - names)
    missing = [p.name for p in plan.params if p.required and params.get(p.name) is None]
    if unknown or missing:
        raise LastingError("params", f"flow `{plan.id}` has {_lacks(names, unknown, missing, params)}")
    params = {**params, **{p.name: _as_declared(plan, p, params[p.name]) for p in plan.params if p.name in params}}
    for param in plan.params if any(p.choices for p in plan.params) else ():
        value = params.get(param.name)
        if param.choices and value is not None and not any(same(value, choice) for choice in param.choices):
            choices = ", ".join(f"`{shown(choice)}`" for choice in param.choices)
            message = f"`{param.name}` of flow `{plan.id}` has to be one of {choices}, found `{shown(value)}`"
            raise LastingError("params", message)
    declared_values = {p.name: params.get(p.name, p.default) for p in plan.params}
    return {**params, **declared_values}


def refuse_unlike_defaults(plan: FlowPlan, given: Mapping[str, Any]) -> None:
    """Raise `NodeError` if a person gives a value that the default of its param shows to be wrong."""
    for param in () if plan.is_foreign else plan.params or ():
        _as_declared(plan, param, given.get(param.name), param.kind)


def kind_error(param: Param, value: Any, kind: ValueKind | None = None) -> str | None:
    """What a value has to be for a param of a declared type, or of this kind; None if it is that."""
    kind = kind or param.type
    if kind is None or value is None:
        return None
    is_wrong = not isinstance(value, PARAM_KINDS[kind]) or (isinstance(value, bool) and kind in ("number", "integer"))
    return noun((kind,)) if is_wrong else None


def _as_declared(plan: FlowPlan, param: Param, value: Any, kind: ValueKind | None = None) -> Any:
    """A given value of a param, as text if its param is text. Raises `NodeError` if it has another type."""
    if (wanted := kind_error(param, value, kind)) is not None:
        message = f"`{param.name}` of flow `{plan.id}` has to be {wanted}, found `{shown(value)}`"
        raise LastingError("params", message)
    is_scalar = isinstance(value, int | float)
    return as_text(value) if is_scalar and param.is_text and not plan.is_foreign else value


def _lacks(names: set[str], unknown: list[str], missing: list[str], params: dict[str, Any]) -> str:
    problems = []
    if missing:
        problems.append(f"no value for `{missing[0]}`")
        problems[-1] += ": it is required, and null is no value" if missing[0] in params else ""
    if unknown:
        close = did_you_mean(unknown[0], sorted(names))
        problems.append(f"no param `{unknown[0]}`" + (f"; {close}" if close else ""))
    return ", and ".join(problems)


def nested_flow_result(plan: FlowPlan, result: FlowResult) -> dict[str, Any]:
    """The value of a step that ran a flow, in the structure that AgentWeaver's flows refer to."""
    phases = [
        {
            "id": phase.id,
            "status": _phase_status(result, phase),
            "steps": [
                {"id": id_, **{name: part for name, part in step.items() if part is not ABSENT}}
                for id_, step in ((step.id, result.steps[phase.id][step.id]) for step in phase.steps)
            ],
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


def without_copies(value: Any) -> Any:
    """The value of a step as it is stored and printed. If it is the result of a flow, nothing stands in it twice.

    A flow's result has `value` and `outputs` of each step. They are the same object, so it is small in memory; as text
    it would be twice as long with each level of nesting. So a step that ran a flow keeps only its `value`.
    """
    return _with_steps(value, lambda entry: {name: part for name, part in entry.items() if name != "outputs"})


def with_copies(value: Any) -> Any:
    """The value of a step, as expressions refer to it. It is what `without_copies` was called with."""
    return _with_steps(value, lambda entry: {**entry, "outputs": entry["value"]})


def _with_steps(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The value; in the result of a flow, the entries of steps that ran flows are changed, also deep in it."""
    if not _is_flow_result(value):
        return value
    state = value["executionState"]
    phases = []
    for phase in state["phases"]:
        steps = [
            {**step, "value": _with_steps(step["value"], change)} if "value" in step else step
            for step in phase["steps"]
        ]
        steps = [change(step) if _is_flow_result(step.get("value")) else step for step in steps]
        phases.append({**phase, "steps": steps})
    return {**value, "executionState": {**state, "phases": phases}}


def _is_flow_result(value: Any) -> bool:
    return isinstance(value, dict) and {"flowKind", "flowVersion", "executionState"} <= value.keys()


PUBLISHED = "publishedArtifacts"


def published_by(artifacts: Mapping[str, Sequence[Mapping[str, Any]]], path: str) -> list[dict[str, Any]]:
    """What the steps below the one at `path` published, as AgentWeaver names it. `artifacts` are those of each step."""
    below = {one["id"]: one for at, ones in artifacts.items() if at.startswith(f"{path}/") for one in ones}
    return [
        {
            "artifact_id": one["id"],
            "logical_key": one["key"],
            "payload_path": one["path"],
            "version": one["version"],
            "schema_id": one["schema"],
            "content_hash": f"sha256:{one['sha256']}",
        }
        for one in below.values()
    ]


def _phase_status(result: FlowResult, phase: Phase) -> str:
    statuses = {step["status"] for step in result.steps[phase.id].values()}
    return "skipped" if statuses and statuses <= {"skipped", "pending"} else "done"


def short_texts(value: Any) -> Iterator[str]:
    """Every short text inside a value: any of them may be the path of an input file."""
    if isinstance(value, str):
        if 0 < len(value) <= 1024:
            yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from short_texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from short_texts(item)


WHOLE = "value"


def outputs_read(plan: FlowPlan, phase: str, step: str) -> tuple[str, ...]:
    """The names of the outputs that expressions of the flow use; `value` if one uses the whole result."""
    outputs: dict[str, None] = {}
    for names in references_of(*expressions_of(plan.phases)):
        if names[:3] == ["steps", phase, step] and len(names) > 3 and names[3] in ("outputs", "value"):
            outputs[names[4] if len(names) > 4 else WHOLE] = None
    return tuple(sorted(outputs))


def params_read(plan: FlowPlan) -> set[str] | None:
    """The names of the params that a flow uses; None if it may use any, because it uses them as a whole."""
    refs = list(references_of(*expressions_of(plan.phases)))
    if ["params"] in refs:
        return None
    return {names[1] for names in refs if names[0] == "params"}


def uses_task(plan: FlowPlan) -> bool:
    """True if a flow uses `context.task`, or the context as a whole."""
    refs = references_of(*expressions_of(plan.phases))
    return any(names[:2] in (["context"], ["context", "task"]) for names in refs)


def computes_nested_flow(plan: FlowPlan) -> bool:
    """True if an expression chooses a flow that this one runs."""
    return any(step.flow is not None and not isinstance(step.flow, Const) for step in plan.steps)


def steps_read(expression: Expression) -> list[list[str]]:
    """The names in each reference of an expression to a step: `steps`, the phase, the step and what follows."""
    return [names for names in references_of(expression) if names[0] == "steps" and len(names) > 2]


def phases_read(expression: Expression) -> set[str]:
    """The ids of the phases whose results an expression uses."""
    return {names[1] for names in references_of(expression) if names[0] == "steps" and len(names) > 1}


def references_of(*expressions: Expression) -> Iterator[list[str]]:
    for expression in expressions:
        yield from (part.names for part in walk(expression) if isinstance(part, Ref))


_PARTS = (Phase, Bound, Step, Prompt, Expectation, AfterAction, MadeFile)
"""The parts of a plan that have expressions."""


def expressions_of(part: Any) -> Iterator[Expression]:
    """All expressions in the phases of a plan, or in a part of them."""
    if isinstance(part, _PARTS):
        part = vars(part)
    if isinstance(part, dict):
        part = tuple(part.values())
    if isinstance(part, tuple):
        for inner in part:
            yield from expressions_of(inner)
    elif hasattr(part, "resolve"):
        yield part
