"""Compares the flat plan with a stack machine on 20,000 random nestings."""

from __future__ import annotations

import random

import pytest

from guided.sessions.definitions import Entry, phase, run, workflow
from guided.sessions.stackmachine import StackMachine
from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.machine import Command, Loop, Next, Start, Started, State, fold
from handrail.guided.sessions.store import SessionReport
from handrail.guided.workflows.plan import Plan
from handrail.guided.workflows.spec import WorkflowSpec, compile_plan

BATCHES, NESTINGS_A_BATCH = 20, 1_000
MAX_DEPTH, MAX_ENTRIES, MAX_COMMANDS = 4, 4, 25


def nesting(chance: random.Random) -> dict[str, WorkflowSpec]:
    """Random workflows. Each may run any deeper one, so the same workflow can appear at several depths."""
    depth = chance.randint(1, MAX_DEPTH)
    specs: dict[str, WorkflowSpec] = {}
    for level in range(depth):
        deeper = [f"w{other}" for other in range(level + 1, depth)]
        size = chance.randint(1, MAX_ENTRIES)
        entries: list[Entry] = [
            run(chance.choice(deeper)) if deeper and chance.random() < 0.5 else phase(f"p{number}")
            for number in range(size)
        ]
        specs[f"w{level}"] = workflow(f"w{level}", *entries, loopable=chance.random() < 0.7)
    return specs


def walk(specs: dict[str, WorkflowSpec], chance: random.Random) -> None:
    """Send the same random commands to both machines and compare them after each."""
    plan = compile_plan(specs, "w0")
    stack = StackMachine(specs, "w0")
    state = send(plan, State(), Start(Started("digest", "task", "id", 0.0)))[0]
    looping = chance.choice((0.1, 0.4))
    for _ in range(MAX_COMMANDS):
        compare(plan, state, stack)
        if chance.random() < looping:
            done = stack.loop()
            state, accepted = send(plan, state, Loop())
        else:
            done = stack.next()
            state, accepted = send(plan, state, Next())
        assert accepted == done
    compare(plan, state, stack)


def send(plan: Plan, state: State, command: Command) -> tuple[State, bool]:
    decision = decide(plan, state, command)
    return fold(decision.events, state), decision.refusal is None


def compare(plan: Plan, state: State, stack: StackMachine) -> None:
    assert SessionReport("session", plan, state, "").path == stack.path
    assert state.steps == stack.steps
    assert state.is_active == stack.active
    if stack.active:
        levels = plan.stops[state.at].levels
        assert [(level.position + 1, level.total) for level in levels] == stack.progress()


@pytest.mark.whole(20)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_flat_plan_walks_any_nesting_as_a_stack_machine_does(batch: int) -> None:
    chance = random.Random(batch)
    for _ in range(NESTINGS_A_BATCH):
        walk(nesting(chance), chance)


def test_a_loop_over_a_scope_that_begins_with_a_subworkflow_enters_it_down_to_a_phase() -> None:
    """A fixed example of the defect of pi-workflows."""
    specs = {
        "w0": workflow("w0", run("w1"), phase("last")),
        "w1": workflow("w1", run("w2"), phase("end")),
        "w2": workflow("w2", phase("begin")),
    }
    plan = compile_plan(specs, "w0")
    state = State()
    for command in (Start(Started("digest", "task", "id", 0.0)), Next(), Loop()):
        state, _ = send(plan, state, command)
    assert plan.stops[state.at].path == [("w0", 0), ("w1", 0), ("w2", 0)]
    assert state.steps == 2
