"""Checks references: the scope and the name exist, and the step has run before. Pure.

A phase or a step may be skipped if it has a `when`, unless the opposite of that has ended the flow before. References
into the result of a nested flow are checked when the files of both flows are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handrail.base.dataclasses import dataclass
from handrail.driven.artifacts.agentweaver_params import PARAM_NAMES
from handrail.driven.expressions.parser import SourcePlace, UsedReference
from handrail.driven.expressions.tree import SCOPES, Comparison, Const, Expression, Items, Ref
from handrail.driven.flows.load_state import LoadState, PlaceReferences
from handrail.driven.flows.plan import FlowPlan, Phase, Step
from handrail.driven.flows.step_values import plain_of
from handrail.source.diagnostics import Severity
from handrail.source.plain_text import some
from handrail.source.suggestions import distance
from handrail.source.values import MISSING, contents, index_of, is_true, member

KnownTruth = tuple[str, bool]
"""The path of a value, and whether it is true."""


def _skippable(phases: Sequence[Phase]) -> tuple[set[int], set[tuple[int, int]]]:
    """The indexes of the phases, and of the steps in their phases, that may be skipped."""
    maybe_phases: set[int] = set()
    maybe_steps: set[tuple[int, int]] = set()
    known: set[KnownTruth] = set()
    for number, phase in enumerate(phases):
        if _may_be_false(phase, known):
            maybe_phases.add(number)
        is_alone = phase.lane is None and not phase.guards and phase.parallel.limit == 1 and number not in maybe_phases
        for place, step in enumerate(phase.steps):
            if _may_be_false(step, known):
                maybe_steps.add((number, place))
            elif is_alone and step.stop_if is not None and (fact := _known_truth(step.stop_if)) is not None:
                known.add((fact[0], not fact[1]))
    return maybe_phases, maybe_steps


def _may_be_false(part: Phase | Step, known: set[KnownTruth]) -> bool:
    return is_conditional(part) and (part.when is None or _known_truth(part.when) not in known)


def is_conditional(part: Phase | Step) -> bool:
    return part.when is not None and constant_truth(part.when) is not True


def constant_truth(condition: Expression) -> bool | None:
    """The truth of a condition that is written as a constant. None for any other condition."""
    match condition:
        case Items("truth", (value,)):
            return constant_truth(value)
        case Const(constant):
            return is_true(constant)
    return None


def _known_truth(condition: Expression) -> KnownTruth | None:
    """The one value that a condition is about, and whether that has to be true. None for any other condition."""
    match condition:
        case Items("truth", (value,)):
            return _known_truth(value)
        case Ref(path):
            return path, True
        case Items("not", (inner,)) if (opposite := _known_truth(inner)) is not None:
            return opposite[0], not opposite[1]
        case Comparison(rule, Ref(path), Const(bool() as value)) | Comparison(rule, Const(bool() as value), Ref(path)):
            return (path, value == (rule == "equals")) if condition.is_equality else None
    return None


FIELDS = ("outputs", "value", "status")
CONTEXT = {
    "agent": "the agent that was chosen with `--agent`",
    "cwd": "the folder of the project",
    "dryRun": "true in a preview: `--dry-run`",
    "env": "the environment variables that the flow declares: `context.env.NAME`",
    "executionRouting": "in AgentWeaver's flows, the agent and the model of the run as `defaultRoute`; else null",
    "issueKey": "the same as `scope`",
    "jiraRef": "in AgentWeaver's flows, the issue that the task names; else null",
    "mdLang": "the language of Markdown files: `--lang`, by default `en`",
    "model": "the model that was chosen with `--model`",
    "project": "the folder of the project",
    "run": "the id of the run; not in a preview",
    "scope": "the scope of the run's artifacts: `--scope`",
    "started": "when the run began, in UTC: `2026-02-03T04:05:06+00:00`; not in a preview",
    "task": "the text after the name of the flow: `handrail run NAME TASK`",
    "taskKey": "the same as `scope`",
    "verbose": "always false; AgentWeaver's flows ask for it",
}
MOST_COMPARED = 256
MOST_EDITS = 2
"""A name with more edits than this is no misspelt one."""
_SHELL_VARIABLE = re.compile(r"([A-Z_][A-Z0-9_]*|[A-Za-z_][A-Za-z0-9_]*(?=:?[-=?+]|[#%^,/]))(?![A-Za-z0-9_.])")
"""The name of an environment variable, or a name with an operator of the shell, such as `SLOW:-0`."""


@dataclass(frozen=True)
class WrongReference:
    """What is wrong with a reference. If `name` is similar to one of `known`, that is suggested instead of `hint`."""

    code: str
    message: str
    hint: str
    name: str = ""
    known: tuple[str, ...] = ()
    severity: Severity = "error"


class Layout:
    """The index at which the id of each phase, and of each step in its phase, occurs first; which may be skipped."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        self.phases = _first_indexes(phase.id for phase in phases)
        self.steps = [_first_indexes(step.id for step in phase.steps) for phase in phases]
        self.maybe_phases, self.maybe_steps = _skippable(phases)


def _first_indexes(ids: Iterable[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, id_ in enumerate(ids):
        places.setdefault(id_, place)
    return places


def wrong_reference(
    flow: LoadState, layout: Layout, slot: PlaceReferences, use: UsedReference
) -> WrongReference | None:
    """The first problem of a reference at its place. None if it is valid."""
    ref, parts = use.ref, use.ref.names
    if not parts or parts[0] not in SCOPES:
        return _scope(slot, ref, parts)
    if parts[0] == "steps":
        return _step(flow, layout, slot, use)
    if len(parts) == 1:
        return None
    match parts[0]:
        case "params":
            is_given = flow.source.is_foreign and flow.params is None
            return _agentweaver_param(ref, parts[1]) if is_given else _param(flow.params, ref, parts[1])
        case "flow":
            return _constant(flow.constants, ref, parts[1:])
        case "repeat":
            return _repeat(slot, ref, parts[1])
        case _:
            return _context(flow.env, ref, parts[1:])


def _scope(slot: PlaceReferences, ref: Ref, parts: list[str]) -> WrongReference:
    hint = f"begin with one of {', '.join(SCOPES)}; write literal text as `const: TEXT`"
    if not parts:
        return WrongReference("ref-scope", "the reference is empty", hint)
    if ref.path.startswith("{"):
        message = f"`${{{ref.path}}}` has two braces, as in other tools"
        return WrongReference("ref-scope", message, f"write `${{{ref.path.strip('{} ')}}}`")
    message = f"`{ref.path}` does not begin with a known scope"
    if (variable := _SHELL_VARIABLE.match(ref.path)) is not None:
        hint = (
            "if a shell has to read it, write the whole text as `{const: '...'}`; to read the environment, declare "
            f"`env: [{variable[1]}]` in the flow and write `${{context.env.{variable[1]}}}`"
        )
        return WrongReference("ref-scope", message, hint)
    if parts[0] in slot.enclosure.names:
        return WrongReference("ref-scope", message, f"write `repeat.{ref.path}`")
    return WrongReference("ref-scope", message, hint, parts[0], tuple(SCOPES))


def _param(declared: tuple[str, ...] | None, ref: Ref, name: str) -> WrongReference | None:
    if declared is None or name in declared:
        return None
    message, hint = f"`{ref.path}`: the flow declares no param `{name}`", f"declare it: `params: {{{name}: ...}}`"
    return WrongReference("ref-param", message, hint, name, declared)


def _agentweaver_param(ref: Ref, name: str) -> WrongReference | None:
    """AgentWeaver's flows declare no params. A name is doubtful if it is spelt like one that they are given."""
    if name in PARAM_NAMES or not any(distance(name, one) <= MOST_EDITS for one in PARAM_NAMES):
        return None
    message = f"`{ref.path}`: AgentWeaver gives no param `{name}` to a flow"
    return WrongReference("ref-param", message, "correct the name", name, tuple(PARAM_NAMES), "warning")


def _constant(constants: Mapping[str, Any], ref: Ref, names: list[str]) -> WrongReference | None:
    """Constants are known at load, so every member is checked."""
    value: Any = constants
    for place, name in enumerate(names):
        whole, value = value, member(value, name)
        if value is MISSING:
            known = tuple(whole) if isinstance(whole, Mapping) else ()
            where = f"`flow.{'.'.join(names[:place])}` has no `{name}`" if place else f"there is no constant `{name}`"
            hint = f"it {contents(whole)}" if place else f"add it: `constants: {{{name}: ...}}`"
            return WrongReference("ref-constant", f"`{ref.path}`: {where}", hint, name, known)
    return None


def _repeat(slot: PlaceReferences, ref: Ref, name: str) -> WrongReference | None:
    known = slot.enclosure.names
    if name in known:
        return None
    if not known:
        message = f"`{ref.path}`: this place is not inside a repeat"
        return WrongReference("ref-repeat", message, "move it into a repeat")
    return _lacks(ref.path, "ref-repeat", "no repeat around this place defines", name, known)


def _context(env: tuple[str, ...], ref: Ref, names: list[str]) -> WrongReference | None:
    if names[0] not in CONTEXT:
        hint = f"known: {', '.join(CONTEXT)}"
        message = f"`{ref.path}`: the context has no `{names[0]}`"
        return WrongReference("ref-context", message, hint, names[0], tuple(CONTEXT), "warning")
    if names[0] != "env" or len(names) == 1 or names[1] in env:
        return None
    hint = f"add it to the flow: `env: [{', '.join([*env[:4], names[1]])}]`"
    message = f"`{ref.path}`: the flow does not declare the environment variable `{names[1]}`"
    return WrongReference("ref-env", message, hint, names[1], env)


def _step(flow: LoadState, layout: Layout, slot: PlaceReferences, use: UsedReference) -> WrongReference | None:
    ref, parts = use.ref, use.ref.names
    if len(parts) < 4:
        message, hint = f"`{ref.path}` names no field of a step", "write `steps.PHASE.STEP.outputs.NAME`"
        return WrongReference("ref-short", message, hint)
    _, phase, step, field = parts[:4]
    if field not in FIELDS:
        hint = f"write `steps.PHASE.STEP.outputs.NAME`; a step has {', '.join(FIELDS)}"
        return WrongReference("ref-field", f"`{ref.path}`: a step has no `{field}`", hint, field, FIELDS)
    if phase not in layout.phases and phase in flow.rounds_of:
        rounds = some(flow.rounds_of[phase])
        hint = f"name one round: {rounds}; inside the repeat, `steps.{phase}` is this round's phase"
        return WrongReference("ref-phase", f"`{ref.path}`: `{phase}` has one phase per round", hint)
    if phase not in layout.phases:
        return _lacks(ref.path, "ref-phase", "there is no phase", phase, tuple(layout.phases), "phases")
    steps = layout.steps[layout.phases[phase]]
    if step not in steps:
        return _lacks(ref.path, "ref-step", f"phase `{phase}` has no step", step, tuple(steps), "its steps")
    target = (layout.phases[phase], steps[step])
    wrong = _order(flow, slot, ref, target) or _output(flow, use, target)
    if wrong is not None or field == "status" or len(parts) == 4 or use.is_shielded or slot.is_shielded:
        return wrong
    return _maybe_skipped(flow, layout, slot, ref, target)


def _output(flow: LoadState, use: UsedReference, target: tuple[int, int]) -> WrongReference | None:
    """A node with known outputs has no others. A step that a person marked as done has `assumedDone`."""
    parts, step = use.ref.names, flow.phases[target[0]].steps[target[1]]
    node = flow.resources.nodes.get(step.node)
    if node is None or len(parts) < 5 or parts[3] == "status" or use.is_shielded or parts[4] == "assumedDone":
        return None
    if node.members is None and node.open_outputs:
        return None
    params = {name: plain_of(value) for name, value in step.params.items()} if node.members else {}
    outputs = node.members(params) if node.members else dict.fromkeys(node.outputs)
    members = outputs.get(parts[4])
    if parts[4] not in outputs:
        what = f"`{step.node}` has no output"
        return _lacks(use.ref.path, "ref-output", what, parts[4], tuple(outputs), "its outputs")
    if members is not None and len(parts) > 5 and parts[5] not in members:
        return _lacks(use.ref.path, "ref-output", f"`{parts[4]}` has no", parts[5], tuple(members), "it has")
    return None


def _order(flow: LoadState, slot: PlaceReferences, ref: Ref, target: tuple[int, int]) -> WrongReference | None:
    """A reference needs a step that is finished. Only `expect`, `makes` and the like may refer to their own step."""
    own_place, phase, lane = (slot.phase, slot.step or 0), flow.phases[target[0]], slot.enclosure.lane
    message = f"`{ref.path}` refers to a step that has not run yet"
    if target == own_place and slot.step is None:
        return WrongReference("ref-self", message, "refer only to steps of phases above this place")
    if target == own_place:
        hint = "only `expect`, `makes`, `stopFlowIf` and `after` may refer to their own step"
        return None if slot.own else WrongReference("ref-self", f"`{ref.path}` refers to its own step", hint)
    hint = "" if target < own_place else "refer only to steps above this place"
    if target[0] == slot.phase and phase.parallel.limit > 1:
        hint = "the steps of a parallel phase run at the same time"
    elif lane is not None and phase.lane not in (None, lane) and phase.lane.group == lane.group:
        hint = "the rounds of a parallel repeat and the phases of a parallel block run at the same time"
    return WrongReference("ref-forward", message, hint) if hint else None


def _maybe_skipped(
    flow: LoadState, layout: Layout, slot: PlaceReferences, ref: Ref, target: tuple[int, int]
) -> WrongReference | None:
    """Warn about a reference into the result of a step that may be skipped: the run would fail there."""
    is_other = target[0] != slot.phase and target[0] in layout.maybe_phases
    if is_other or (target != (slot.phase, slot.step) and target in layout.maybe_steps):
        why = "a step that may be skipped"
    elif not _follow_from(flow.phases[target[0]].guards, slot.enclosure.guards):
        why = "a step of a round that may be skipped"
    else:
        return None
    hint = "add a `when` here too, or a default value: `{default: ['${...}', VALUE]}`"
    message = f"`{ref.path}` refers to the result of {why}"
    return WrongReference("ref-maybe-skipped", message, hint, severity="warning")


def _follow_from(needed: tuple[Expression, ...], guards: tuple[Expression, ...]) -> bool:
    """True if all `needed` guards hold whenever the `held` guards hold.

    Inner rounds extend the guards of outer rounds with the same objects, so the last guard also stands for all before
    it. If there are too many to compare, the answer is true.
    """
    if not needed or (len(guards) >= len(needed) and guards[len(needed) - 1] is needed[-1]):
        return True
    if not guards or len(needed) * len(guards) > MOST_COMPARED:
        return bool(guards)
    return all(any(_implies(guard, needed_guard) for guard in guards) for needed_guard in needed)


def _implies(guard: Expression, needed: Expression) -> bool:
    """A list with a third item also has a first one. A guard that is a `Comparison` always compares such an index."""
    if isinstance(guard, Comparison) and isinstance(needed, Comparison) and guard.right == needed.right:
        here, there = guard.left, needed.left
        return isinstance(here, Const) and isinstance(there, Const) and there.value <= here.value
    return guard == needed


NESTED_RESULT = "executionState"
RESULT_FIELDS = ("flowKind", "flowVersion", "terminated", "terminationOutcome", "phases")
PHASE_FIELDS = ("id", "status", "steps")
STEP_FIELDS = ("id", "status", "value", "outputs")


class NestedReference(NamedTuple):
    """A reference into a nested flow: the name of the flow, the path, and its names after `executionState`."""

    flow: str
    path: str
    names: tuple[str, ...]
    place: SourcePlace


def nested_references(flow: LoadState) -> Iterator[NestedReference]:
    """The references of a flow into the flows that its steps run. A reference that may fail is not one of them."""
    steps = {(phase.id, step.id): step for phase in flow.phases for step in phase.steps}
    for slot in flow.slots:
        for use in slot.references:
            names = use.ref.names
            step = steps.get((names[1], names[2])) if names[0:1] == ["steps"] and len(names) > 5 else None
            flow_name = step.flow if step is not None and names[4] == NESTED_RESULT else None
            if isinstance(flow_name, Const) and isinstance(flow_name.value, str) and not use.is_shielded:
                yield NestedReference(flow_name.value, use.ref.path, tuple(names[5:]), use.place)


def wrong_nested_reference(reference: NestedReference, plan: FlowPlan) -> WrongReference | None:
    """The first name that the nested flow does not have. None if all are there."""
    field, *names = reference.names
    if field not in RESULT_FIELDS:
        return _lacks(reference.path, "ref-output", f"`{NESTED_RESULT}` has no", field, RESULT_FIELDS)
    if field != "phases" or not names:
        return None
    phases = tuple(phase.id for phase in plan.phases)
    index = _index_in(names[0], phases)
    if index is None:
        return _lacks(reference.path, "ref-phase", f"flow `{plan.id}` has no phase", names[0], phases)
    if len(names) > 1 and names[1] not in PHASE_FIELDS:
        return _lacks(reference.path, "ref-field", "a phase has no", names[1], PHASE_FIELDS)
    if len(names) < 3 or names[1] != "steps":
        return None
    steps = tuple(step.id for step in plan.phases[index].steps)
    if _index_in(names[2], steps) is None:
        what = f"phase `{phases[index]}` of `{plan.id}` has no step"
        return _lacks(reference.path, "ref-step", what, names[2], steps)
    if len(names) > 3 and names[3] not in STEP_FIELDS:
        return _lacks(reference.path, "ref-field", "a step has no", names[3], STEP_FIELDS)
    return None


def _lacks(path: str, code: str, what: str, name: str, known: tuple[str, ...], label: str = "known") -> WrongReference:
    hint = f"{label}: {some(known)}" if known else "there are none"
    return WrongReference(code, f"`{path}`: {what} `{name}`", hint, name, known)


def _index_in(name: str, ids: tuple[str, ...]) -> int | None:
    if (index := index_of(name)) is not None:
        return index if index < len(ids) else None
    return ids.index(name) if name in ids else None
