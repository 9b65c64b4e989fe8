"""Resolved specs → a plan. Pure. References must be known and free of cycles; `rules.resolve` sees to that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from handrail.errors import DefinitionError
from handrail.workflows.placeholders import DONE, START
from handrail.workflows.plan import Level, Plan, Stop
from handrail.workflows.spec import PhaseSpec, Reference, WorkflowSpec

MAX_STOPS = 2_000


class _Scope(NamedTuple):
    """A workflow being unfolded: the levels above it, and what comes after it in them."""

    spec: WorkflowSpec
    above: tuple[Level, ...]
    after: str


def count_stops(specs: Mapping[str, WorkflowSpec], key: str) -> int:
    """How many stops the plan of `key` has, without building it."""
    known: dict[str, int] = {}

    def count(name: str) -> int:
        if name not in known:
            entries = specs[name].entries
            known[name] = sum(count(e.key) if isinstance(e, Reference) else 1 for e in entries)
        return known[name]

    return count(key)


def compile_plan(specs: Mapping[str, WorkflowSpec], key: str) -> Plan:
    """The flat plan of the workflow `key`."""
    spec = specs[key]
    total = count_stops(specs, key)
    if total > MAX_STOPS:
        message = f"`{key}` unfolds to {total} phases; {MAX_STOPS} are allowed"
        raise DefinitionError(message, "a subworkflow that is used many times multiplies; use fewer")
    stops: list[Stop] = []
    _unfold(specs, _Scope(spec, (), DONE), stops)
    return Plan(
        spec.key,
        spec.name,
        spec.command,
        spec.initial_message,
        spec.texts,
        spec.session_name_length,
        tuple(stops),
    )


def _unfold(specs: Mapping[str, WorkflowSpec], scope: _Scope, stops: list[Stop]) -> None:
    spec = scope.spec
    names = [specs[e.key].name if isinstance(e, Reference) else e.name for e in spec.entries]
    first = len(stops)
    for index, entry in enumerate(spec.entries):
        levels = (*scope.above, Level(spec.key, spec.name, index, len(spec.entries)))
        after = names[index + 1] if index + 1 < len(names) else scope.after
        if isinstance(entry, Reference):
            _unfold(specs, _Scope(specs[entry.key], levels, after), stops)
        else:
            before = names[index - 1] if index else START
            stops.append(_stop(entry, levels, first, spec.loopable, (before, after)))


def _stop(phase: PhaseSpec, levels: tuple[Level, ...], first: int, loopable: bool, around: tuple[str, str]) -> Stop:
    return Stop(
        phase.id,
        phase.name,
        phase.emoji,
        phase.instructions,
        levels,
        first,
        loopable,
        around[0],
        around[1],
        phase.deny,
        phase.allow,
        phase.profiles,
        phase.exit,
    )
