"""Resolved specs → a plan. Pure. Expects specs without dangling references and cycles; `rules.resolve` removes them."""

from __future__ import annotations

from handrail.errors import DefinitionError
from handrail.source.record import Record
from handrail.workflows.placeholders import DONE, START
from handrail.workflows.plan import Level, Plan, Stop
from handrail.workflows.spec import PhaseSpec, Reference, WorkflowSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_STOPS = 2_000


class _Scope(Record):
    """A workflow that is being unfolded: the levels above it, and the name of what follows it there."""

    spec: WorkflowSpec
    above: tuple[Level, ...]
    after: str


def count_stops(specs: Mapping[str, WorkflowSpec], key: str) -> int:
    """The number of stops in the plan of `key`, without building it."""
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
        message = f"`{key}` unfolds to {total} phases; the limit is {MAX_STOPS}"
        raise DefinitionError(message, "each use of a subworkflow adds all its phases; use fewer")
    stops: list[Stop] = []
    _unfold(specs, _Scope(spec, (), DONE), stops)
    return Plan(
        key=spec.key,
        name=spec.name,
        command=spec.command,
        initial_message=spec.initial_message,
        texts=spec.texts,
        session_name_length=spec.session_name_length,
        stops=tuple(stops),
        orchestrates=spec.orchestrates,
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
        id=phase.id,
        name=phase.name,
        emoji=phase.emoji,
        instructions=phase.instructions,
        levels=levels,
        scope_first=first,
        scope_loopable=loopable,
        previous=around[0],
        next=around[1],
        deny=phase.deny,
        allow=phase.allow,
        profiles=phase.profiles,
        checks=phase.exit,
        require=phase.require,
        guidance=phase.guidance,
    )
