"""What a flow has to obey beyond the shape of its file: unique ids, sound references, nothing out of reach. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail.expressions.parse import Place, place_of
from handrail.flows.plan import Phase, Step
from handrail.flows.reading import Reading
from handrail.flows.references import Layout, always, depends, wrong_with
from handrail.source.diagnostics import Diagnostic
from handrail.source.yamltree import Node


def check(flow: Reading) -> Iterator[Diagnostic]:
    """Problems that show only when all phases are known and unrolled; each once, however many rounds have it."""
    yield from _phase_ids(flow)
    yield from _unreachable(flow)
    layout = Layout(
        _first(phase.id for phase in flow.phases),
        tuple(_first(step.id for step in phase.steps) for phase in flow.phases),
    )
    told: set[tuple[str, Place]] = set()
    for slot in flow.slots:
        for use in slot.used:
            wrong = wrong_with(flow, layout, slot, use)
            if wrong is not None and (wrong.code, use.place) not in told:
                told.add((wrong.code, use.place))
                hint = (flow.suggestions.near(wrong.name, wrong.known) if wrong.known else None) or wrong.hint
                yield flow.source.problem(wrong.code, use.place, wrong.message, hint, wrong.severity)


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


def _unreachable(flow: Reading) -> Iterator[Diagnostic]:
    """The first thing after a step that always ends the flow."""
    told: set[Place] = set()
    for number, phase in enumerate(flow.phases):
        ends = next((place for place, step in enumerate(phase.steps) if _always_ends(step)), None)
        if ends is None:
            continue
        is_certain = not depends(phase) and not phase.guards and phase.lane is None
        below = _step_below(flow.places[number], ends) if phase.parallel.limit == 1 else None
        what = "step"
        if below is None and is_certain and number + 1 < len(flow.phases):
            what, below = "phase", flow.places[number + 1]
        if below is not None and place_of(below) not in told:
            told.add(place_of(below))
            place = below.value.get("id", below)
            message = f"this {what} is never reached: `{phase.steps[ends].id}` before it always ends the flow"
            hint = "take it out, or give `stopFlowIf` a condition"
            yield flow.source.problem("unreachable", place_of(place), message, hint, "warning")
        if is_certain:
            return


def _always_ends(step: Step) -> bool:
    return not depends(step) and step.stop_if is not None and always(step.stop_if) is True


def _step_below(phase: Node, number: int) -> Node | None:
    steps = [item for item in phase.value["steps"].value if item.kind == "mapping"]
    return steps[number + 1] if number + 1 < len(steps) else None
