"""What a reference may look at: scopes and names that there are, steps that have run by then. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handrail.expressions.parse import Used
from handrail.expressions.tree import SCOPES, Const, Expression, Ref, Test, Truth
from handrail.flows.plan import Phase, Step
from handrail.flows.reading import Reading, Slot
from handrail.source.diagnostics import Severity
from handrail.source.values import is_true

FIELDS = ("outputs", "value", "status")
CONTEXT = (
    "agent", "cwd", "dryRun", "env", "executionRouting", "issueKey", "jiraRef", "mdLang", "model", "project", "run",
    "scope", "task", "taskKey", "verbose",
)  # fmt: skip
MOST_COMPARED = 256


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """What is wrong with a reference. `name` was probably meant to be one of `known`; else `hint` helps."""

    code: str
    message: str
    hint: str
    name: str = ""
    known: tuple[str, ...] = ()
    severity: Severity = "error"


@dataclass(frozen=True)
class Layout:
    """Where every step of an unrolled flow stands."""

    phases: dict[str, int]
    steps: tuple[dict[str, int], ...]


def wrong_with(flow: Reading, layout: Layout, slot: Slot, use: Used) -> Wrong | None:
    """The first thing that is wrong with a reference, from where it stands."""
    ref, parts = use.ref, use.ref.names
    if not parts or parts[0] not in SCOPES:
        return _scope(slot, ref, parts)
    if parts[0] == "steps":
        return _step(flow, layout, slot, use)
    if len(parts) == 1:
        return None
    match parts[0]:
        case "params":
            return _param(flow.declared.params, ref, parts[1])
        case "flow":
            return _constant(flow.declared.constants, ref, parts[1:])
        case "repeat":
            return _repeat(slot, ref, parts[1])
        case _:
            return _context(flow.declared.env, ref, parts[1:])


def _scope(slot: Slot, ref: Ref, parts: list[str]) -> Wrong:
    hint = f"begin with one of {', '.join(SCOPES)}; text that is meant as it stands goes into `const`"
    if not parts:
        return Wrong(code="ref-scope", message="the reference is empty", hint=hint)
    message = f"`{ref.path}` does not begin with a known scope"
    if parts[0] in slot.around.names:
        return Wrong(code="ref-scope", message=message, hint=f"write `repeat.{ref.path}`")
    return Wrong(code="ref-scope", message=message, hint=hint, name=parts[0], known=SCOPES)


def _param(declared: tuple[str, ...] | None, ref: Ref, name: str) -> Wrong | None:
    if declared is None or name in declared:
        return None
    hint = f"declare it: `params: {{{name}: ...}}`"
    return Wrong(
        code="ref-param",
        message=f"`{ref.path}`: the flow declares no param `{name}`",
        hint=hint,
        name=name,
        known=declared,
    )


def _constant(constants: Mapping[str, Any], ref: Ref, names: list[str]) -> Wrong | None:
    """Constants are known to the last member."""
    found: Any = constants
    for place, name in enumerate(names):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif (
            isinstance(found, list) and name.isascii() and name.isdigit() and len(name) < 10 and int(name) < len(found)
        ):
            found = found[int(name)]
        else:
            known = tuple(found) if isinstance(found, Mapping) else ()
            where = f"`flow.{'.'.join(names[:place])}` has no `{name}`" if place else f"there is no constant `{name}`"
            hint = _members(found) if place else f"add it: `constants: {{{name}: ...}}`"
            return Wrong(code="ref-constant", message=f"`{ref.path}`: {where}", hint=hint, name=name, known=known)
    return None


def _members(value: Any) -> str:
    if isinstance(value, Mapping):
        return _some("it has", tuple(value))
    return f"it has {len(value)} items, counted from 0" if isinstance(value, list) else "it has no members at all"


def _repeat(slot: Slot, ref: Ref, name: str) -> Wrong | None:
    known = slot.around.names
    if name in known:
        return None
    if not known:
        return Wrong(
            code="ref-repeat",
            message=f"`{ref.path}`: there is no repeat around this place",
            hint="put it into a repeat",
        )
    return Wrong(
        code="ref-repeat",
        message=f"`{ref.path}`: no repeat here has a `{name}`",
        hint=_some("there are", known),
        name=name,
        known=known,
    )


def _context(env: tuple[str, ...], ref: Ref, names: list[str]) -> Wrong | None:
    if names[0] not in CONTEXT:
        hint = f"known: {', '.join(CONTEXT)}"
        message = f"`{ref.path}`: the context has no `{names[0]}`"
        return Wrong(code="ref-context", message=message, hint=hint, name=names[0], known=CONTEXT, severity="warning")
    if names[0] != "env" or len(names) == 1 or names[1] in env:
        return None
    hint = f"add it to what the flow may read: `env: [{', '.join([*env[:4], names[1]])}]`"
    return Wrong(
        code="ref-env",
        message=f"`{ref.path}`: the flow does not say that it reads `{names[1]}`",
        hint=hint,
        name=names[1],
        known=env,
    )


def _step(flow: Reading, layout: Layout, slot: Slot, use: Used) -> Wrong | None:
    ref, parts = use.ref, use.ref.names
    if len(parts) < 4:
        hint = "write `steps.PHASE.STEP.outputs.NAME`"
        return Wrong(code="ref-short", message=f"`{ref.path}` does not say what of a step is meant", hint=hint)
    _, phase, step, field = parts[:4]
    if field not in FIELDS:
        hint = f"write `steps.PHASE.STEP.outputs.NAME`; a step has {', '.join(FIELDS)}"
        return Wrong(
            code="ref-field", message=f"`{ref.path}`: a step has no `{field}`", hint=hint, name=field, known=FIELDS
        )
    if phase not in layout.phases:
        known = tuple(layout.phases)
        return Wrong(
            code="ref-phase",
            message=f"`{ref.path}`: there is no phase `{phase}`",
            hint=_some("phases", known),
            name=phase,
            known=known,
        )
    steps = layout.steps[layout.phases[phase]]
    if step not in steps:
        known = tuple(steps)
        message = f"`{ref.path}`: phase `{phase}` has no step `{step}`"
        return Wrong(code="ref-step", message=message, hint=_some("its steps", known), name=step, known=known)
    target = (layout.phases[phase], steps[step])
    wrong = _order(flow, slot, ref, target) or _output(flow, use, target)
    if wrong is not None or field == "status" or len(parts) == 4 or use.is_shielded or slot.is_shielded:
        return wrong
    return _maybe_skipped(flow, slot, ref, target)


def _output(flow: Reading, use: Used, target: tuple[int, int]) -> Wrong | None:
    """A node that says what it makes makes nothing else. A step that a person said was done has `assumedDone`."""
    parts, node = use.ref.names, flow.phases[target[0]].steps[target[1]].node
    declared = flow.known.nodes.get(node)
    if declared is None or declared.open_outputs or len(parts) < 5 or parts[3] == "status" or use.is_shielded:
        return None
    if parts[4] in declared.outputs or parts[4] == "assumedDone":
        return None
    known = tuple(declared.outputs)
    message = f"`{use.ref.path}`: `{node}` makes no `{parts[4]}`"
    return Wrong(code="ref-output", message=message, hint=_some("it makes", known), name=parts[4], known=known)


def _some(what: str, names: tuple[str, ...]) -> str:
    more = ", …" if len(names) > 8 else ""
    return f"{what}: {', '.join(names[:8])}{more}" if names else "there are none"


def _order(flow: Reading, slot: Slot, ref: Ref, target: tuple[int, int]) -> Wrong | None:
    """A step may look at what is finished by then: itself only afterwards, what runs beside it never."""
    here = (slot.phase, slot.step or 0)
    if target == here and slot.step is None:
        hint = "refer to steps of phases above this place only"
        return Wrong(code="ref-self", message=f"`{ref.path}` looks at a step that has not run by then", hint=hint)
    if target == here:
        hint = "only `expect`, `makes`, `stopFlowIf` and `after` may look at their own step"
        return None if slot.own else Wrong(code="ref-self", message=f"`{ref.path}` looks at the step itself", hint=hint)
    beside = _beside(flow, slot, target)
    if beside is None and target < here:
        return None
    message = f"`{ref.path}` looks at a step that has not run by then"
    return Wrong(code="ref-forward", message=message, hint=beside or "refer to steps above this place only")


def _beside(flow: Reading, slot: Slot, target: tuple[int, int]) -> str | None:
    """Why two places run at once, if they do."""
    phase, mine = flow.phases[target[0]], slot.around.lane
    if target[0] == slot.phase and phase.parallel.limit > 1:
        return "the steps of a parallel phase run together"
    if mine is None or phase.lane is None or mine.group != phase.lane.group or mine.number == phase.lane.number:
        return None
    return "the rounds of a parallel repeat, and the phases of a parallel block, run together"


def _maybe_skipped(flow: Reading, slot: Slot, ref: Ref, target: tuple[int, int]) -> Wrong | None:
    """What a skipped step made is nothing to look into: the run would fail there."""
    phase = flow.phases[target[0]]
    step = phase.steps[target[1]]
    if (target[0] != slot.phase and depends(phase)) or (target != (slot.phase, slot.step) and depends(step)):
        why = "a step that may be skipped"
    elif not _is_held(phase.guards, slot.around.guards):
        why = "a step of a round that may not take place"
    else:
        return None
    hint = "give this a `when` too, or what holds instead: `{default: ['${...}', VALUE]}`"
    return Wrong(code="ref-maybe-skipped", message=f"`{ref.path}` looks into {why}", hint=hint, severity="warning")


def depends(one: Phase | Step) -> bool:
    return one.when is not None and always(one.when) is not True


def always(condition: Expression) -> bool | None:
    """What a condition comes to wherever it stands, if it is written as a constant."""
    if isinstance(condition, Truth):
        return always(condition.value)
    return is_true(condition.value) if isinstance(condition, Const) else None


def _is_held(needed: tuple[Expression, ...], held: tuple[Expression, ...]) -> bool:
    """Is a step with guards there to look at wherever others hold? Guards grow from the outside in, each made once, so
    the last one stands for all before it. What would take long to find out is believed."""
    if not needed or (len(held) >= len(needed) and held[len(needed) - 1] is needed[-1]):
        return True
    if not held or len(needed) * len(held) > MOST_COMPARED:
        return bool(held)
    return all(any(_implies(guard, one) for guard in held) for one in needed)


def _implies(held: Expression, needed: Expression) -> bool:
    """A list that has a third item has a first one; a guard that is a test is always about such a place."""
    if isinstance(held, Test) and isinstance(needed, Test) and held.right == needed.right:
        return isinstance(held.left, Const) and isinstance(needed.left, Const) and needed.left.value <= held.left.value
    return held == needed
