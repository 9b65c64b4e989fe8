"""The log of a run reads as a story."""

from __future__ import annotations

from driven.flows.everyflow import flow
from handrail.driven.runs.run_events import (
    AgentActed,
    Answered,
    ArtifactPublished,
    Asked,
    Event,
    FactFound,
    Guided,
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
from handrail.view.rows.run import RunTopic
from handrail.view.text.log import Story, line_of

SET = "node: set, params: {n: 1}"
FLOW = f"""
phases:
- {{id: plan, steps: [{{id: read, {SET}, retry: {{attempts: 3}}}}, {{id: think, {SET}}}]}}
- repeat: {{var: i, to: 3}}
  phases: [{{id: "poll-${{i}}", steps: [{{id: look, {SET}}}]}}]
- {{id: ship, steps: [{{id: tag, {SET}}}]}}
"""
BEGIN = RunStarted("flow", "d", None)
END = RunEnded("completed", "success", None, None)


def story(*events: tuple[float, Event] | Event) -> list[str]:
    """The lines without their times. An event without a time has the time of the previous one."""
    records: list[tuple[float, Event]] = []
    for item in events:
        now = records[-1][0] if records else 0.0
        records.append(item if isinstance(item, tuple) else (now, item))
    teller = Story(flow(FLOW), lambda moment: f"{moment:05.1f}")
    return [line.partition("  ")[2] for _, line in teller.lines(records)]


def test_a_step_that_only_starts_and_ends_is_one_line() -> None:
    done: list[Event] = [StepDone("plan/read", False), PhaseDone("plan"), END]
    lines = story(BEGIN, PhaseStarted("plan"), StepStarted("plan/read"), *[(2.0, event) for event in done])
    assert lines == ["started", "● plan", "  ✓ read  2.0s", "✓ plan  2.0s", "✓ completed after 2.0s"]


def test_a_retry_is_told_with_the_error_before_it_and_a_failure_once() -> None:
    assert story(
        BEGIN,
        PhaseStarted("plan"),
        StepStarted("plan/read"),
        NodeStarted("plan/read", "i", 1),
        (1.0, NodeFailed("plan/read", "i", 1, "failed", "no route")),
        NodeStarted("plan/read", "i", 2),
        FactFound("plan/read", "x", "exists", "y", True),
        (3.0, NodeFailed("plan/read", "i", 2, "failed", "no road")),
        StepFailed("plan/read", "failed", "no road"),
        RunEnded("failed", None, "failed at plan/read", "no road", "failed"),
    )[3:] == ["    attempt 2 of 3, after: no route", "  ✗ read  3.0s  no road", "✗ failed after 3.0s"]


def test_a_step_that_was_cancelled_has_the_sign_of_that_and_did_not_fail() -> None:
    cancelled = StepFailed("plan/read", "cancelled", "cancelled")
    end = RunEnded("cancelled", None, "cancelled by a person", None, "stopped")
    told = story(BEGIN, PhaseStarted("plan"), StepStarted("plan/read"), cancelled, end)
    assert told[2:] == ["  ■ read  0.0s  cancelled", "■ cancelled after 0.0s: cancelled by a person"]
    assert line_of(cancelled)[2:] == ("cancelled", "cancelled")


def test_lines_of_parallel_steps_name_the_whole_path_where_it_is_not_clear() -> None:
    assert story(
        PhaseStarted("poll-1"),
        StepStarted("poll-1/look"),
        AgentActed("poll-1/look", "tool", "bash: ls"),
        PhaseStarted("poll-2"),
        StepStarted("poll-2/look"),
        AgentActed("poll-1/look", "denied", "write"),
        StepDone("poll-2/look", False),
    ) == [
        "● poll-1  round 1",
        "  ● look",
        "    bash: ls",
        "● poll-2  round 2",
        "  ● look",
        "    poll-1/look: ! denied: write",
        "  ✓ poll-2/look  0.0s",
    ]


def test_rounds_that_were_not_needed_are_one_line() -> None:
    reason = "its condition does not hold"
    skipped: list[Event] = []
    for n in (1, 2, 3):
        skipped += [StepSkipped(f"poll-{n}/look"), PhaseSkipped(f"poll-{n}", reason)]
    assert story(BEGIN, *skipped)[1:] == ["· poll-1 to poll-3  skipped: their conditions do not hold"]
    assert story(BEGIN, *skipped[:2])[1:] == [f"· poll-1  skipped: {reason}"]


def test_who_watches_a_run_sees_one_line_for_rounds_that_were_not_needed() -> None:
    told = Story(flow(FLOW), str)
    skipped = [PhaseSkipped(f"a/b/{name}-{n}", "its condition does not hold") for n in (1, 2, 3) for name in ("x", "y")]
    lines = [told.news(event, 1.0) for event in (*skipped, PhaseSkipped("ship", "its condition does not hold"))]
    assert lines == [[]] * 7
    assert told.news(RunEnded("completed", "success", None, None), 1.0) == [
        "    · a/b/x-1 to x-3, y-1 to y-3  skipped: their conditions do not hold",
        "· ship  skipped: its condition does not hold",
    ]


def test_a_question_its_answer_and_a_file_are_below_their_step() -> None:
    assert story(
        BEGIN,
        PhaseStarted("ship"),
        StepStarted("ship/tag"),
        Asked("ship/tag", "i", {"title": "Sure?"}),
        (1.0, RunParked("ship/tag", "Sure?")),
        (90.0, RunResumed("resume", [], None)),
        Answered("ship/tag", "i", {"note": "a\nb", "deep": True, "no": None}),
        ArtifactPublished("ship/tag", {"id": "x", "path": "NOTES.md"}),
        UsageReported("ship/tag", {"inputTokens": 1200, "outputTokens": None, "usd": 0.5}),
        (91.0, StepDone("ship/tag", False)),
    )[3:] == [
        "    ? asks: Sure?",
        "waits for a person, after 1.0s",
        "resumed",
        "    ship/tag: answered: note=a b deep=true",
        "    made NOTES.md",
        "    used 1,200 tokens in, $0.50",
        "  ✓ tag  2.0s",
    ]


def test_what_a_restart_kept_is_one_line() -> None:
    lines = story(
        BEGIN,
        PhaseStarted("plan"),
        StepStarted("plan/read"),
        NodeFinished("plan/read", "", 0, {}),
        StepDone("plan/read", False),
        PhaseDone("plan"),
        (5.0, RunResumed("restart", [], None)),
        PhaseStarted("ship"),
        (6.0, END),
    )
    assert lines == ["started again", "✓ plan  kept from the attempt before", "● ship", "✓ completed after 1.0s"]


def test_the_phases_of_a_workflow_have_their_own_times() -> None:
    def guided(number: int, kind: str, text: str = "") -> Guided:
        return Guided("ship/tag", "s", number, 7.0, kind, "Plan", "• Plan [1/2]", text)

    told = [
        guided(1, "entered"),
        guided(2, "check-failed", "`x` does not exist"),
        guided(3, "sent-on"),
        guided(4, "looped"),
        guided(5, "finished", "all is well"),
    ]
    teller = Story(flow(FLOW), lambda moment: f"{moment:g}")
    begin: list[Event] = [PhaseStarted("ship"), StepStarted("ship/tag")]
    lines = list(teller.lines([(9.0, event) for event in (*begin, *told)]))
    assert [line for _, line in lines] == [
        "9  ● ship",
        "9    ● tag",
        "7      ● phase • Plan [1/2]",
        "7      ! Plan cannot be left yet: `x` does not exist",
        "7      ! the agent stopped early in Plan and was told to continue",
        "7      ! the agent starts over at • Plan [1/2]",
        "7        summary: all is well",
        "7      ✓ the workflow is done",
    ]


def test_what_a_workflow_did_is_told_in_the_order_in_which_it_happened() -> None:
    acts = [(at, AgentActed("ship/tag", "tool", f"Read {at:g}")) for at in (2.0, 4.0, 6.0)]
    guided = Guided("ship/tag", "s", 1, 3.0, "entered", "Plan", "• Plan [1/2]", "")
    teller = Story(flow(FLOW), lambda moment: f"{moment:g}")
    begin: list[tuple[float, Event]] = [(1.0, PhaseStarted("ship")), (1.0, StepStarted("ship/tag"))]
    lines = [line for _, line in teller.lines([*begin, *acts, (6.0, guided)])]
    assert [line[0] for line in lines] == ["1", "1", "2", "3", "4", "6"]


def test_the_log_and_the_data_count_the_same_time_and_no_wait_for_a_person() -> None:
    events: list[tuple[float, Event]] = [
        (0.0, BEGIN),
        (0.0, PhaseStarted("ship")),
        (0.0, StepStarted("ship/tag")),
        (1.0, RunParked("ship/tag", "Sure?")),
        (90.0, RunResumed("resume", [], None)),
        (90.5, StepFailed("ship/tag", "x", "no")),
        (90.5, RunEnded("failed", None, None, "no")),
    ]
    topic = RunTopic(flow(FLOW), lambda _: None, 1, {}, events)
    assert topic.tree.get("ship/tag")["took"] == 1.5
    told = [line for _, line in Story(flow(FLOW), str).lines(events)]
    assert [line.split("  ", 1)[1] for line in told[-2:]] == ["  ✗ ship/tag  1.5s  no", "✗ failed after 1.5s"]
