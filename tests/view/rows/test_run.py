"""A run as rows, event by event."""

from __future__ import annotations

import json
from typing import Any

from driven.flows.everyflow import flow
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.runs.run_events import (
    AgentActed,
    Answered,
    Asked,
    Delayed,
    Event,
    FactFound,
    NodeFailed,
    NodeFinished,
    NodeStarted,
    PhaseDone,
    PhaseSkipped,
    PhaseStarted,
    RunEnded,
    RunParked,
    RunResumed,
    RunStarted,
    StepDone,
    StepFailed,
    StepSkipped,
    StepStarted,
    UsageReported,
)
from handrail.view.rows.rows import HEAD, ReceivedRows
from handrail.view.rows.run import RunTopic

SET = "node: set, params: {n: 1}"
FLOW = f"""
phases:
- {{id: plan, steps: [{{id: read, {SET}}}, {{id: think, {SET}}}]}}
- repeat: {{var: i, to: 2}}
  phases:
  - {{id: "fix-${{i}}", steps: [{{id: edit, {SET}}}]}}
- {{id: ship, steps: [{{id: push, {SET}, retry: {{attempts: 3}}}}]}}
"""
BEGIN = RunStarted("flow", "d", None)
_NO_FLOWS: dict[str, FlowPlan] = {}


def topic_after(*events: tuple[float, Event]) -> RunTopic:
    """The topic after these events. A receiver that takes every message has the same rows at every moment."""
    topic, received = RunTopic(flow(FLOW), _NO_FLOWS.get, 1, {"name": "flow"}), ReceivedRows()
    for at, event in events:
        topic.take(at, event)
        for message in topic.rows.messages("run:r", received.seq if received.epoch == topic.rows.epoch else 0, at):
            assert received.take(message)
        wanted = {(section, row["id"]): row for section, row in topic.rows.changes_since(0)[0]}
        assert received.rows == wanted
    return topic


def node(topic: RunTopic, path: str) -> dict[str, Any]:
    row = topic.rows.get("nodes", path)
    assert row is not None, path
    return row


def head(topic: RunTopic) -> dict[str, Any]:
    row = topic.rows.get(HEAD, "")
    assert row is not None
    return row


def bars(topic: RunTopic, path: str) -> list[tuple[str, float, float | None, str | None]]:
    rows = sorted((row for row in topic.rows.section("bars") if row["node"] == path), key=lambda row: row["id"])
    return [(row["kind"], row["from"], row["to"], row["end"]) for row in rows]


def worked(path: str, begin: float, end: float) -> list[tuple[float, Event]]:
    return [
        (begin, StepStarted(path)),
        (begin, NodeStarted(path, "i", 1)),
        (end, NodeFinished(path, "i", 1, {})),
        (end, StepDone(path, stop=False)),
    ]


def test_the_plan_is_shown_before_anything_happens() -> None:
    topic = topic_after()
    rows = sorted(topic.rows.section("nodes"), key=lambda row: row["order"])
    assert [(row["id"], row["parent"], row["kind"]) for row in rows] == [
        ("plan", "", "phase"),
        ("plan/read", "plan", "step"),
        ("plan/think", "plan", "step"),
        ("~fix", "", "repeat"),
        ("~fix/1", "~fix", "round"),
        ("fix-1", "~fix/1", "phase"),
        ("fix-1/edit", "fix-1", "step"),
        ("~fix/2", "~fix", "round"),
        ("fix-2", "~fix/2", "phase"),
        ("fix-2/edit", "fix-2", "step"),
        ("ship", "", "phase"),
        ("ship/push", "ship", "step"),
    ]
    assert {row["status"] for row in rows} == {"pending"}
    assert node(topic, "fix-2/edit")["shape"] == "fix/edit"
    assert (head(topic)["done"], head(topic)["total"]) == (0, 5)


def test_a_repeat_that_ends_early_has_begun_fewer_rounds() -> None:
    topic = topic_after(
        (1, BEGIN),
        (1, PhaseStarted("fix-1")),
        *worked("fix-1/edit", 1, 3),
        (3, PhaseDone("fix-1")),
        (3, PhaseSkipped("fix-2", "its condition does not hold")),
    )
    assert [node(topic, "~fix")[name] for name in ("begun", "rounds", "status")] == [1, 2, "done"]
    assert node(topic, "~fix/2")["status"] == "skipped"
    assert node(topic, "fix-2")["why"]["message"] == "its condition does not hold"
    assert head(topic)["done"] == 2


def test_phases_say_what_runs_at_the_same_time() -> None:
    text = f"""
phases:
- parallel: true
  phases:
  - {{id: left, steps: [{{id: a, {SET}}}]}}
  - {{id: right, parallel: 2, steps: [{{id: b, {SET}}}, {{id: c, {SET}}}]}}
- {{id: last, steps: [{{id: d, {SET}}}]}}
"""
    topic = RunTopic(flow(text), _NO_FLOWS.get, 1, {"name": "flow"})
    said = {
        name: [node(topic, name).get(field) for field in ("lane", "together")] for name in ("left", "right", "last")
    }
    assert said == {"left": [[0, 0], None], "right": [[0, 1], 2], "last": [None, None]}


def test_only_work_counts_as_work() -> None:
    push = "ship/push"
    topic = topic_after(
        (0, BEGIN),
        (0, PhaseStarted("ship")),
        (0, StepStarted(push)),
        (0, NodeStarted(push, "i", 1)),
        (2, NodeFailed(push, "i", 1, "exit", "no")),
        (2, Delayed(push, 7, "again")),
        (7, NodeStarted(push, "i", 2)),
        (8, Delayed(push, 20, "the quota is used up")),
        (20, NodeStarted(push, "i", 2)),
        (21, NodeFinished(push, "i", 2, {})),
        (21, Asked(push, "i", {"title": "Sure?"}, "q1")),
        (30, Answered(push, "i", {}, "q1", "person", 29)),
        (30, StepDone(push, stop=False)),
    )
    assert bars(topic, push) == [
        ("work", 0, 2, "failed"),
        ("pause", 2, 7, None),
        ("work", 7, 8, None),
        ("delay", 8, 20, None),
        ("work", 20, 21, "done"),
        ("asked", 21, 30, "answered"),
    ]
    assert node(topic, push)["worked"] == 4
    assert node(topic, push)["try"] == 2
    (need,) = topic.rows.section("needs")
    assert need["answered"] == {"by": "person", "who": "person", "at": 29, "verdict": "answered"}


def test_a_step_that_waits_makes_its_phase_wait() -> None:
    topic = topic_after(
        (0, BEGIN),
        (0, PhaseStarted("plan")),
        (0, StepStarted("plan/read")),
        (1, Asked("plan/read", "i", {"title": "Which one?"}, "q1")),
        (1, RunParked("plan/read", "waits")),
    )
    assert node(topic, "plan/read")["status"] == node(topic, "plan")["status"] == "waiting"
    assert head(topic)["status"] == "waiting"
    assert [row["title"] for row in topic.rows.section("needs")] == ["Which one?"]


def test_a_question_that_nobody_needs_any_more_is_gone() -> None:
    topic = topic_after(
        (0, BEGIN),
        (0, StepStarted("plan/read")),
        (1, Asked("plan/read", "i", {}, "q1")),
        (2, StepDone("plan/read", stop=False)),
    )
    assert topic.rows.section("needs") == []


def test_after_a_kill_the_step_does_not_look_as_if_it_worked_all_the_time() -> None:
    topic = topic_after(
        (0, BEGIN),
        (0, StepStarted("plan/read")),
        (0, NodeStarted("plan/read", "i", 1)),
        (3, AgentActed("plan/read", "tool", "edit a.py")),
        (100, RunResumed("resume", [], None)),
        (100, NodeStarted("plan/read", "i", 2)),
        (101, NodeFinished("plan/read", "i", 2, {})),
    )
    assert bars(topic, "plan/read") == [
        ("work", 0, 3, "interrupted"),
        ("away", 3, 100, None),
        ("work", 100, 101, "done"),
    ]
    assert topic.rows.epoch == "1.1"


def test_a_run_in_which_everything_waits_for_a_time_is_delayed() -> None:
    begun: list[tuple[float, Event]] = [
        (0, BEGIN),
        (0, PhaseStarted("plan")),
        (0, StepStarted("plan/read")),
        (0, NodeStarted("plan/read", "i", 1)),
    ]
    topic = topic_after(*begun, (1, Delayed("plan/read", 60.0, "quota")))
    assert head(topic)["status"] == "delayed"
    assert head(topic_after(*begun))["status"] == "running"
    topic = topic_after(*begun, (1, Delayed("plan/read", 60.0, "quota")), (61, NodeStarted("plan/read", "i", 2)))
    assert head(topic)["status"] == "running"


def test_rewound_phases_begin_again() -> None:
    topic = topic_after(
        (0, BEGIN),
        (0, PhaseStarted("plan")),
        *worked("plan/read", 0, 2),
        (2, PhaseDone("plan")),
        (2, RunEnded("completed", "success", None, None)),
        (9, RunResumed("continue", ["plan"], None)),
    )
    assert node(topic, "plan")["status"] == node(topic, "plan/read")["status"] == "pending"
    assert bars(topic, "plan/read") == []
    assert head(topic)["done"] == 0
    assert head(topic)["ended"] is None


def test_a_failure_is_named_in_the_head() -> None:
    topic = topic_after(
        (0, BEGIN),
        (0, PhaseStarted("plan")),
        (0, StepStarted("plan/read")),
        (0, NodeStarted("plan/read", "i", 1)),
        (1, NodeFailed("plan/read", "i", 1, "exit", "\x1b[31m`pytest` ended with 1")),
        (1, StepFailed("plan/read", "exit", "\x1b[31m`pytest` ended with 1")),
        (1, RunEnded("failed", None, "exit at plan/read", "`pytest` ended with 1", "exit")),
    )
    assert head(topic)["why"] == {"path": "plan/read", "code": "exit", "message": "`pytest` ended with 1"}
    assert node(topic, "plan/read")["why"] == {"code": "exit", "message": "`pytest` ended with 1"}
    assert node(topic, "plan")["status"] == "failed"
    assert head(topic)["done"] == 0
    assert head(topic)["ended"] == 1


def test_unknown_costs_are_never_zero() -> None:
    used = {"inputTokens": 10, "outputTokens": 5, "usd": 0.5}
    topic = topic_after(
        (0, BEGIN),
        (0, UsageReported("plan/read", used)),
        (1, UsageReported("plan/think", {"inputTokens": 1, "outputTokens": 1, "usd": None})),
    )
    assert head(topic)["usage"] == {"inputTokens": 11, "outputTokens": 6, "usd": 0.5, "complete": False}
    assert node(topic, "plan/think")["usage"]["usd"] is None
    assert node(topic, "ship")["usage"] == {}


def test_what_an_agent_does_is_counted_and_shown_in_one_line() -> None:
    topic = topic_after(
        (0, BEGIN),
        (0, StepSkipped("plan/think")),
        (0, AgentActed("plan/read", "tool", "edit\n a.py\u202e")),
        (0, AgentActed("plan/read", "denied", "bash: git push")),
    )
    assert node(topic, "plan/read")["counts"] == {"tools": 1, "denied": 1}
    assert node(topic, "plan/read")["doing"] == "denied: bash: git push"


def test_a_wait_is_no_work_and_goes_on_after_a_resume() -> None:
    push = "ship/push"
    begun = ((0, BEGIN), (0, PhaseStarted("ship")), (0, StepStarted(push)), (1, NodeStarted(push, "i", 1)))
    waits = (*begun, (1, FactFound(push, "wait", "until", "90", 91.0)))
    topic = topic_after(*waits)
    assert (node(topic, push)["status"], node(topic, push)["until"]) == ("delayed", 91.0)
    assert node(topic, "ship")["status"] == "delayed"
    again = (*waits, (50, RunResumed("resume", [], None)), (50, NodeStarted(push, "i", 1)))
    assert (node(topic_after(*again), push)["status"], node(topic_after(*again), push)["until"]) == ("delayed", 91.0)
    topic = topic_after(*again, (91.5, NodeFinished(push, "i", 1, {})), (91.5, StepDone(push, stop=False)))
    assert [bar[0] for bar in bars(topic, push)] == ["work", "delay", "away", "work", "delay", "work"]
    assert node(topic, push)["worked"] == 0.5


def test_a_phase_that_failed_ended_with_its_step() -> None:
    read = "plan/read"
    failed = (*((1, one) for one in (PhaseStarted("plan"), StepStarted(read))), (4, StepFailed(read, "exit", "no")))
    assert node(topic_after((0, BEGIN), *failed), "plan")["ended"] == 4
    again = topic_after((0, BEGIN), *failed, (9, RunResumed("resume", [], None)), (9, StepStarted(read)))
    assert (node(again, "plan")["status"], node(again, "plan")["ended"]) == ("running", None)


def test_a_question_with_a_very_long_text_is_cut() -> None:
    fields = [{"id": "why", "type": "text", "label": "y" * 100_000, "default": "z" * 9_000}]
    question = {"title": "Sure?", "description": "a line of an agent\n" * 100_000, "fields": fields}
    (need,) = topic_after((0, RunStarted("f", "d", None)), (1, Asked("plan/read", "i", question, "q1"))).rows.section(
        "needs"
    )
    assert len(json.dumps(need)) < 60_000
    assert need["form"]["description"].endswith("more characters)")
    assert need["form"]["fields"][0]["default"] == "z" * 9_000  # it may be part of the answer


def test_what_waits_in_a_run_that_was_stopped_is_cancelled_and_asks_nothing_until_it_is_resumed() -> None:
    asked: list[tuple[float, Event]] = [
        (1.0, BEGIN),
        (1.0, PhaseStarted("ship")),
        (1.0, StepStarted("ship/push")),
        (1.0, Asked("ship/push", "i", {"title": "Push?"}, "q1")),
        (2.0, RunParked("ship/push", "needs an answer")),
    ]
    stopped: list[tuple[float, Event]] = [
        *asked,
        (3.0, RunEnded("cancelled", None, "stopped", None, "stopped", driven=False)),
    ]
    topic = topic_after(*stopped)
    assert [node(topic, path)["status"] for path in ("ship", "ship/push")] == ["cancelled", "cancelled"]
    assert topic.rows.section("needs") == []
    topic = topic_after(*stopped, (4.0, RunResumed("resume", [], None)))
    assert [node(topic, path)["status"] for path in ("ship", "ship/push")] == ["waiting", "waiting"]
    assert [need["title"] for need in topic.rows.section("needs")] == ["Push?"]
    assert bars(topic, "ship/push") == [("asked", 1, 2, "cancelled"), ("asked", 4, None, None)]


def test_a_step_that_was_stopped_while_it_worked_is_cancelled_and_has_not_failed() -> None:
    topic = topic_after(
        (1.0, BEGIN),
        (1.0, PhaseStarted("ship")),
        (1.0, StepStarted("ship/push")),
        (1.0, NodeStarted("ship/push", "i", 1)),
        (2.0, NodeFailed("ship/push", "i", 1, "cancelled", "it was interrupted")),
        (2.0, StepFailed("ship/push", "cancelled", "it was interrupted")),
        (2.0, RunEnded("cancelled", None, "stopped by a person", None, "stopped")),
    )
    assert [node(topic, path)["status"] for path in ("ship", "ship/push")] == ["cancelled", "cancelled"]
    assert bars(topic, "ship/push") == [("work", 1, 2, "cancelled")]


def test_a_step_that_was_rejected_says_so_and_the_run_too() -> None:
    path = "ship/push"
    value = {"approved": False, "reason": "not now", "stopped": True}
    topic = topic_after(
        (1.0, BEGIN),
        (1.0, PhaseStarted("ship")),
        (1.0, StepStarted(path)),
        (2.0, NodeFinished(path, "i", 1, value)),
        (2.0, StepDone(path, stop=True)),
        (2.0, RunEnded("stopped", "stopped", "Stopped by ship:push", None, "stop-flow-if")),
    )
    assert node(topic, path)["why"] == {"code": "stop-flow-if", "message": "rejected: not now"}
    assert head(topic)["why"] == {"path": path, "code": "stop-flow-if", "message": "rejected: not now"}


def test_a_flow_that_ended_early_says_where() -> None:
    path = "plan/read"
    topic = topic_after(
        (1.0, BEGIN),
        (1.0, PhaseStarted("plan")),
        (1.0, StepStarted(path)),
        (2.0, NodeFinished(path, "i", 1, {})),
        (2.0, StepDone(path, stop=True)),
        (2.0, RunEnded("stopped", "stopped", "Stopped by plan:read", None, "stop-flow-if")),
    )
    message = "the flow ended here, because `stopFlowIf` was true"
    assert head(topic)["why"] == {"path": path, "code": "stop-flow-if", "message": message}
