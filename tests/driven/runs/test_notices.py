"""A notice is told once, also over several lives of a run."""

from __future__ import annotations

from handrail.driven.runs.run_events import Noticed, PhaseStarted
from handrail.driven.runs.state import RunState

STILL = Noticed("a/x", "the program that it started before is still at work")


def test_a_notice_that_was_told_is_no_news() -> None:
    state = RunState()
    assert state.is_news(STILL)
    state.apply(STILL)
    assert not state.is_news(STILL)


def test_another_notice_or_the_same_about_another_step_is_news() -> None:
    state = RunState()
    state.apply(STILL)
    assert state.is_news(Noticed("a/y", STILL.text))
    assert state.is_news(Noticed("a/x", "something else"))


def test_a_phase_that_began_is_not_told_again() -> None:
    state = RunState()
    state.apply(PhaseStarted("a"))
    assert not state.is_news(PhaseStarted("a"))
    assert state.is_news(PhaseStarted("b"))
