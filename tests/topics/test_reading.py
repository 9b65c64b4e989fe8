"""A journal that is read at once gives the same rows as one that was followed event by event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.everyflow import flow
from handrail.contracts import Record
from handrail.runs.machine import (
    AgentActed,
    Answered,
    Asked,
    AttemptStarted,
    Checked,
    Delayed,
    Event,
    NodeFailed,
    NodeFinished,
    NodeStarted,
    Noticed,
    PhaseDone,
    PhaseSkipped,
    PhaseStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    SessionOpened,
    StepDone,
    StepFailed,
    StepSkipped,
    StepStarted,
    UsageReported,
)
from handrail.topics import window
from handrail.topics.rows import HEAD, Place, Received, Row
from handrail.topics.run import RunTopic

SET = "node: set, params: {n: 1}"
PLAN = flow(f"""
phases:
- {{id: plan, parallel: 2, steps: [{{id: read, {SET}}}, {{id: think, {SET}, expect: [{{file: a.txt}}]}}]}}
- repeat: {{var: i, to: 4}}
  phases:
  - {{id: "fix-${{i}}", steps: [{{id: edit, {SET}}}, {{id: test, {SET}}}]}}
  - {{id: "see-${{i}}", steps: [{{id: look, {SET}}}]}}
- {{id: child, steps: [{{id: go, node: flow-run, params: {{fileName: inner}}}}]}}
""")
INNER = flow(f"phases: [{{id: one, steps: [{{id: a, {SET}}}, {{id: b, {SET}}}]}}]", "inner")
STEPS = [f"{phase.id}/{step.id}" for phase in PLAN.phases for step in phase.steps]
BEGIN: list[Event] = [RunStarted("flow", "d", None), StepStarted("child/go")]
USED = {"inputTokens": 10, "outputTokens": 5, "usd": None}


def events_about(path: str) -> list[Event]:
    """One event of each kind about a step or its phase. Not all of them can follow each other in a real run."""
    phase = path.rpartition("/")[0]
    return [
        PhaseStarted(phase),
        PhaseDone(phase),
        PhaseSkipped(phase, "its condition does not hold"),
        StepStarted(path),
        StepSkipped(path),
        NodeStarted(path, "i", 1),
        NodeStarted(path, "i", 2),
        NodeFinished(path, "i", 1, {"a": 1}),
        NodeFailed(path, "i", 1, "exit", "no"),
        StepDone(path, stop=False),
        StepFailed(path, "exit", "no"),
        AttemptStarted(path, 2, again=True),
        Delayed(path, 50.0, "later"),
        Asked(path, "i", {"title": "Sure?"}, f"q-{path}"),
        Answered(path, "i", {}, f"q-{path}", "person", 1.0),
        AgentActed(path, "tool", "edit a.py"),
        SessionOpened(path, "pi", "s"),
        UsageReported(path, USED),
        Checked(path, [{"name": "a.txt", "kind": "file", "held": False}]),
        Noticed(path, "slow"),
        RunResumed("resume", [], None),
        RunResumed("continue", ["plan", "fix-1"], None),
        RunEnded("failed", None, "exit", "no", "exit"),
    ]


PATHS = st.sampled_from([*STEPS, "child/go/one/a", "child/go/one/b"])
EVENTS = st.lists(PATHS.flatmap(lambda path: st.sampled_from(events_about(path))), max_size=60)


def new_topic() -> RunTopic:
    return RunTopic(PLAN, {"inner": INNER}.get, 1, {"name": "flow"})


def shown_in(topic: RunTopic) -> dict[Place, Row]:
    return without_number({(name, row["id"]): row for name, row in topic.rows.since(0)[0]})


def without_number(rows: dict[Place, Row]) -> dict[Place, Row]:
    """The rows, but the head without its number: after reading at once, that may be later than its last change."""
    return {**rows, (HEAD, ""): {**rows[HEAD, ""], "v": None}}


def rows_of(topic: RunTopic) -> dict[str, Any]:
    """All rows, also those that are not shown."""
    shown = shown_in(topic)
    of_nodes = {id_: [topic.window.of(id_, name) for name in ("bars", "checks")] for id_ in topic.window.nodes}
    return {"shown": shown, "all": topic.window.nodes, "of": of_nodes}


@pytest.fixture(params=[2_000, 20, 8], ids=["all-are-shown", "bounded-later", "bounded-at-once"], scope="module")
def _most(request: pytest.FixtureRequest) -> Iterator[None]:
    """How many nodes a run may have before not all of them are shown."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "MOST_NODES", request.param)
        if request.param < len(STEPS) * 2:
            patch.setattr(window, "MOST_SHOWN", 9)
            patch.setattr(window, "MOST_BELOW", 2)
        yield


@pytest.mark.usefixtures("_most")
@given(EVENTS, st.data())
def test_a_journal_that_is_read_at_once_gives_the_rows_of_one_that_is_followed(
    events: list[Event], data: st.DataObject
) -> None:
    records: list[Record] = [(number / 2, event) for number, event in enumerate([*BEGIN, *events])]
    cut = data.draw(st.integers(0, len(records)))
    followed, at_once, received = new_topic(), new_topic(), Received()
    at_once.take_all(records[:cut])
    seen = data.draw(st.integers(0, len(records)))
    for number, (at, event) in enumerate(records):
        followed.take(at, event)
        if number >= cut:
            at_once.take(at, event)
        if number == seen:
            assert all(map(received.take, followed.rows.messages("run:r", 0, 0.0)))
    assert rows_of(at_once) == rows_of(followed)
    base = received.seq if received.epoch == at_once.rows.epoch else 0
    assert all(map(received.take, at_once.rows.messages("run:r", base, 0.0)))
    assert without_number(received.rows) == shown_in(at_once)


def test_a_message_keeps_its_rows_when_the_run_goes_on() -> None:
    topic = new_topic()
    topic.take(0.0, BEGIN[0])
    (before,) = topic.rows.messages("run:r", 0, 0.0)
    topic.take_all([(1.0, PhaseStarted("plan")), (1.0, StepStarted("plan/read"))])
    assert {row["status"] for row in before["set"]["nodes"]} == {"pending"}
    assert before["set"][HEAD]["v"] == 1
