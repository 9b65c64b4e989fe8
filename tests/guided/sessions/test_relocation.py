"""The phase of a session after its definition was edited."""

from __future__ import annotations

import pytest

from guided.sessions.definitions import phase, plan, replaced, run, workflow
from handrail.guided.workflows.plan import locate, relocate

INNER = workflow("inner", phase("a"), phase("b"))
TOP = workflow("top", phase("begin"), run("inner"), phase("middle"), run("inner"))
OLD = plan(TOP, INNER)


def test_every_stop_of_an_unchanged_plan_stays_where_it_is() -> None:
    assert [relocate(OLD, at, OLD) for at in range(len(OLD.stops))] == list(range(len(OLD.stops)))


def test_a_phase_is_found_after_another_was_inserted_before_it() -> None:
    new = plan(replaced(TOP, phase("new"), *TOP.entries), INNER)
    assert [relocate(OLD, at, new) for at in range(len(OLD.stops))] == [at + 1 for at in range(len(OLD.stops))]


def test_a_session_follows_its_phase_when_phases_are_reordered() -> None:
    new = plan(TOP, replaced(INNER, phase("b"), phase("a")))
    assert [relocate(OLD, at, new) for at in range(len(OLD.stops))] == [0, 2, 1, 3, 5, 4]


def test_a_removed_phase_is_named() -> None:
    new = plan(TOP, replaced(INNER, phase("a")))
    assert relocate(OLD, 2, new) == "phase `b` is no longer in top > inner"


def test_a_phase_that_moved_to_another_workflow_is_not_found() -> None:
    new = plan(replaced(TOP, *TOP.entries, phase("b")), replaced(INNER, phase("a")))
    assert relocate(OLD, 2, new) == "phase `b` is no longer in top > inner"


def test_a_phase_is_ambiguous_when_one_of_its_two_places_was_removed() -> None:
    new = plan(replaced(TOP, *TOP.entries[:3]), INNER)
    assert relocate(OLD, 1, new) == "phase `a` is now in 1 places; before, it was in 2"


@pytest.mark.parametrize("at", range(len(OLD.stops)))
def test_a_stop_is_located_by_its_own_path(at: int) -> None:
    assert locate(OLD, OLD.stops[at].path) == at


def test_a_path_that_ends_at_a_subworkflow_means_its_first_stop() -> None:
    assert locate(OLD, [("top", 3)]) == 4


def test_a_path_past_the_end_has_no_stop() -> None:
    assert locate(OLD, [("top", 4)]) is None
