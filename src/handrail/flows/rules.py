"""Rules that need the whole flow: unique ids, valid references, no unreachable steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail.expressions.parse import Place, place_of
from handrail.flows.certain import constant_truth, is_conditional, skippable
from handrail.flows.plan import Phase, Step
from handrail.flows.reading import Reading
from handrail.flows.references import Layout, wrong_with
from handrail.source.diagnostics import Diagnostic
from handrail.source.yamltree import Node

_OF_ROUNDS = ("ref-phase", "ref-repeat", "ref-maybe-skipped")
"""Problems of a reference that a repeat causes if its rounds are not known: their phases and names are missing."""


def check(flow: Reading) -> Iterator[Diagnostic]:
    """Problems that are visible only when all phases are unrolled. Each is reported once, not once per round.

    If a repeat could not be unrolled, only problems that do not depend on it are reported.
    """
    is_whole = not flow.is_partial and not flow.is_cut_short
    yield from _phase_ids(flow)
    if is_whole:
        yield from _unreachable(flow)
    layout = Layout(
        _first_indexes(phase.id for phase in flow.phases),
        tuple(_first_indexes(step.id for step in phase.steps) for phase in flow.phases),
        skippable(flow.phases),
    )
    reported: set[tuple[str, Place]] = set()
    for slot in flow.slots:
        for use in slot.used:
            wrong = wrong_with(flow, layout, slot, use)
            if wrong is not None and not is_whole and wrong.code in _OF_ROUNDS:
                continue
            if wrong is not None and (wrong.code, use.place) not in reported:
                reported.add((wrong.code, use.place))
                hint = (flow.suggestions.near(wrong.name, wrong.known) if wrong.known else None) or wrong.hint
                yield flow.source.problem(wrong.code, use.place, wrong.message, hint, wrong.severity)


def _first_indexes(ids: Iterable[str]) -> dict[str, int]:
    """The index at which each id occurs first."""
    places: dict[str, int] = {}
    for place, id_ in enumerate(ids):
        places.setdefault(id_, place)
    return places


def _phase_ids(flow: Reading) -> Iterator[Diagnostic]:
    seen: dict[str, Node] = {}
    reported: set[Place] = set()
    for phase, node in zip(flow.phases, flow.places, strict=True):
        if not phase.id or (flow.is_partial and "${" in phase.id):  # the round of a wrong repeat has no number
            continue
        if phase.id in seen and place_of(node.value["id"]) not in reported:
            reported.add(place_of(node.value["id"]))
            message, hint = f"phase id `{phase.id}` is used twice", _id_hint(node.value["id"], seen[phase.id], phase)
            yield flow.source.problem("phase-id-twice", place_of(node.value["id"]), message, hint)
        seen.setdefault(phase.id, node.value["id"])


def _id_hint(node: Node, first: Node, phase: Phase) -> str:
    rounds = [name for name in phase.rounds if not name.endswith("_minus_one") and f"${{{name}}}" not in node.value]
    if rounds and first.line == node.line:
        return f"every round uses the same id; add the number of the round: `{node.value}-${{{rounds[-1]}}}`"
    return f"the first one is on line {first.line}; give each phase its own id"


def _unreachable(flow: Reading) -> Iterator[Diagnostic]:
    """Warn about the first step or phase after a step that always ends the flow."""
    reported: set[Place] = set()
    for number, phase in enumerate(flow.phases):
        ends = next((place for place, step in enumerate(phase.steps) if _always_ends(step)), None)
        if ends is None:
            continue
        is_certain = not is_conditional(phase) and not phase.guards and phase.lane is None
        following = _next_step(flow.places[number], ends) if phase.parallel.limit == 1 else None
        what = "step"
        if following is None and is_certain and number + 1 < len(flow.phases):
            what, following = "phase", flow.places[number + 1]
        if following is not None and place_of(following) not in reported:
            reported.add(place_of(following))
            place = following.value.get("id", following)
            message = f"this {what} is never reached: `{phase.steps[ends].id}` before it always ends the flow"
            hint = "remove it, or give `stopFlowIf` a condition"
            yield flow.source.problem("unreachable", place_of(place), message, hint, "warning")
        if is_certain:
            return


def _always_ends(step: Step) -> bool:
    return not is_conditional(step) and step.stop_if is not None and constant_truth(step.stop_if) is True


def _next_step(phase: Node, number: int) -> Node | None:
    steps = [item for item in phase.value["steps"].value if item.kind == "mapping"]
    return steps[number + 1] if number + 1 < len(steps) else None
