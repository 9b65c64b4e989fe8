"""A run with thousands of steps: its topic stays small, and each event costs the same."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from driven.flows.everyflow import flow
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.runs.run_events import (
    AgentActed,
    Event,
    NodeFinished,
    NodeStarted,
    PhaseDone,
    PhaseStarted,
    RunStarted,
    StepDone,
    StepFailed,
    StepStarted,
)
from handrail.view.rows.rows import ReceivedRows
from handrail.view.rows.run import RunTopic
from handrail.view.rows.run_tree import MOST_SHOWN

_NO_FLOWS: dict[str, FlowPlan] = {}
STEP = "node: set, params: {n: 1}"


def plan(phases: int, steps: int) -> FlowPlan:
    """A flow with so many phases of so many steps each."""
    small = flow(f"phases: [{{id: p, steps: [{{id: s, {STEP}}}]}}]")
    (phase,) = small.phases
    many = tuple(replace(phase.steps[0], id=f"s{number}") for number in range(steps))
    return replace(small, phases=tuple(replace(phase, id=f"p{number}", steps=many) for number in range(phases)))


def step_events(path: str, acts: int = 0) -> list[Event]:
    acted = [AgentActed(path, "tool", f"edit file-{number % 7}.py") for number in range(acts)]
    return [
        StepStarted(path),
        NodeStarted(path, "i", 1),
        *acted,
        NodeFinished(path, "i", 1, {}),
        StepDone(path, stop=False),
    ]


def whole_run(phases: int, steps: int, acts: int = 0) -> list[Event]:
    events: list[Event] = [RunStarted("flow", "d", None)]
    for phase in range(phases):
        events.append(PhaseStarted(f"p{phase}"))
        for step in range(steps):
            events += step_events(f"p{phase}/s{step}", acts)
        events.append(PhaseDone(f"p{phase}"))
    return events


def size_of(topic: RunTopic) -> int:
    return sum(len(json.dumps(message)) for message in topic.rows.messages("run:r", 0, 0.0))


@pytest.mark.whole
@pytest.mark.parametrize(("phases", "steps"), [(100, 100), (1, 10_000), (3_000, 1)])
def test_a_snapshot_of_thousands_of_steps_has_at_most_a_megabyte(phases: int, steps: int) -> None:
    topic = RunTopic(plan(phases, steps), _NO_FLOWS.get, 1, {"name": "flow"})
    received = ReceivedRows()
    largest = size_of(topic)
    for number, event in enumerate(whole_run(phases, steps)):
        topic.take(float(number), event)
        if not number % 1_499:
            largest = max(largest, size_of(topic))
            for message in topic.rows.messages("run:r", received.seq, 0.0):
                assert received.take(message)
            assert received.rows == {(name, row["id"]): row for name, row in topic.rows.changes_since(0)[0]}
    assert largest <= 1_000_000
    assert len(topic.rows.section("nodes")) <= MOST_SHOWN


def test_what_runs_and_what_failed_is_in_the_topic_and_the_rest_can_be_fetched() -> None:
    topic = RunTopic(plan(100, 100), _NO_FLOWS.get, 1, {"name": "flow"})

    def shown() -> set[str]:
        return {row["id"] for row in topic.rows.section("nodes")}

    assert shown() == {f"p{number}" for number in range(100)}
    assert topic.rows.get("nodes", "p7")["children"] == 100  # type: ignore[index]  # it is shown
    topic.take(0.0, RunStarted("flow", "d", None))
    topic.take(0.0, PhaseStarted("p0"))
    assert len(shown()) == 200
    for event in step_events("p0/s0"):
        topic.take(1.0, event)
    topic.take(2.0, PhaseDone("p0"))
    assert len(shown()) == 100
    folded = topic.window.get("nodes", "p0/s0")
    assert folded is not None
    assert (folded["status"], [bar["kind"] for bar in topic.window.rows_of("p0/s0", "bars")]) == ("done", ["work"])
    topic.take(3.0, PhaseStarted("p1"))
    topic.take(3.0, StepStarted("p1/s3"))
    topic.take(4.0, StepFailed("p1/s3", "exit", "no"))
    assert "p1/s3" in shown()
    assert "p0/s0" not in shown()


def calls_for(topic: RunTopic, events: list[Event]) -> int:
    """How many calls of functions these events cost, in Python and in C."""
    count = 0

    def seen(_frame: Any, kind: str, _argument: Any) -> None:
        nonlocal count
        count += kind in ("call", "c_call")

    sys.setprofile(seen)
    try:
        for event in events:
            topic.take(1.0, event)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.whole
def test_an_event_costs_the_same_in_a_small_and_in_a_large_run() -> None:
    costs = []
    for phases in (20, 300):
        topic = RunTopic(plan(phases, 10), _NO_FLOWS.get, 1, {"name": "flow"})
        for event in whole_run(phases - 1, 10):
            topic.take(0.0, event)
        last = f"p{phases - 1}"
        topic.take(0.0, PhaseStarted(last))
        costs.append(calls_for(topic, step_events(f"{last}/s0", 20)))
    assert costs[1] <= 1.5 * costs[0]


def bytes_followed(acts: int) -> tuple[int, int]:
    """The bytes that a receiver gets that asks after every tenth event, and how many events there were."""
    topic = RunTopic(plan(20, 10), _NO_FLOWS.get, 1, {"name": "flow"})
    received, size = ReceivedRows(), 0
    events = whole_run(20, 10, acts)
    for number, event in enumerate(events):
        topic.take(float(number), event)
        if number % 10 == 9:
            for message in topic.rows.messages("run:r", received.seq, 0.0):
                size += len(json.dumps(message, separators=(",", ":")))
                received.take(message)
    return size, len(events)


@pytest.mark.whole
def test_twice_the_events_cost_twice_the_bytes() -> None:
    (less, few), (more, many) = bytes_followed(26), bytes_followed(56)
    assert 1.9 < many / few < 2.1
    assert more <= 2.2 * less
    assert more <= 300 * many
