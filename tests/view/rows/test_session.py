"""A guided session as rows, event by event."""

from __future__ import annotations

from typing import Any

from guided.sessions.definitions import phase, plan, replaced, run, workflow
from handrail.guided.sessions.denials import Denial
from handrail.guided.sessions.machine import (
    CancelAsked,
    Cancelled,
    Checked,
    CheckResult,
    Event,
    Finished,
    Looped,
    Moved,
    Reloaded,
    SentOn,
    Started,
)
from handrail.view.rows.rows import HEAD, ReceivedRows
from handrail.view.rows.session import SessionTopic

INNER = workflow("inner", phase("a", 1), phase("b"))
TOP = workflow("top", phase("plan"), run("inner"), phase("end"))
PLANS = {"d1": plan(TOP, INNER), "d2": plan(replaced(TOP, phase("plan"), phase("end")), INNER)}
BEGIN = Started("d1", "login page", "wf-1", 1.0)


def topic_after(*events: tuple[float, Event]) -> SessionTopic:
    """The topic after these events. A receiver that takes every message has the same rows at every moment."""
    topic, received = SessionTopic(PLANS.get, {"agent": "claude"}), ReceivedRows()
    for at, event in events:
        topic.take(at, event)
        base = received.seq if received.epoch == topic.rows.epoch else 0
        for message in topic.rows.messages("session:s", base, at):
            assert received.take(message)
        assert received.rows == {(section, row["id"]): row for section, row in topic.rows.changes_since(0)[0]}
    return topic


def states(topic: SessionTopic) -> list[str]:
    rows = sorted(topic.rows.section("stops"), key=lambda row: row["order"])
    return [row["state"] for row in rows]


def head(topic: SessionTopic) -> dict[str, Any]:
    row = topic.rows.get(HEAD, "")
    assert row is not None
    return row


def test_the_phases_of_the_workflow_are_shown_with_the_current_one() -> None:
    topic = topic_after((1, BEGIN), (5, Moved(0, 1, "plan", "strip() first")))
    assert states(topic) == ["done", "current", "ahead", "ahead"]
    first, second = (topic.rows.get("stops", str(order)) for order in (0, 1))
    assert first is not None
    assert (first["entered"], first["left"], first["summary"]) == (1, 5, "strip() first")
    assert second is not None
    assert second["levels"] == [["TOP", 2, 3], ["INNER", 1, 2]]
    assert second["exit"] == ["file: `a-0`"]
    assert head(topic)["statusLine"] == "TOP > INNER [2/3] > • A [1/2]"


def test_a_loop_is_a_second_visit_and_what_follows_is_ahead_again() -> None:
    topic = topic_after((1, BEGIN), (2, Moved(0, 1, "plan", "")), (3, Moved(1, 2, "a", "")), (4, Looped(2, 1)))
    assert states(topic) == ["done", "current", "ahead", "ahead"]
    again = topic.rows.get("stops", "1")
    assert again is not None
    assert (again["visits"], again["entered"], again["left"]) == (2, 4, None)
    assert head(topic)["loops"] == 1
    assert [row["how"] for row in topic.rows.section("moves")] == ["start", "next", "next", "loop"]


def test_results_of_checks_replace_the_earlier_ones() -> None:
    failed, held = (
        CheckResult("a-0", "file", False, "there is no `a-0`", 0.1),
        CheckResult("a-0", "file", True, "exists", 0.1),
    )
    topic = topic_after((1, BEGIN), (2, Moved(0, 1, "plan", "")), (3, Checked(1, (failed,))), (4, Checked(1, (held,))))
    assert [(row["held"], row["at"]) for row in topic.rows.section("checks")] == [(True, 4)]


def test_a_check_that_could_not_run_is_neither_held_nor_failed() -> None:
    topic = topic_after((1, BEGIN), (3, Checked(0, (CheckResult("x", "run", None, "no such program", 0.0),))))
    rows = {row["id"]: (row["held"], row["at"]) for row in topic.rows.section("checks")}
    assert rows == {"1.0": (None, None), "0.0": (None, 3)}


def test_checks_that_never_ran_are_there_and_a_changed_workflow_drops_old_results() -> None:
    topic = topic_after(
        (1, BEGIN), (2, Checked(1, (CheckResult("a-0", "file", True, "exists", 0.1),))), (3, Reloaded("d2", 0))
    )
    assert topic.rows.section("checks") == []


def test_equal_denied_calls_are_counted_and_those_of_an_earlier_task_are_gone() -> None:
    topic = topic_after((1, BEGIN))
    for at in (2.0, 3.0):
        topic.deny(Denial(at, "WebFetch", "blacklist", "not here", "https://x"))
    topic.deny(Denial(4.0, "Edit", "blacklist", "not\x1b[2Jhere", "src/a.py"))
    rows = [(row["tool"], row["count"], row["first"], row["last"]) for row in topic.rows.section("denials")]
    assert rows == [("WebFetch", 2, 2.0, 3.0), ("Edit", 1, 4.0, 4.0)]
    assert topic.rows.section("denials")[1]["reason"] == "nothere"
    assert head(topic)["denied"] == 3
    topic.take(9, Started("d1", "b", "wf-2", 9.0))
    assert (topic.rows.section("denials"), head(topic)["denied"]) == ([], 0)


def test_whose_turn_it_is_reaches_a_receiver_without_an_event() -> None:
    topic, received = topic_after((1, BEGIN)), ReceivedRows()
    assert received.take(next(topic.rows.messages("session:s", 0, 1)))
    topic.mark({"turn": "agent"})
    assert received.take(next(topic.rows.messages("session:s", received.seq, 2)))
    assert received.rows[HEAD, ""]["turn"] == "agent"
    seq = topic.rows.seq
    topic.mark({"turn": "agent"})
    assert topic.rows.seq == seq


def test_the_end_is_shown() -> None:
    done = topic_after((1, BEGIN), (2, Moved(0, 3, "plan", "")), (9, Finished(3, "end", "all done")))
    assert states(done) == ["done"] * 4
    assert (head(done)["status"], head(done)["ended"]) == ("done", 9)
    cancelled = topic_after((1, BEGIN), (2, CancelAsked(0)), (3, Cancelled(0, "enough")))
    assert head(cancelled)["status"] == "cancelled"
    assert [row["summary"] for row in cancelled.rows.section("moves")][-1] == "enough"


def test_a_new_task_is_a_new_epoch() -> None:
    topic = topic_after(
        (1, BEGIN), (2, Moved(0, 1, "plan", "")), (3, SentOn(1, 1)), (9, Started("d1", "b", "wf-2", 9.0))
    )
    assert topic.rows.epoch == "wf-2"
    assert len(topic.rows.section("moves")) == 1
    assert states(topic) == ["current", "ahead", "ahead", "ahead"]
    assert (head(topic)["task"], head(topic)["sentOn"]) == ("b", 0)


def test_a_reloaded_workflow_has_its_new_phases() -> None:
    topic = topic_after((1, BEGIN), (2, Reloaded("d2", 0)))
    assert states(topic) == ["current", "ahead"]
    assert [row["how"] for row in topic.rows.section("moves")] == ["start", "reload"]
    assert {row["order"]: row["visits"] for row in topic.rows.section("stops")} == {0: 1, 1: 0}


def test_names_of_the_workflow_are_only_text() -> None:
    name = "Pl\x1b[31man\u202e"
    hostile = phase("plan", 1)._replace(name=name, emoji=name, deny=(name,))
    found = SessionTopic({"d1": plan(workflow("ship", hostile)._replace(name=name))}.get, {})
    found.take(1, BEGIN)
    shown = repr([row for _, row in found.rows.changes_since(0)[0]])
    assert "Plan⟨U+202E⟩" in shown
    assert "\\x1b" not in shown
    assert "\\u202e" not in shown
