"""Every sequence of commands up to a length, on one plan. Each situation is visited once.

It tracks independently whether a cancel was just requested and how often the end was told. For that it uses only the
commands and their events, not the state of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.machine import (
    AgentStopped,
    Answer,
    Block,
    Cancel,
    CheckResult,
    Command,
    CommandRefused,
    Decision,
    Event,
    GoTo,
    Loop,
    Next,
    Reload,
    Resumed,
    Start,
    Started,
    State,
    Tell,
    Told,
    fold,
)
from handrail.guided.workflows.plan import Plan

DEPTH = 6
HERE, EDITED = "plan-here", "plan-edited"
Plans = Mapping[str, Plan]


class Seen(NamedTuple):
    """A situation: the machine's state, all events so far, and what an observer knows."""

    state: State = State()
    events: tuple[Event, ...] = ()
    just_asked: bool = False
    times_told: int = 0


class Step(NamedTuple):
    """One command in one situation."""

    before: Seen
    command: Command
    decision: Decision
    after: Seen


def result(name: str, held: bool | None) -> CheckResult:
    return CheckResult(name, "file", held, "detail", 0.5)


def results(*held: bool | None) -> tuple[CheckResult, ...]:
    return tuple(result(f"check-{number}", found) for number, found in enumerate(held))


ANSWERS = ((), (True,), (False,), (None,), (True, True), (True, False), (None, True), (True, True, True))


def commands(plans: Plans) -> list[Command]:
    """Every kind of command, in each variant that may matter."""
    return [
        Start(Started(HERE, "task", "id-1", 5.0, idle_limit=2)),
        Start(Started(HERE, "other", "id-2", 6.0, idle_limit=2), replace=True),
        *[Next("done it", results(*held)) for held in ANSWERS],
        Next("", ()),
        Loop(),
        Cancel(),
        Cancel(confirmed=True, reason="enough"),
        Cancel(by_agent=True),
        Block("no key"),
        Answer("it is in the drawer"),
        GoTo(0, "once more"),
        AgentStopped(),
        AgentStopped(progress=True),
        AgentStopped(aborted=True),
        Resumed(),
        Tell(),
        Reload(HERE, plans[HERE]),
        Reload(EDITED, plans[EDITED]),
        CommandRefused("handrail cancel"),
    ]


def plan_of(plans: Plans, state: State) -> Plan | None:
    return plans.get(state.plan)


def take(plans: Plans, seen: Seen, command: Command) -> Step:
    decision = decide(plan_of(plans, seen.state), seen.state, command)
    state = fold(decision.events, seen.state)
    told = seen.times_told
    for event in decision.events:
        told = 0 if isinstance(event, Started) else told + isinstance(event, Told)
    after = Seen(state, (*seen.events, *decision.events), _just_asked(seen, command), told)
    return Step(seen, command, decision, after)


def _just_asked(seen: Seen, command: Command) -> bool:
    """True if one more `cancel` would be the second in a row. `AgentStopped` and `Tell` do not interrupt the row."""
    if isinstance(command, AgentStopped | Tell):
        return seen.just_asked
    is_question = isinstance(command, Cancel) and not command.confirmed and not command.by_agent
    is_sure = seen.just_asked or seen.state.asks_to_cancel
    return is_question and not is_sure and seen.state.is_active


def explore(plans: Plans, depth: int = DEPTH) -> Iterator[Step]:
    """Every command in every situation that at most `depth` commands reach, each situation once."""
    known: set[tuple[State, bool, int]] = set()
    layer = [Seen()]
    for _ in range(depth):
        reached: list[Seen] = []
        for seen in layer:
            for command in commands(plans):
                step = take(plans, seen, command)
                yield step
                key = (
                    step.after.state._replace(exchanges=0, note="", reason=""),
                    step.after.just_asked,
                    step.after.times_told,
                )
                if key not in known:
                    known.add(key)
                    reached.append(step.after)
        layer = reached
