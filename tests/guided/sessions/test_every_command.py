"""Invariants that hold after any six commands on every small plan."""

from __future__ import annotations

import json
from functools import cache
from typing import get_args

import pytest

from guided.sessions.definitions import phase, plan, replaced, run, workflow
from guided.sessions.exploration import EDITED, HERE, Plans, Step, commands, explore
from handrail.guided.sessions.machine import (
    Adopted,
    AgentStopped,
    Answer,
    Cancel,
    Cancelled,
    CancelWithdrawn,
    Checked,
    Command,
    Event,
    Finished,
    GoTo,
    LetGo,
    Loop,
    Looped,
    Moved,
    Next,
    Rewound,
    SentOn,
    Start,
    Started,
    Tell,
    Told,
    WentTo,
    event_from_json,
    event_to_json,
    fold,
)
from handrail.guided.workflows.plan import Stop


def linear(*checks: int, loopable: bool = True) -> Plans:
    """Phases with this many checks each. The edited plan has one more phase at the start."""
    phases = [phase(f"p{number}", amount) for number, amount in enumerate(checks)]
    spec = workflow("top", *phases, loopable=loopable)
    return {HERE: plan(spec), EDITED: plan(replaced(spec, phase("new"), *phases))}


def nested() -> Plans:
    """A subworkflow that is both first and last. In the edited plan, its second phase is removed."""
    inner = workflow("inner", phase("a", 1), phase("b"))
    top = workflow("top", run("inner"), phase("middle"), run("inner"), loopable=False)
    return {HERE: plan(top, inner), EDITED: plan(top, replaced(inner, phase("a", 1)))}


def doubly_nested() -> Plans:
    """Three levels; the innermost is neither first nor last. In the edited plan, it runs once more."""
    core = workflow("core", phase("deep"), phase("deeper", 2), loopable=False)
    inner = workflow("inner", phase("a"), run("core"), phase("z"))
    top = workflow("top", run("inner"), run("core"))
    return {
        HERE: plan(top, inner, core),
        EDITED: plan(replaced(top, run("inner"), run("core"), run("core")), inner, core),
    }


PLANS = {
    "one phase": lambda: linear(0),
    "one phase with a check": lambda: linear(1),
    "two phases, the second with two checks": lambda: linear(0, 2),
    "three phases": lambda: linear(0, 0, 0),
    "three phases with checks that may not loop": lambda: linear(1, 0, 1, loopable=False),
    "nested": nested,
    "doubly nested": doubly_nested,
}


@cache
def plans_of(name: str) -> Plans:
    return PLANS[name]()


@cache
def steps_of(name: str) -> tuple[Step, ...]:
    return tuple(explore(plans_of(name)))


every_plan = pytest.mark.parametrize("name", PLANS)


def stop_before(name: str, step: Step) -> Stop:
    return plans_of(name)[step.before.state.plan].stops[step.before.state.at]


def is_among(step: Step, *kinds: type[Event]) -> bool:
    return any(isinstance(event, kinds) for event in step.decision.events)


def test_every_kind_of_command_is_tried() -> None:
    """Except for the two that bring a state along: `test_rewinding.py` has those."""
    tried = {type(command) for command in commands(plans_of("one phase"))}
    assert tried == set(get_args(Command)) - {Rewound, Adopted}


@pytest.mark.whole(7)
@every_plan
def test_the_exploration_reaches_every_kind_of_outcome(name: str) -> None:
    """Protects the other tests: a situation that is never reached is never tested."""
    steps = steps_of(name)
    refusals = {step.decision.refusal.code for step in steps if step.decision.refusal}
    happened = {type(event).__name__ for step in steps for event in step.decision.events}
    assert {"active", "not-active"} <= refusals
    assert {"Started", "CancelAsked", "CancelWithdrawn", "Cancelled", "SentOn", "LetGo", "Told"} <= happened
    assert len(steps) > 1_000


@pytest.mark.whole(7)
@every_plan
def test_the_state_equals_the_fold_of_the_recorded_events(name: str) -> None:
    for step in steps_of(name):
        assert fold(map(written_and_read, step.after.events)) == step.after.state, step


_AGAIN: dict[tuple[type, Event], Event] = {}


def written_and_read(event: Event) -> Event:
    key = (type(event), event)  # events of two kinds may be equal as tuples
    if key not in _AGAIN:
        _AGAIN[key] = event_from_json(json.loads(json.dumps(event_to_json(event))))
    return _AGAIN[key]


@every_plan
def test_the_position_is_always_a_stop_of_the_pinned_plan(name: str) -> None:
    for step in steps_of(name):
        state = step.after.state
        assert state.status == "none" or 0 <= state.at < len(plans_of(name)[state.plan].stops), step


@every_plan
def test_every_move_adds_one_step_and_nothing_else_does(name: str) -> None:
    for step in steps_of(name):
        events = step.decision.events
        base = 0 if is_among(step, Started) else step.before.state.steps
        moves = sum(isinstance(event, Moved | Looped | Finished | WentTo) for event in events)
        assert moves <= 1
        assert step.after.state.steps == base + moves, step


@every_plan
def test_a_refused_command_changes_nothing_but_a_pending_cancel(name: str) -> None:
    for step in steps_of(name):
        if step.decision.refusal is not None:
            before, after = step.before.state, step.after.state
            expected = before._replace(cancel_asked=False)
            if is_among(step, Checked):
                expected = expected._replace(reason="", question="")
            if is_among(step, Checked):  # check results are stored and may count as progress
                expected = expected._replace(checked=after.checked, idle_stops=after.idle_stops)
                expected = expected._replace(failure=after.failure, same_failures=after.same_failures)
            assert after == expected, step
            assert all(isinstance(event, CancelWithdrawn | Checked) for event in step.decision.events), step


@every_plan
def test_only_the_second_cancel_in_a_row_or_a_confirmed_one_cancels(name: str) -> None:
    for step in steps_of(name):
        if isinstance(step.command, Cancel) and step.before.state.is_active:
            state, by_agent = step.before.state, step.command.by_agent
            is_second = step.before.just_asked or state.asks_to_cancel
            assert is_among(step, Cancelled) == (step.command.confirmed or (is_second and not by_agent)), step


@every_plan
def test_any_command_except_an_agent_stop_withdraws_a_cancel_that_has_to_be_confirmed(name: str) -> None:
    for step in steps_of(name):
        assert step.after.state.cancel_asked == step.after.just_asked, step


@every_plan
def test_only_a_move_an_answer_or_the_end_takes_back_what_a_person_was_asked(name: str) -> None:
    for step in steps_of(name):
        if step.before.state.question and not step.after.state.question:
            ended = is_among(step, Cancelled, Started, Moved, Finished, Looped, WentTo, Checked)
            assert ended or isinstance(step.command, Answer), step


@every_plan
def test_a_session_that_waits_for_a_person_is_left_only_by_a_person_and_sends_nobody_on(name: str) -> None:
    for step in steps_of(name):
        if step.before.state.status == "waiting":
            assert not is_among(step, Moved, Looped, Finished, SentOn, LetGo), step
            if step.after.state.status != "waiting":
                assert isinstance(step.command, Answer | GoTo | Start) or is_among(step, Cancelled), step


@every_plan
def test_only_cancel_or_a_replacing_start_cancels(name: str) -> None:
    for step in steps_of(name):
        if is_among(step, Cancelled):
            replaces = isinstance(step.command, Start) and step.command.replace
            assert replaces or isinstance(step.command, Cancel), step


@every_plan
def test_a_phase_with_checks_advances_only_if_every_check_holds(name: str) -> None:
    for step in steps_of(name):
        if not is_among(step, Moved, Finished):
            continue
        assert isinstance(step.command, Next)
        stop = stop_before(name, step)
        if stop.checks:
            assert [result.held for result in step.command.results] == [True] * len(stop.checks), step
            assert step.decision.events[0] == Checked(step.before.state.at, step.command.results)


@every_plan
def test_a_phase_advances_if_every_check_holds(name: str) -> None:
    for step in steps_of(name):
        if isinstance(step.command, Next) and step.before.state.status == "active":
            stop = stop_before(name, step)
            held = [result.held for result in step.command.results]
            may_leave = not stop.checks or held == [True] * len(stop.checks)
            assert is_among(step, Moved, Finished) == may_leave, step


@every_plan
def test_only_a_loop_goes_back_and_only_in_a_loopable_scope(name: str) -> None:
    for step in steps_of(name):
        if isinstance(step.command, Loop) and step.before.state.status == "active":
            stop = stop_before(name, step)
            assert is_among(step, Looped) == stop.scope_loopable, step
            assert step.after.state.at == (stop.scope_first if stop.scope_loopable else step.before.state.at)


@every_plan
def test_after_the_end_only_start_and_tell_change_anything(name: str) -> None:
    for step in steps_of(name):
        ended = step.before.state.status in ("none", "done", "cancelled")
        if ended and not isinstance(step.command, Start | Tell):
            assert step.decision.events == ()
            assert step.decision.refusal is not None
            assert step.decision.refusal.code == "not-active"


@every_plan
def test_the_end_is_told_once_and_not_before_it(name: str) -> None:
    for step in steps_of(name):
        assert step.after.times_told <= 1, step
        if is_among(step, Told):
            assert step.before.state.status in ("done", "cancelled"), step


@every_plan
def test_an_agent_gets_no_more_reminders_in_a_row_than_its_limit(name: str) -> None:
    for step in steps_of(name):
        assert step.after.state.idle_stops <= step.after.state.idle_limit, step


@every_plan
def test_an_interrupt_by_a_person_gets_no_reminder(name: str) -> None:
    for step in steps_of(name):
        if isinstance(step.command, AgentStopped) and step.command.aborted:
            assert step.decision.events == (), step
