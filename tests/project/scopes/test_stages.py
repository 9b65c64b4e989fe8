"""How the stages of a scope are judged: what makes one stale, and how that is known."""

from __future__ import annotations

import pytest

from handrail.driven.artifacts.schemas import artifact_table
from handrail.project.scope_stages import (
    CODE,
    Basis,
    Evidence,
    Stage,
    StagePiece,
    StageStanding,
    judge_stages,
    load_stages,
)

TASK = Stage("task", "task", "plan")
PLAN = Stage("plan", "plan", "plan", needs=("task",))
REVIEW = Stage("review", "review", "review", needs=("plan", CODE))


def piece(time: float, basis: Basis = "record", name: str = "x", **more: object) -> StagePiece:
    return StagePiece(path=name, time=time, basis=basis, **more)  # type: ignore[arg-type]  # whatever a test gives


def found(stage: Stage, *pieces: StagePiece, **more: object) -> Evidence:
    return Evidence(stage=stage, pieces=pieces, **more)  # type: ignore[arg-type]  # whatever a test gives


def of(standings: list[StageStanding]) -> dict[str, str]:
    return {one.stage.id: one.state for one in standings}


def test_a_stage_is_stale_if_an_input_is_newer_and_says_how_that_is_known() -> None:
    standings = judge_stages([found(TASK, piece(5, "file time")), found(PLAN, piece(4, "record"))], None, {})
    assert of(standings) == {"task": "made", "plan": "stale"}
    assert [(one.because, one.basis) for one in standings[1].stale] == [("the task is newer", "file time")]


def test_a_missing_input_makes_nothing_stale() -> None:
    assert of(judge_stages([found(TASK), found(PLAN, piece(4))], None, {})) == {"task": "missing", "plan": "made"}


def test_what_it_was_made_from_decides_before_the_time_does() -> None:
    """The task was published again with the same content: the plan is not stale, although the task is newer."""
    task = piece(9, id="k:task.json:v2", sha256="a", digest="a")
    plan = piece(4, id="k:plan.md:v1", inputs=("k:task.json:v1",))
    same = judge_stages([found(TASK, task), found(PLAN, plan)], None, {"k:task.json:v1": "a"})
    assert of(same)["plan"] == "made"
    other = judge_stages([found(TASK, task), found(PLAN, plan)], None, {"k:task.json:v1": "b"})
    assert other[1].stale[0].basis == "lineage"
    assert other[1].stale[0].because == "it was made from `task.json@v1`, and now there is `task.json@v2`"


def test_an_input_that_was_edited_after_its_use_makes_stale() -> None:
    task = piece(3, id="k:task.json:v1", sha256="a", digest="b", name="task.json")
    plan = piece(4, inputs=("k:task.json:v1",))
    standings = judge_stages([found(TASK, task), found(PLAN, plan)], None, {"k:task.json:v1": "a"})
    assert [(one.because, one.basis) for one in standings[1].stale] == [
        ("`task.json` was edited after it was used", "content")
    ]


def test_what_depends_on_a_stale_stage_is_stale() -> None:
    standings = judge_stages([found(TASK, piece(5)), found(PLAN, piece(4)), found(REVIEW, piece(6))], None, {})
    assert of(standings) == {"task": "made", "plan": "stale", "review": "stale"}
    assert standings[2].stale[0].because == "the plan is stale"


@pytest.mark.parametrize(("changed", "state"), [(5, "made"), (7, "stale")])
def test_a_review_is_stale_if_the_code_was_changed_later(changed: float, state: str) -> None:
    standings = judge_stages([found(REVIEW, piece(6))], piece(changed, "file time", "a.py"), {})
    assert of(standings) == {"review": state}
    assert [one.because for one in standings[0].stale] == ["`a.py` was changed later"] * (state == "stale")


def test_a_stage_with_a_missing_file_or_a_wrong_one_is_not_made() -> None:
    standings = judge_stages([found(TASK, piece(1), absent=("y",)), found(PLAN, piece(2), problem="no JSON")], None, {})
    assert of(standings) == {"task": "incomplete", "plan": "invalid"}


def test_the_shipped_table_names_existing_kinds_and_earlier_stages() -> None:
    known = {CODE}
    for stage in load_stages():
        assert [kind for kinds in stage.files for kind in kinds if kind not in artifact_table().kinds] == []
        assert bool(stage.files) != bool(stage.prompts), stage.id
        assert set(stage.needs) <= known, stage.id
        known.add(stage.id)
