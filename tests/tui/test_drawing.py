"""What lines say: costs, emoji, tails, checks, skipped rounds. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.tui.context import local_time
from handrail.tui.lines.run import check_lines, tail_lines
from handrail.tui.lines.run_tree import LEGEND, FoldedTree, tree_lines
from handrail.tui.lines.words import Times, cell, in_lines, money

TIMES = Times(1_794_924_151.0, local_time)


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ({}, "–"),
        ({"usd": None, "complete": False}, "–"),
        ({"usd": 0.0, "complete": False}, "–"),
        ({"usd": 0.42, "complete": True}, "$0.42"),
        ({"usd": 0.42, "complete": False}, "≥$0.42"),
        ({"usd": 0.001, "complete": True}, "<$0.01"),
        ({"usd": 0.001, "complete": False}, "–"),
        ({"usd": 0.0, "complete": True}, "$0"),
    ],
)
def test_a_cost_is_known_partly_known_or_unknown_and_never_two_zeros(usage: dict[str, Any], words: str) -> None:
    assert money(usage) == words


def test_an_emoji_takes_the_same_columns_on_every_terminal() -> None:
    assert cell("✍\ufe0f Write", 9) == "✍ Write  "


def test_the_end_of_a_step_names_the_step_in_the_tail() -> None:
    rows = [{"n": 1, "t": 0.0, "node": "fix/edit", "kind": "done", "text": ""}]
    assert [one.text.split()[1:] for one in tail_lines(rows, TIMES, 60)] == [["done", "fix", "›", "edit"]]


def _tail(*nodes: str) -> list[str]:
    rows = [{"n": n, "t": 0.0, "node": node, "kind": "out", "text": f"line {n}"} for n, node in enumerate(nodes)]
    return [one.text[10:].rstrip() for one in tail_lines(rows, TIMES, 60)]


def test_each_line_of_the_tail_names_its_step_if_there_are_several() -> None:
    assert _tail("ask/a", "ask/a") == ["out     line 0", "out     line 1"]
    assert _tail("ask/a", "ask/bcd") == ["out     a: line 0", "out     bcd: line 1"]
    told = _tail("fix_1/a", "fix_2/a", "fix_2/b")
    assert told == ["out     fix_1 › a: line 0", "out     fix_2 › a: line 1", "out     b: line 2"]


def test_a_blank_line_of_output_is_blank() -> None:
    rows = [{"n": 1, "t": 0.0, "node": "fix/edit", "kind": "out", "text": ""}]
    assert [one.text.split()[1:] for one in tail_lines(rows, TIMES, 60)] == [["out"]]


def test_names_of_checks_are_not_cut_while_there_is_room() -> None:
    rows = [
        {"id": "c", "node": "greet/write", "name": "file: HELLO.md", "kind": "file", "held": True, "detail": "6 bytes"}
    ]
    assert "greet › write: file: HELLO.md  6 bytes" in next(iter(check_lines(rows, TIMES, 79))).text


def test_a_round_that_was_not_needed_says_why() -> None:
    why = {"code": "skipped", "message": "its condition does not hold"}
    rows = [
        {"id": "~fix", "parent": "", "kind": "repeat", "status": "done", "order": 0, "name": "fix", "rounds": 1},
        {"id": "~fix/1", "parent": "~fix", "kind": "round", "status": "skipped", "order": 1, "name": "round 1"},
        {
            "id": "fix-1",
            "parent": "~fix/1",
            "kind": "phase",
            "status": "skipped",
            "order": 2,
            "name": "fix",
            "why": why,
        },
    ]
    lines = list(tree_lines(FoldedTree(rows), {}, TIMES, 80))
    assert "its condition does not hold" in lines[1].text


WHY = {"code": "skipped", "message": "its condition does not hold"}


def rounds(*statuses: str, over: str = "") -> FoldedTree:
    """A repeat whose rounds have these statuses."""
    begun = sum(status not in ("skipped", "pending") for status in statuses)
    repeat = {"kind": "repeat", "status": "running", "name": "fix", "rounds": len(statuses), "begun": begun}
    rows: list[dict[str, Any]] = [{"id": "~fix", "parent": "", "order": 0, "over": over, **repeat}]
    for number, status in enumerate(statuses, 1):
        why = WHY if status == "skipped" else None
        shown = {"id": f"~fix/{number}", "parent": "~fix", "order": 2 * number, "name": f"round {number}"}
        rows.append({**shown, "kind": "round", "status": status})
        phase = {"id": f"fix-{number}", "parent": shown["id"], "order": 2 * number + 1, "name": "fix"}
        rows.append({**phase, "kind": "phase", "status": status, "why": why})
    return FoldedTree(rows)


def texts(tree: FoldedTree, folds: dict[str, bool] | None = None) -> list[str]:
    return [" ".join(line.text.split()).removesuffix(" –") for line in tree_lines(tree, folds or {}, TIMES, 80)]


def test_rounds_that_were_not_needed_are_one_line_that_a_person_can_unfold() -> None:
    tree = rounds("done", *["skipped"] * 9)
    assert texts(tree) == ["▾ ● fix ↻ 1 of 10", "▾ ✓ round 1", "▸ · rounds 2–10 not needed"]
    unfolded = texts(tree, {"~fix/2": False})
    assert len(unfolded) == 11
    assert unfolded[2] == "▾ · round 2 its condition does not hold"


def test_of_rounds_that_may_come_the_first_is_shown_and_the_others_are_one_line() -> None:
    assert texts(rounds(*["pending"] * 10)) == ["▾ ● fix ↻ 0 of 10", "▸ ○ round 1", "▸ ○ rounds 2–10 if needed"]
    lines = texts(rounds("done", "running", *["pending"] * 8, over="${params.files}"))
    assert lines[0] == "▾ ● fix ↻ 2, for each of ${params.files}, at most 10"
    assert lines[-1] == "▸ ○ rounds 3–10 if needed"


@pytest.mark.parametrize("width", [30, 59, 79])
def test_no_sign_of_the_timeline_is_cut_off(width: int) -> None:
    lines = in_lines(LEGEND, width, "  ")
    assert max(map(len, lines)) <= width
    assert "  ".join(lines).split("  ") == list(LEGEND)
