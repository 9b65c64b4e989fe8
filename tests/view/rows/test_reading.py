"""A journal that is read at once gives the same rows as one that was followed event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driven.flows.everyflow import flow
from handrail.driven.runs.run_events import (
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
from handrail.driven.runs.summary import APPROVED, kind_of_question
from handrail.extensions.contracts import EventRecord
from handrail.view.rows import run_tree
from handrail.view.rows.rows import HEAD, ReceivedRows, Row, RowKey
from handrail.view.rows.run import RunTopic

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
YES_OR_NO = {"title": "Push?", "formId": "approve", "fields": [{"id": APPROVED, "type": "boolean"}]}
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
        Asked(path, "i", YES_OR_NO, f"y-{path}"),
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


def recorded(events: list[Event]) -> list[EventRecord]:
    """These events after those with which every run begins, each half a second after the one before."""
    return [(number / 2, event) for number, event in enumerate([*BEGIN, *events])]


def new_topic(records: Sequence[EventRecord] = ()) -> RunTopic:
    return RunTopic(PLAN, {"inner": INNER}.get, 1, {"name": "flow"}, records)


def shown_in(topic: RunTopic) -> dict[RowKey, Row]:
    return {(name, row["id"]): row for name, row in topic.rows.changes_since(0)[0]}


def all_in(topic: RunTopic) -> dict[RowKey, Row]:
    """All rows, also those that are not shown."""
    window = topic.window
    nodes = {("nodes", id_): row for id_, row in window.nodes.items()}
    others = {
        (name, row["id"]): row
        for name in ("bars", "checks")
        for id_ in window.nodes
        for row in window.rows_of(id_, name)
    }
    return {**shown_in(topic), **nodes, **others}


def without_numbers(rows: dict[RowKey, Row]) -> dict[RowKey, Row]:
    return {place: {name: value for name, value in row.items() if name != "v"} for place, row in rows.items()}


@pytest.fixture(params=[2_000, 20, 8], ids=["all-are-shown", "bounded-later", "bounded-at-once"], scope="module")
def _most(request: pytest.FixtureRequest) -> Iterator[None]:
    """How many nodes a run may have before not all of them are shown."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_tree, "MOST_NODES", request.param)
        if request.param < len(STEPS) * 2:
            patch.setattr(run_tree, "MOST_SHOWN", 9)
            patch.setattr(run_tree, "MOST_BELOW", 2)
        yield


@pytest.mark.whole
@pytest.mark.usefixtures("_most")
@given(EVENTS, st.data())
def test_a_journal_that_is_read_at_once_gives_the_rows_of_one_that_is_followed(
    events: list[Event], data: st.DataObject
) -> None:
    records = recorded(events)
    cut = data.draw(st.integers(0, len(records)))
    followed, at_once = new_topic(), new_topic(records[:cut])
    for number, (at, event) in enumerate(records):
        followed.take(at, event)
        if number >= cut:
            at_once.take(at, event)
    assert without_numbers(all_in(at_once)) == without_numbers(all_in(followed))
    if not at_once.window.is_bounded:
        heads = [{**shown_in(topic), (HEAD, ""): None} for topic in (at_once, followed)]
        assert heads[0] == heads[1], "the numbers differ, and not only that of the head, which is made once"


@pytest.mark.whole
@pytest.mark.usefixtures("_most")
@given(EVENTS, st.data())
def test_who_followed_one_server_has_no_old_row_after_going_to_another(
    events: list[Event], data: st.DataObject
) -> None:
    records = recorded(events)
    left = data.draw(st.integers(0, len(records)))
    first, received = new_topic(), ReceivedRows()
    for at, event in records[:left]:
        first.take(at, event)
    assert all(map(received.take, first.rows.messages("run:r", 0, 0.0)))
    second = new_topic(records)
    base = received.seq if received.epoch == second.rows.epoch else 0
    assert all(map(received.take, second.rows.messages("run:r", base, 0.0)))
    assert without_numbers(received.rows).items() <= without_numbers(all_in(second)).items()
    shown = {place: row for place, row in shown_in(second).items() if place != (HEAD, "")}
    assert {place: received.rows.get(place) for place in shown} == shown


def test_whoever_is_asked_for_a_yes_sees_the_checks_of_a_run_that_was_read_at_once() -> None:
    assert kind_of_question(YES_OR_NO) == "approval"
    checked = Checked("plan/think", [{"name": "a.txt", "kind": "file", "held": False}])
    events = [*BEGIN, checked, Asked("plan/read", "i", YES_OR_NO, "y")]
    topic = new_topic([(1.0, event) for event in events])
    (need,) = topic.rows.section("needs")
    assert [(one["name"], one["held"]) for one in need["action"]["checks"]] == [("a.txt", False)]


def test_a_message_keeps_its_rows_when_the_run_goes_on() -> None:
    topic = new_topic()
    topic.take(0.0, BEGIN[0])
    (before,) = topic.rows.messages("run:r", 0, 0.0)
    topic.take_all([(1.0, PhaseStarted("plan")), (1.0, StepStarted("plan/read"))])
    assert {row["status"] for row in before["set"]["nodes"]} == {"pending"}
    assert before["set"][HEAD]["v"] == 1
