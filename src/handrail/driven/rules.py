"""What a flow has to obey beyond the shape of its file: unique ids, references to what is known by then. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.diagnostics import Diagnostic
from handrail.driven.reading import Reading, Slot
from handrail.suggest import did_you_mean
from handrail.values import SCOPES, Ref

FIELDS = ("outputs", "value", "status")


def check(flow: Reading) -> Iterator[Diagnostic]:
    """Problems that show only when all phases are known and unrolled."""
    yield from _phase_ids(flow)
    places = {phase.id: number for number, phase in reversed(list(enumerate(flow.phases)))}
    for slot in flow.slots:
        for use in slot.used:
            problem = _reference(flow, places, slot, use.ref)
            if problem is not None:
                yield flow.source.problem(problem[0], use.place, problem[1], problem[2])


def _phase_ids(flow: Reading) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for phase, node in zip(flow.phases, flow.places, strict=True):
        if phase.id in seen:
            hint = "put the round's number into the id: `${VAR}`" if phase.rounds else "give each phase its own id"
            place = (node.line, node.column, node.width)
            yield flow.source.problem("phase-id-twice", place, f"phase id `{phase.id}` is used twice", hint)
        seen.add(phase.id)


Found = tuple[str, str, str | None]


def _reference(flow: Reading, places: dict[str, int], slot: Slot, ref: Ref) -> Found | None:
    parts = ref.parts
    if not parts or parts[0] not in SCOPES:
        hint = did_you_mean(parts[0] if parts else "", SCOPES) or f"begin with one of {', '.join(SCOPES)}"
        return "ref-scope", f"`{ref.path}` does not begin with a known scope", hint
    if parts[0] != "steps":
        return None
    if len(parts) < 4:
        return "ref-short", f"`{ref.path}` is too short", "write `steps.PHASE.STEP.outputs.NAME`"
    _, phase, step, field = parts[:4]
    if field not in FIELDS:
        hint = f"write `steps.PHASE.STEP.{FIELDS[0]}`; a step has {', '.join(FIELDS)}"
        return "ref-field", f"`{ref.path}`: a step has no `{field}`", hint
    if phase not in places:
        return "ref-phase", f"`{ref.path}`: there is no phase `{phase}`", did_you_mean(phase, places)
    ids = [known.id for known in flow.phases[places[phase]].steps]
    if step not in ids:
        return "ref-step", f"`{ref.path}`: phase `{phase}` has no step `{step}`", did_you_mean(step, ids)
    return _order(flow, slot, ref, (places[phase], ids.index(step)))


def _order(flow: Reading, slot: Slot, ref: Ref, target: tuple[int, int]) -> Found | None:
    """A step may look at what is finished by then: itself only afterwards, its parallel neighbours never."""
    here = (slot.phase, slot.step or 0)
    if target == here:
        hint = "only `expect`, `stopFlowIf` and `after` may look at their own step"
        return None if slot.own else ("ref-self", f"`{ref.path}` looks at the step itself", hint)
    beside = target[0] == here[0] and slot.phase < len(flow.phases) and flow.phases[slot.phase].parallel > 1
    if target > here or beside:
        return "ref-forward", f"`{ref.path}` looks at a step that has not run by then", "refer to earlier steps only"
    return None
