"""What a flow has to obey beyond the shape of its file: unique ids, references to what is known by then. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from handrail.diagnostics import Diagnostic
from handrail.driven.expressions import Place, place_of
from handrail.driven.plan import Phase
from handrail.driven.reading import Reading, Slot
from handrail.values import SCOPES, Ref
from handrail.yamltree import Node

FIELDS = ("outputs", "value", "status")


class Wrong(NamedTuple):
    """What is wrong with a reference. `name` was probably meant to be one of `known`; else `hint` helps."""

    code: str
    message: str
    hint: str
    name: str = ""
    known: tuple[str, ...] = ()


class Layout(NamedTuple):
    """Where every step of an unrolled flow stands."""

    phases: dict[str, int]
    steps: tuple[dict[str, int], ...]


def check(flow: Reading) -> Iterator[Diagnostic]:
    """Problems that show only when all phases are known and unrolled; each once, however many rounds have it."""
    yield from _phase_ids(flow)
    layout = Layout(
        _first(phase.id for phase in flow.phases),
        tuple(_first(step.id for step in phase.steps) for phase in flow.phases),
    )
    told: set[tuple[str, Place]] = set()
    for slot in flow.slots:
        for use in slot.used:
            wrong = _reference(flow, layout, slot, use.ref)
            if wrong is not None and (wrong.code, use.place) not in told:
                told.add((wrong.code, use.place))
                hint = (flow.suggestions.near(wrong.name, wrong.known) if wrong.known else None) or wrong.hint
                yield flow.source.problem(wrong.code, use.place, wrong.message, hint)


def _first(ids: Iterable[str]) -> dict[str, int]:
    """Where each id stands for the first time."""
    places: dict[str, int] = {}
    for place, id_ in enumerate(ids):
        places.setdefault(id_, place)
    return places


def _phase_ids(flow: Reading) -> Iterator[Diagnostic]:
    seen: dict[str, Node] = {}
    told: set[Place] = set()
    for phase, node in zip(flow.phases, flow.places, strict=True):
        if not phase.id:
            continue
        if phase.id in seen and place_of(node.value["id"]) not in told:
            told.add(place_of(node.value["id"]))
            message, hint = f"phase id `{phase.id}` is used twice", _other_id(node.value["id"], seen[phase.id], phase)
            yield flow.source.problem("phase-id-twice", place_of(node.value["id"]), message, hint)
        seen.setdefault(phase.id, node.value["id"])


def _other_id(node: Node, first: Node, phase: Phase) -> str:
    rounds = [name for name in phase.rounds if not name.endswith("_minus_one") and f"${{{name}}}" not in node.value]
    if rounds and first.line == node.line:
        return f"it comes again in every round; put the number of the round into it: `{node.value}-${{{rounds[-1]}}}`"
    return f"the first one is on line {first.line}; give each phase its own id"


def _reference(flow: Reading, layout: Layout, slot: Slot, ref: Ref) -> Wrong | None:
    parts = ref.parts
    if not parts or parts[0] not in SCOPES:
        hint = f"begin with one of {', '.join(SCOPES)}"
        message = f"`{ref.path}` does not begin with a known scope" if parts else "the reference is empty"
        return Wrong("ref-scope", message, hint, (parts or [""])[0], SCOPES)
    if parts[0] != "steps":
        return None
    if len(parts) < 4:
        hint = "write `steps.PHASE.STEP.outputs.NAME`"
        return Wrong("ref-short", f"`{ref.path}` does not say what of a step is meant", hint)
    _, phase, step, field = parts[:4]
    if field not in FIELDS:
        hint = f"write `steps.PHASE.STEP.outputs.NAME`; a step has {', '.join(FIELDS)}"
        return Wrong("ref-field", f"`{ref.path}`: a step has no `{field}`", hint, field, FIELDS)
    if phase not in layout.phases:
        known = tuple(layout.phases)
        return Wrong("ref-phase", f"`{ref.path}`: there is no phase `{phase}`", _some("phases", known), phase, known)
    steps = layout.steps[layout.phases[phase]]
    if step not in steps:
        known = tuple(steps)
        message = f"`{ref.path}`: phase `{phase}` has no step `{step}`"
        return Wrong("ref-step", message, _some("its steps", known), step, known)
    return _order(flow, slot, ref, (layout.phases[phase], steps[step]))


def _some(what: str, names: tuple[str, ...]) -> str:
    more = ", …" if len(names) > 8 else ""
    return f"{what}: {', '.join(names[:8])}{more}" if names else "there are none"


def _order(flow: Reading, slot: Slot, ref: Ref, target: tuple[int, int]) -> Wrong | None:
    """A step may look at what is finished by then: itself only afterwards, its parallel neighbours never."""
    here = (slot.phase, slot.step or 0)
    if target == here and slot.step is None:
        hint = "refer to steps of phases above this place only"
        return Wrong("ref-self", f"`{ref.path}` looks at a step that has not run by then", hint)
    if target == here:
        hint = "only `expect`, `stopFlowIf` and `after` may look at their own step"
        return None if slot.own else Wrong("ref-self", f"`{ref.path}` looks at the step itself", hint)
    beside = target[0] == here[0] and slot.phase < len(flow.phases) and flow.phases[slot.phase].parallel > 1
    if target > here or beside:
        hint = "the steps of a parallel phase run together" if beside else "refer to steps above this place only"
        return Wrong("ref-forward", f"`{ref.path}` looks at a step that has not run by then", hint)
    return None
