"""The clock of a run goes while a process drives it. What is recorded at other times counts nowhere."""

from __future__ import annotations

import pytest

from driven.flows.everyflow import flow
from handrail.base.dataclasses import replace
from handrail.driven.runs.estimate import PastRun
from handrail.driven.runs.run_events import (
    Answered,
    Asked,
    Event,
    NodeStarted,
    Noticed,
    PhaseDone,
    PhaseStarted,
    RunEnded,
    RunParked,
    RunResumed,
    RunStarted,
    StepDone,
    StepStarted,
)
from handrail.driven.runs.state import RunClock, fold
from handrail.driven.runs.summary import Summary, summarize
from handrail.view.rows.run import RunTopic
from handrail.view.text.progress import Progress

FLOW = """
phases:
- repeat: {var: i, to: 1}
  phases: [{id: a, steps: [{id: x, node: set, params: {n: 1}}]}]
"""
BEGIN = (0.0, RunStarted("flow", "d", None))
RESUMED = RunResumed("resume", [], None)
STOPPED = RunEnded("cancelled", None, "stopped", None, "stopped", driven=False)
Records = list[tuple[float, Event]]
WORK: Records = [BEGIN, (0.0, PhaseStarted("a")), (2.0, StepStarted("a/x"))]
ENDED: Records = [
    (91.0, StepDone("a/x", False)),
    (93.0, PhaseDone("a")),
    (94.0, RunEnded("completed", None, None, None)),
]


def summary(records: Records, driver: int | None = None) -> Summary:
    return summarize("r", '{"flow": "f"}', fold(records), 1, driver)


def test_the_time_between_two_lives_of_a_run_does_not_count() -> None:
    parked: Records = [
        BEGIN,
        (2.0, RunParked("a/x", "asks")),
        (90.0, RESUMED),
        (93.0, RunEnded("completed", None, None, None)),
    ]
    assert fold(parked).clock.seconds == 5.0
    killed: Records = [*WORK, (90.0, RESUMED), (91.0, StepDone("a/x", False))]
    assert fold(killed).clock.seconds == 3.0
    assert RunClock().last is None


def test_the_time_of_a_killed_process_is_known_only_up_to_its_last_record() -> None:
    ended = (3.0, RunEnded("completed", None, None, None))
    assert summary(WORK).is_least
    assert not summary(WORK, driver=5).is_least
    assert not summary([*WORK, ended]).is_least
    assert summary([*WORK, (90.0, RESUMED), *ENDED]).is_least
    assert not summary([*WORK, (3.0, RunParked("a/x", "asks")), (90.0, RESUMED), *ENDED]).is_least
    assert not summary([*WORK, (3.0, RunResumed("restart", [], None)), ended]).is_least


LEFT: dict[str, Records] = {
    "a notice after a kill": [*WORK, (60.0, Noticed("", "look"))],
    "a stop after a kill": [*WORK, (90.0, STOPPED)],
    "records between a wait and a resume": [
        *WORK[:2],
        (2.0, RunParked("a/x", "asks")),
        (50.0, Answered("a/x", "i", {})),
        (60.0, Noticed("", "look")),
        (70.0, Asked("a/x", "i", {})),
    ],
}


@pytest.mark.parametrize("records", LEFT.values(), ids=LEFT)
def test_what_is_recorded_while_nobody_drives_takes_no_time_anywhere(records: Records) -> None:
    assert summary(records).seconds == 2.0
    assert Progress(flow(FLOW), records).topic.clock.at(2.0) == 2.0
    again: Records = [*records, (90.0, RESUMED), *ENDED]
    past = PastRun()
    past.take(again)
    taken = past.consumption(["a"])
    topic = RunTopic(flow(FLOW), lambda _: None, 1, {}, again)
    assert taken is not None
    assert (summary(again).seconds, taken.seconds, topic.clock.seconds) == (6.0, 5.0, 6.0)
    assert topic.tree.get("a")["took"] == 5.0


def test_what_was_printed_after_the_last_record_of_a_killed_process_counts_everywhere() -> None:
    begun: Records = [*WORK, (2.0, NodeStarted("a/x", "i", 1))]
    assert summarize("r", '{"flow": "f"}', fold(begun), 1, None, heard=22.0).seconds == 22.0
    stopped: Records = [*begun, (90.0, replace(STOPPED, heard=22.0))]
    topic = RunTopic(flow(FLOW), lambda _: None, 1, {}, stopped)
    head = topic.rows.get("head", "") or {}
    assert (summary(stopped).seconds, head["seconds"], head["since"]) == (22.0, 22.0, None)
    assert (summary(stopped).is_least, head["atLeast"]) == (True, True)
    assert (head["ended"], topic.tree.get("a/x")["worked"]) == (22.0, 20.0)
    resumed: Records = [*begun, (90.0, replace(RESUMED, heard=22.0)), (90.0, NodeStarted("a/x", "i", 2))]
    topic = RunTopic(flow(FLOW), lambda _: None, 1, {}, resumed)
    head = topic.rows.get("head", "") or {}
    assert (head["seconds"], 91.0 - head["since"], topic.clock.at(91.0)) == (None, 23.0, 23.0)
    assert [(row["from"], row["to"]) for row in topic.rows.section("bars")][:2] == [(2.0, 22.0), (22.0, 90.0)]


def test_what_a_later_stop_ends_has_ended_with_the_last_record_of_its_driver() -> None:
    rows = RunTopic(flow(FLOW), lambda _: None, 1, {}, [*WORK, (90.0, STOPPED)]).rows
    assert (rows.get("head", "") or {})["ended"] == 2.0
    assert [row["ended"] for row in rows.section("nodes") if row["kind"] in ("repeat", "round")] == [2.0, 2.0]
