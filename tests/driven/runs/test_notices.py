"""A notice is told once, also over several lives of a run."""

from __future__ import annotations

from handrail.driven.runs.memory import Memory
from handrail.driven.runs.run_events import Noticed, PhaseStarted

STILL = Noticed("a/x", "the program that it started before is still at work")


def test_a_notice_that_was_told_is_no_news() -> None:
    memory = Memory()
    assert memory.is_news(STILL)
    memory.take(STILL)
    assert not memory.is_news(STILL)


def test_another_notice_or_the_same_about_another_step_is_news() -> None:
    memory = Memory()
    memory.take(STILL)
    assert memory.is_news(Noticed("a/y", STILL.text))
    assert memory.is_news(Noticed("a/x", "something else"))


def test_a_phase_that_began_is_not_told_again() -> None:
    memory = Memory()
    memory.take(PhaseStarted("a"))
    assert not memory.is_news(PhaseStarted("a"))
    assert memory.is_news(PhaseStarted("b"))
