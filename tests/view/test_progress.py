"""What a screen shows of a run, event by event."""

from __future__ import annotations

import pytest

from driven.flows.everyflow import flow
from handrail.driven.runs.run_events import (
    AgentActed,
    Answered,
    Asked,
    Delayed,
    Event,
    Guided,
    NodeFailed,
    NodeStarted,
    Noticed,
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
from handrail.view.text.columns import clipped, columns, duration
from handrail.view.text.log import Story
from handrail.view.text.progress import Progress

SET = "node: set, params: {n: 1}"
FLOW = f"""
phases:
- {{id: plan, steps: [{{id: read, {SET}}}, {{id: think, {SET}}}]}}
- {{id: lint, steps: [{{id: all, {SET}}}]}}
- {{id: build, steps: [{{id: sub, {SET}}}, {{id: push, {SET}, retry: {{attempts: 3}}}}]}}
- {{id: ship, steps: [{{id: tag, {SET}}}]}}
"""
BEGIN = RunStarted("flow", "d", None)


def after(*events: tuple[float, Event] | Event, text: str = FLOW) -> Progress:
    """The progress after these events. An event without a time has the time of the previous one."""
    progress, now = Progress(flow(text)), 0.0
    for item in events:
        now, event = item if isinstance(item, tuple) else (now, item)
        progress.take(event, now)
    return progress


def screen(progress: Progress, now: float = 0.0, width: int = 80, height: int = 24) -> str:
    return "\n".join(progress.lines(now, width, height))


def test_before_anything_happens_every_phase_is_pending() -> None:
    assert screen(after()) == "○ plan\n○ lint\n○ build\n○ ship\n0/6 steps"


def test_a_running_phase_is_unfolded_and_a_finished_one_is_one_line() -> None:
    progress = after(
        (0.0, BEGIN),
        (0.0, PhaseStarted("plan")),
        (0.0, StepStarted("plan/read")),
        (1.5, StepDone("plan/read", False)),
        (1.5, StepSkipped("plan/think")),
        (2.0, PhaseDone("plan")),
        (2.0, StepSkipped("lint/all")),
        (2.0, PhaseSkipped("lint", "its condition does not hold")),
        (2.0, PhaseStarted("build")),
        (2.0, StepStarted("build/sub")),
    )
    assert screen(progress, 14.0) == (
        "✓ plan  2.0s\n"
        "· lint  its condition does not hold\n"
        "● build  12s\n"
        "  ● sub  12s\n"
        "  ○ push\n"
        "○ ship\n"
        "3/6 steps, 14s"
    )  # fmt: skip


REPEAT = f"""
phases:
- repeat: {{var: n, max: 5, until: {{exists: ready}}}}
  phases: [{{id: 'poll-${{n}}', steps: [{{id: look, {SET}}}]}}]
- {{id: ship, steps: [{{id: tag, {SET}}}]}}
"""


def test_a_repeat_is_one_line_and_unfolds_while_it_runs() -> None:
    progress = after((0.0, BEGIN), text=REPEAT)
    assert screen(progress) == "○ poll  ↻ 0 of 5\n○ ship\n0/6 steps, 0.0s"
    skipped = (
        StepSkipped("poll-1/look"),
        PhaseSkipped("poll-1", "x"),
        StepSkipped("poll-2/look"),
        PhaseSkipped("poll-2", "x"),
    )
    for event in (*skipped, PhaseStarted("poll-3"), StepStarted("poll-3/look")):
        progress.take(event, 1.0)
    assert screen(progress, 3.0).split("\n")[:6] == [
        "● poll  ↻ 1 of 5",
        "  · rounds 1–2  not needed",
        "  ● round 3",
        "    ● look  2.0s",
        "  ○ rounds 4–5  if needed",
        "○ ship",
    ]


def test_steps_of_a_nested_flow_are_indented_below_the_step_that_runs_it() -> None:
    progress = after(
        (0.0, BEGIN),
        PhaseStarted("build"),
        StepStarted("build/sub"),
        PhaseStarted("build/sub/one"),
        StepStarted("build/sub/one/a"),
        (1.0, StepDone("build/sub/one/a", False)),
        PhaseDone("build/sub/one"),
        PhaseStarted("build/sub/two%2F2"),
        StepStarted("build/sub/two%2F2/b"),
    )
    assert screen(progress, 2.0).split("\n")[2:8] == [
        "● build  2.0s",
        "  ● sub  2.0s",
        "    ✓ one  1.0s",
        "    ● two/2  1.0s",
        "      ● b  1.0s",
        "  ○ push",
    ]
    progress.take(StepDone("build/sub", False), 3.0)
    assert screen(progress, 3.0).split("\n")[2:5] == ["● build  3.0s", "  ✓ sub  3.0s", "  ○ push"]


def test_a_failure_stays_unfolded_with_its_reason() -> None:
    progress = after(
        (0.0, BEGIN),
        PhaseStarted("build"),
        StepStarted("build/sub"),
        (1.0, StepFailed("build/sub", "failed", "`make`\n ended with 2")),
        RunEnded("failed", "success", "failed at build/sub", "`make`\n ended with 2"),
    )
    assert screen(progress, 9.0).split("\n")[2:] == [
        "✗ build",
        "  ✗ sub  1.0s  `make` ended with 2",
        "  ○ push",
        "○ ship",
        "failed, 0/6 steps, 1.0s",
    ]


def test_a_retry_shows_the_error_of_the_last_attempt() -> None:
    progress = after(
        BEGIN,
        PhaseStarted("build"),
        StepStarted("build/push"),
        NodeStarted("build/push", "i", 1),
        NodeFailed("build/push", "i", 1, "failed", "no route"),
        NodeStarted("build/push", "i", 2),
    )
    assert "  ● push  0.0s  attempt 2 of 3, after: no route" in screen(progress).split("\n")


def test_a_question_is_shown_until_it_is_answered() -> None:
    progress = after(
        BEGIN,
        PhaseStarted("ship"),
        StepStarted("ship/tag"),
        Asked("ship/tag", "i", {"id": "sure", "title": "Ship\x1b[2J it?"}),
    )
    assert screen(progress).split("\n")[3:] == [
        "● ship  0.0s",
        "  ● tag  0.0s  waits for an answer",
        "? ship/tag  Ship it? (q1)",
        "0/6 steps, 0.0s",
    ]
    progress.take(RunParked("ship/tag", "Ship it?"), 5.0)
    assert screen(progress, 99.0).split("\n")[-1] == "waiting, 0/6 steps, 5.0s"
    progress.take(Answered("ship/tag", "i", {}), 6.0)
    assert "?" not in screen(progress)


def test_the_current_action_of_an_agent_is_next_to_its_step() -> None:
    progress = after(BEGIN, PhaseStarted("ship"), StepStarted("ship/tag"), AgentActed("ship/tag", "tool", "bash: ls"))
    assert "  ● tag  2.0s  bash: ls" in screen(progress, 2.0).split("\n")
    progress.take(Delayed("ship/tag", 90.0, "the limit is reached"), 2.0)
    assert "  ● tag  30s  waits 1m 00s: the limit is reached" in screen(progress, 30.0).split("\n")
    assert "  ● tag  1m 35s" in screen(progress, 95.0).split("\n")
    progress.take(StepDone("ship/tag", False), 99.0)
    assert "  ✓ tag  1m 39s" in screen(progress, 99.0).split("\n")


def test_the_last_notice_is_shown_until_its_step_ends() -> None:
    progress = after(BEGIN, PhaseStarted("ship"), StepStarted("ship/tag"), Noticed("ship/tag", "still at\nwork"))
    assert "! ship/tag  still at work" in screen(progress).split("\n")
    progress.take(StepDone("ship/tag", False), 1.0)
    assert "!" not in screen(progress)


def test_a_resumed_run_counts_the_time_in_which_it_was_driven_and_keeps_finished_steps() -> None:
    progress = after(
        (0.0, BEGIN),
        PhaseStarted("plan"),
        StepStarted("plan/read"),
        (2.0, StepDone("plan/read", False)),
        StepStarted("plan/think"),
        (1000.0, RunResumed("resume", [], None)),
    )
    assert screen(progress, 1001.0).split("\n")[:3] == ["● plan  3.0s", "  ✓ read  2.0s", "  ● think  1.0s"]
    assert screen(progress, 1001.0).split("\n")[-1] == "1/6 steps, 3.0s"


def test_rewound_phases_are_pending_again() -> None:
    progress = after(
        BEGIN,
        PhaseStarted("plan"),
        StepStarted("plan/read"),
        PhaseStarted("plan/read/inner"),
        StepDone("plan/read", False),
        PhaseDone("plan"),
        RunEnded("completed", "success", None, None),
        RunResumed("continue", ["plan"], None),
    )
    assert screen(progress) == "○ plan\n○ lint\n○ build\n○ ship\n0/6 steps, 0.0s"
    progress.take(PhaseStarted("plan"), 0.0)
    assert screen(progress).split("\n")[:3] == ["● plan  0.0s", "  ○ read", "  ○ think"]


def test_a_low_window_shows_the_current_lines_and_counts_the_hidden_ones() -> None:
    text = "phases:\n" + "".join(f"- {{id: p{n}, steps: [{{id: x, {SET}}}]}}\n" for n in range(100))
    events: list[Event] = [BEGIN]
    for n in range(50):
        events += [PhaseStarted(f"p{n}"), StepStarted(f"p{n}/x"), StepDone(f"p{n}/x", False), PhaseDone(f"p{n}")]
    progress = after(*events, PhaseStarted("p50"), StepStarted("p50/x"), text=text)
    lines = progress.lines(0.0, 80, 8)
    assert lines == [
        "… 49 above",
        "✓ p49  0.0s",
        "● p50  0.0s",
        "  ● x  0.0s",
        "○ p51",
        "○ p52",
        "… 47 below",
        "50/100 steps, 0.0s",
    ]
    for height in range(1, 12):
        lines = progress.lines(0.0, 80, height)
        assert len(lines) == height
        assert lines[-1] == "50/100 steps, 0.0s"
    for height in range(3, 12):
        assert "  ● x  0.0s" in progress.lines(0.0, 80, height)


@pytest.mark.parametrize("width", range(12))
def test_no_line_is_wider_than_the_window(width: int) -> None:
    text = f"phases:\n- {{id: 計画と実装, steps: [{{id: 'e\u0301✍️👩‍💻', {SET}}}]}}\n"
    progress = after(BEGIN, PhaseStarted("計画と実装"), text=text)
    assert all(columns(line) <= width for line in progress.lines(0.0, width, 9))


def test_a_clipped_line_ends_with_an_ellipsis() -> None:
    assert clipped("計画と実装", 10) == "計画と実装"
    assert clipped("計画と実装", 9) == "計画と実…"
    assert clipped("計画と実装", 8) == "計画と…"
    assert clipped("abc", 2) == "a…"
    assert clipped("abc", 0) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1.0, "0.0s"), (0.44, "0.4s"), (42.9, "42s"), (185.0, "3m 05s"), (3725.0, "1h 02m"), (360_000.0, "100h 00m")],
)
def test_a_duration_is_written_for_people(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_each_event_is_one_line_without_a_terminal() -> None:
    story = Story(flow(FLOW), str)
    events: list[tuple[float, Event]] = [
        (0.0, BEGIN),
        (0.0, PhaseSkipped("lint", "its condition does not hold")),
        (0.0, PhaseStarted("build")),
        (0.0, StepStarted("build/sub")),
        (0.0, PhaseStarted("build/sub/one")),
        (1.0, StepDone("build/sub", False)),
        (1.0, StepSkipped("build/push")),
        (1.0, NodeFailed("build/push", "i", 1, "failed", "no route")),
        (1.0, NodeStarted("build/push", "i", 2)),
        (3.0, PhaseDone("build")),
        (3.0, StepStarted("ship/tag")),
        (3.0, Asked("ship/tag", "i", {"id": "sure"})),
        (3.0, Noticed("ship/tag", "look")),
        (3.0, Noticed("", f"{'far ' * 150}away")),
        (3.0, AgentActed("ship/tag", "tool", "bash: ls")),
        (3.0, AgentActed("ship/tag", "denied", "write")),
        (3.0, Delayed("ship/tag", 63.0, "the limit is reached")),
        (15.0, StepFailed("ship/tag", "failed", "no\nway")),
        (15.0, RunEnded("failed", "success", None, None)),
    ]
    assert [line for now, event in events for line in story.news(event, now)] == [
        "· lint  skipped: its condition does not hold",
        "● build",
        "  ● build/sub",
        "    ● build/sub/one",
        "  ✓ build/sub  1.0s",
        "  · build/push  skipped: its condition does not hold",
        "  ● build/push  attempt 2 of 3, after: no route",
        "✓ build  3.0s",
        "  ● ship/tag",
        "  ? ship/tag  asks: sure",
        "  ! ship/tag  look",
        f"! {'far ' * 150}away",
        "  ! ship/tag  denied: write",
        "  ! ship/tag  waits 1m 00s: the limit is reached",
        "  ✗ ship/tag  12s  no way",
    ]


def test_usage_is_summed_and_unknown_numbers_are_left_out() -> None:
    used = [{"inputTokens": 1200, "outputTokens": 30, "usd": None}, {"inputTokens": 300, "outputTokens": None}]
    progress = after(BEGIN, *[UsageReported("plan/read", usage) for usage in used])
    assert screen(progress).split("\n")[-1] == "0/6 steps, 0.0s, 1,500 in, 30 out"


def test_the_phases_of_a_headless_workflow_are_below_its_step_while_it_runs() -> None:
    def guided(number: int, at: float, kind: str, place: str, text: str = "") -> tuple[float, Event]:
        return at, Guided("ship/tag", "s", number, at, kind, place[2:].partition(" ")[0], place, text)

    progress = after(
        (0.0, BEGIN),
        PhaseStarted("ship"),
        StepStarted("ship/tag"),
        guided(1, 0.0, "entered", "• Plan [1/2]"),
        AgentActed("ship/tag", "denied", "write: not now"),
        guided(2, 4.0, "entered", "• Test [2/2]", "planned it"),
        guided(3, 5.0, "check-failed", "• Test [2/2]", "`make test` ended with exit code 2"),
        AgentActed("ship/tag", "tool", "bash: make"),
    )
    assert screen(progress, 7.0, 100).split("\n")[3:7] == [
        "● ship  7.0s",
        "  ● tag  7.0s  bash: make",
        "    ✓ • Plan [1/2]  4.0s  planned it",
        "    ● • Test [2/2]  3.0s  cannot be left yet: `make test` ended with exit code 2",
    ]
    progress.take(guided(4, 8.0, "finished", "• Test [2/2]")[1], 8.0)
    assert "    ✓ • Test [2/2]  4.0s  cannot be left yet" not in screen(progress, 9.0)
    progress.take(StepDone("ship/tag", False), 9.0)
    assert screen(progress, 9.0).split("\n")[3:5] == ["● ship  9.0s", "  ✓ tag  9.0s"]
