"""Written events, states and plans are read back unchanged; any other data is refused."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from guided.sessions.definitions import phase, plan, run, workflow
from guided.sessions.exploration import results
from handrail.base import jsonlite
from handrail.guided.sessions.machine import (
    EVENT_TYPES,
    Adopted,
    Answered,
    Blocked,
    CancelAsked,
    Cancelled,
    CancelWithdrawn,
    Checked,
    CommandRefused,
    Event,
    Finished,
    LetGo,
    Looped,
    Moved,
    Reloaded,
    Rewound,
    SentOn,
    Started,
    State,
    Told,
    WentTo,
    event_from_json,
    event_to_json,
    state_from_json,
    state_to_json,
)
from handrail.guided.workflows.plan import ExitCheck, Plan, plan_from_json, plan_to_json

ODD_TEXT = 'line\nbreak, \N{SNOWMAN}, quote " and half a pair \ud83d'

EVENTS: list[Event] = [
    Started("digest", ODD_TEXT, "wf-1-abcdef", 1_700_000_000.123456, 0),
    Checked(3, results(True, False, None)),
    Checked(0, ()),
    Moved(1, 2, "Plan", ODD_TEXT),
    Finished(7, "Wrap up", ""),
    Looped(4, 2),
    CancelAsked(0, ODD_TEXT, "Cancel the workflow?", "agent:a"),
    CancelWithdrawn(0),
    Cancelled(1, "replaced by another workflow", "person"),
    Blocked(2, ODD_TEXT, "What now?", "agent:a"),
    Answered(2, ODD_TEXT, in_prompt=True, by="person"),
    WentTo(3, 1, ODD_TEXT, 2, by="person"),
    SentOn(2, 3),
    LetGo(2, "no progress"),
    Told("done"),
    Reloaded("digest", 1),
    CommandRefused("handrail cancel"),
    Rewound(3, State("active", at=1, summaries=(("Plan", ODD_TEXT),))),
    Adopted(State("active", at=1, steps=4, task=ODD_TEXT, refused=("handrail cancel",)), "another program"),
]


def through_json(value: Any) -> Any:
    return jsonlite.loads(jsonlite.dumps(value).encode().decode())


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_that_was_written_is_read_as_the_same_event(event: Event) -> None:
    read = event_from_json(through_json(event_to_json(event)))
    assert (type(read), read) == (type(event), event)


def test_every_kind_of_event_is_written_in_these_tests() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event)) == set(EVENT_TYPES.values())


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "Nothing"},
        {"type": "Started"},
        {"type": "Looped", "origin": 1, "to": 0, "more": 1},
        {"type": "Checked", "at": 0},
        {"type": "Checked", "at": 0, "results": 5},
        {"type": "Checked", "at": 0, "results": [5]},
        {"type": "Checked", "at": 0, "results": [{"name": "n"}]},
        {"type": ["Looped"]},
        {"type": None},
    ],
    ids=json.dumps,
)
def test_data_that_is_not_an_event_raises_a_value_error(data: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a"):
        event_from_json(data)


@pytest.mark.parametrize(
    "state",
    [
        State(),
        State("active", 3, 9, "digest", ODD_TEXT, "wf-1-abcdef", 12.5, cancel_asked=True, idle_stops=2),
        State("done", told=True, summaries=(("Plan", ODD_TEXT), ("Build", "b")), idle_limit=0),
    ],
    ids=lambda state: state.status,
)
def test_a_state_that_was_written_is_read_as_the_same_state(state: State) -> None:
    assert state_from_json(through_json(state_to_json(state))) == state


@pytest.mark.parametrize("data", [{"more": 1}, {"summaries": 5}, {"summaries": [1]}, {"summaries": [["a"]]}], ids=str)
def test_data_that_is_not_a_state_raises_a_value_error(data: Any) -> None:
    with pytest.raises(ValueError, match="not a state"):
        state_from_json(data)


def rich_plan() -> Plan:
    gated = phase("gated")._replace(deny=("bash", "edit"), profiles=("fast",), instructions=ODD_TEXT)
    shut = phase("shut")._replace(allow=(), exit=(ExitCheck("run", {"argv": ["a", "b"], "timeout": 0.5}, "a b"),))
    inner = workflow("inner", gated, shut, loopable=False)
    top = workflow("top", phase("first", 2), run("inner"))._replace(texts={"roleInstruction": "r"})
    return plan(top, inner)


def test_a_plan_that_was_written_is_read_as_the_same_plan() -> None:
    assert plan_from_json(through_json(plan_to_json(rich_plan()))) == rich_plan()


def test_the_same_plan_is_always_written_as_the_same_text() -> None:
    text = jsonlite.dumps(plan_to_json(rich_plan()))
    assert jsonlite.dumps(plan_to_json(plan_from_json(jsonlite.loads(text)))) == text


def test_no_gate_and_an_empty_gate_stay_different() -> None:
    read = plan_from_json(through_json(plan_to_json(rich_plan())))
    assert [stop.allow for stop in read.stops] == [None, None, ()]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.clear(),
        lambda data: data.update(format=99),
        lambda data: data.pop("stops"),
        lambda data: data["stops"][0].pop("id"),
        lambda data: data["stops"][0].update(more=1),
        lambda data: data["stops"][0].update(levels=[[1, 2, 3, 4, 5]]),
        lambda data: data["stops"][0].update(checks=7),
    ],
    ids=["nothing", "another format", "no stops", "no id", "a field too many", "a level too long", "checks a number"],
)
def test_data_that_is_not_a_plan_raises_a_value_error(spoil: Any) -> None:
    data = through_json(plan_to_json(rich_plan()))
    spoil(data)
    with pytest.raises(ValueError, match="plan"):
        plan_from_json(data)
