"""The level of a row follows from the files that are there afterwards, and from nothing else."""

from __future__ import annotations

import pytest

from handrail.doctor.probe import (
    ORDER,
    SCENES,
    absent_row,
    denied_row,
    failed_row,
    rewritten_row,
    sent_on_row,
    switched_off_row,
)
from handrail.guided.sessions.phase_requirements import HARD_ROWS


@pytest.mark.parametrize(
    ("happened", "works", "level"),
    [(False, True, "hard"), (True, True, "none"), (True, False, "none"), (False, False, "unknown")],
)
def test_a_denied_call_counts_only_if_the_same_call_works_elsewhere(happened: bool, works: bool, level: str) -> None:
    assert denied_row("shell", did_happen=happened, works=works, what="a command").level == level


@pytest.mark.parametrize(
    ("happened", "is_over", "works", "level"),
    [
        (False, True, True, "hard"),
        (True, True, True, "none"),
        (True, False, True, "none"),
        (False, False, True, "unknown"),
        (False, True, False, "unknown"),
    ],
)
def test_a_call_with_a_failing_hook(happened: bool, is_over: bool, works: bool, level: str) -> None:
    assert failed_row("hook crash", did_happen=happened, is_over=is_over, works=works).level == level


@pytest.mark.parametrize(("went_on", "level"), [(10, "hard"), (9, "partial"), (1, "partial"), (0, "none")])
def test_an_agent_that_is_sent_on_a_few_times_is_partial(went_on: int, level: str) -> None:
    assert sent_on_row(went_on, 10).level == level


@pytest.mark.parametrize(
    ("original", "replaced", "level"),
    [(False, True, "hard"), (True, True, "partial"), (True, False, "none"), (False, False, "unknown")],
)
def test_a_rewritten_command(original: bool, replaced: bool, level: str) -> None:
    assert rewritten_row(original=original, replaced=replaced).level == level


@pytest.mark.parametrize(
    ("happened", "is_switch", "level"),
    [(False, True, "hard"), (True, True, "none"), (True, False, "none"), (False, False, "unknown")],
)
def test_a_switch_counts_only_if_it_switches_hooks_off(happened: bool, is_switch: bool, level: str) -> None:
    assert switched_off_row(did_happen=happened, is_switch=is_switch).level == level


def test_what_an_agent_does_not_have_is_unknown_and_marked() -> None:
    assert (absent_row("mcp").level, absent_row("mcp").is_absent) == ("unknown", True)


def test_the_scenes_measure_every_row_once() -> None:
    rows = [row for _, measured in SCENES.values() for row in measured]
    assert sorted([*rows, "rewrite"]) == sorted(ORDER)
    assert set(HARD_ROWS) <= set(ORDER)
