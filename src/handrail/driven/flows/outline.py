"""The outline of a flow: its phases as its file has them. Pure.

The rounds of a repeat are one block, and so are parallel phases. Help, pictures, graphs and pages draw these blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from handrail.base.dataclasses import dataclass
from handrail.driven.expressions.words import in_words
from handrail.driven.flows.plan import FlowPlan, Phase, groups_of, round_numbers


@dataclass(frozen=True)
class PhaseBlock:
    """One phase. In a repeat, `name` has the name of the round's number in place of the number."""

    name: str
    phase: Phase


@dataclass(frozen=True)
class RepeatBlock:
    """A repeat. Another round begins only if the condition `again` holds; None if all rounds run."""

    count: int
    again: str | None
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class ParallelBlock:
    """Phases that run in parallel, up to `limit` of them."""

    limit: int
    blocks: tuple[Block, ...]


Block: TypeAlias = PhaseBlock | RepeatBlock | ParallelBlock


def blocks_of(plan: FlowPlan) -> tuple[Block, ...]:
    """All blocks of a plan, in order."""
    found: list[Block] = []
    for group in _alike(groups_of(plan.phases)):
        lane = group[0].lane
        inner = tuple(_folded(group, ()))
        found += [ParallelBlock(plan.groups[lane.group].limit, inner)] if lane is not None else inner
    return tuple(found)


def phase_blocks(blocks: Sequence[Block]) -> Iterator[PhaseBlock]:
    """The phases in blocks, each once."""
    for block in blocks:
        if isinstance(block, PhaseBlock):
            yield block
        else:
            yield from phase_blocks(block.blocks)


def _alike(groups: Iterator[list[Phase]]) -> Iterator[list[Phase]]:
    """Phases one after the other without a lane together, and each parallel group by itself."""
    for is_parallel, members in itertools.groupby(groups, key=lambda group: group[0].lane is not None):
        if is_parallel:
            yield from members
        else:
            yield [phase for group in members for phase in group]


def _folded(phases: Sequence[Phase], done: tuple[str, ...]) -> Iterator[Block]:
    """The phases with their repeats folded. `done` are the names of the repeats around them."""
    for name, members in itertools.groupby(phases, key=lambda phase: _next_round(phase, done)):
        inside = list(members)
        if name is None:
            yield from (PhaseBlock(_name(phase, done), phase) for phase in inside)
            continue
        numbers = list(dict.fromkeys(phase.rounds[name] for phase in inside))
        first = [phase for phase in inside if phase.rounds[name] == numbers[0]]
        later = next((phase for phase in inside if phase.rounds[name] != numbers[0]), None)
        guards = later.guards[len(first[0].guards) :] if later is not None else ()
        again = in_words(guards[0]) if guards else None
        yield RepeatBlock(len(numbers), again, tuple(_folded(first, (*done, name))))


def _next_round(phase: Phase, done: tuple[str, ...]) -> str | None:
    return next((name for name in round_numbers(phase) if name not in done), None)


def _name(phase: Phase, done: tuple[str, ...]) -> str:
    """The id of a phase of the first round, with the names of the numbers: `review-1` is `review-N`."""
    name = phase.id
    for number in reversed([phase.rounds[one] for one in done]):
        head, found, tail = name.rpartition(str(number))
        name = f"{head}N{tail}" if found else name
    return name
