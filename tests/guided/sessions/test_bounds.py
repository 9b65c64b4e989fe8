"""Bounds of a session: the length of a summary, the number of reminders, and what a journal may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from guided.sessions.definitions import phase, plan, workflow
from guided.sessions.stories import open_session
from handrail.base.journal import JournalDamaged, append
from handrail.base.jsonlite import encode_line
from handrail.guided.sessions import machine, words
from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.machine import (
    SUMMARY_LENGTH,
    AgentStopped,
    CheckResult,
    Finished,
    LetGo,
    Looped,
    Moved,
    Next,
    SentOn,
    Start,
    Started,
    State,
)
from handrail.guided.sessions.store import Session
from handrail.guided.workflows.plan import Plan

HELD = CheckResult("report.txt", "file", True, "exists", 0.1)
FAILED = HELD._replace(held=False)


def two_phases() -> Plan:
    return plan(workflow("top", phase("a"), phase("b")))


def started(folder: Path, chosen: Plan) -> Session:
    session = open_session(folder)
    session.do(Start(Started(session.pin(chosen), "task", "wf-1-aaaaaa", 1.0)))
    return session


def test_a_long_summary_is_cut_with_a_mark_and_the_card_stays_small(tmp_path: Path) -> None:
    session = started(tmp_path / "s", two_phases())
    state = session.do(Next("x" * 10_000_000)).after
    ((_, kept),) = state.summaries
    assert len(kept) == SUMMARY_LENGTH
    assert kept.endswith("… [cut by Handrail: 10,000,000 characters are too many]")
    assert (tmp_path / "s" / "card").stat().st_size < 30_000
    assert (tmp_path / "s" / "journal").stat().st_size < 10_000


def test_a_summary_of_the_longest_length_is_kept_whole(tmp_path: Path) -> None:
    state = started(tmp_path / "s", two_phases()).do(Next("y" * SUMMARY_LENGTH)).after
    assert state.summaries[0][1] == "y" * SUMMARY_LENGTH


def test_a_summary_that_an_older_version_kept_whole_is_cut_when_it_is_read() -> None:
    moved = machine.apply(State("active"), Moved(0, 1, "A", "z" * 5_000))
    assert len(moved.summaries[0][1]) == SUMMARY_LENGTH


def test_an_agent_that_works_a_little_and_stops_is_sent_on_a_limited_number_of_times() -> None:
    chosen, state = two_phases(), State("active", reminder_limit=5)
    ends: list[object] = []
    for _ in range(6):
        (event,) = decide(chosen, state, AgentStopped(progress=True)).events
        ends.append(event)
        state = machine.apply(state, event)
    assert [type(event) for event in ends] == [SentOn] * 5 + [LetGo]
    assert ends[-1] == LetGo(0, "it is still in the same phase after 5 reminders")
    assert isinstance(decide(chosen, state, AgentStopped(progress=True)).events[0], SentOn)


def test_a_reminder_counts_in_its_phase_and_in_all() -> None:
    state = State("active", reminders=2, sent_on=2)
    assert "(reminder 2)." in words.reminder(two_phases(), state)
    later = words.reminder(two_phases(), state._replace(sent_on=13))
    assert "(reminder 2 in this phase, 13 in all)." in later


def test_a_move_starts_the_count_of_reminders_again() -> None:
    chosen, state = two_phases(), State("active", reminder_limit=1)
    state = machine.fold(decide(chosen, state, AgentStopped()).events, state)
    state = machine.fold(decide(chosen, state, Next()).events, state)
    assert isinstance(decide(chosen, state, AgentStopped()).events[0], SentOn)


def checked(*results: CheckResult) -> machine.Checked:
    return machine.Checked(0, results)


FORGED: dict[str, tuple[machine.Event, ...]] = {
    "without its exit checks": (Moved(0, 1, "A", ""),),
    "with a failed check": (checked(FAILED), Moved(0, 1, "A", "")),
    "with no result": (checked(), Moved(0, 1, "A", "")),
    "with the checks of another phase": (machine.Checked(1, (HELD,)), Moved(0, 1, "A", "")),
    "from another phase": (Moved(1, 2, "B", ""),),
    "over a phase": (checked(HELD), Moved(0, 2, "A", "")),
    "to the end": (checked(HELD), Finished(0, "A", "")),
    "back into the middle": (Looped(0, 1),),
}


@pytest.mark.parametrize("events", FORGED.values(), ids=FORGED.keys())
def test_a_move_that_cannot_have_been_decided_is_damage(tmp_path: Path, events: tuple[machine.Event, ...]) -> None:
    session = started(tmp_path / "s", plan(workflow("top", phase("a", checks=1), phase("b"))))
    size = (tmp_path / "s" / "journal").stat().st_size
    record = {"n": 1, "t": 1.0, "events": [machine.event_to_json(event) for event in events]}
    append(session.journal, size, encode_line(record))
    for reader in (session, open_session(tmp_path / "s")):
        with pytest.raises(JournalDamaged, match="is damaged at record 1: it "):
            reader.read()
    (tmp_path / "s" / "card").unlink()
    with pytest.raises(JournalDamaged, match="is damaged at record 1: it "):
        open_session(tmp_path / "s").card()
