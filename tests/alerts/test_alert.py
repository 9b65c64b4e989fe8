"""The line that a person gets."""

from __future__ import annotations

from handrail.alerts.alert import MOST, of_end, of_question


def test_the_line_has_the_name_and_the_question() -> None:
    alert = of_question("r-1", "release 1.2", "q1", "ask/go", {"title": "Release\n 1.2?"})
    assert alert.text == "release 1.2: Release 1.2?"
    assert alert.to_json() == {"kind": "need", "run": "r-1", "name": "release 1.2", "text": alert.text}


def test_the_line_is_clean_and_short_and_a_long_name_is_cut_first() -> None:
    alert = of_question("r-1", "n" * 500, "q1", "ask/go", {"title": "\x1b[2J\u202eSure?"})
    assert len(alert.text) == MOST
    assert alert.text.endswith("…: ⟨U+202E⟩Sure?")
    assert "\x1b" not in alert.text
    assert len(of_question("r-1", "x", "q1", "a/b", {"title": "y" * 500}).text) == MOST


def test_the_reason_of_a_failed_check_is_not_told() -> None:
    form = {"formId": "rerun", "title": "`a/b` has finished, but: the agent said SECRET"}
    assert of_question("r-1", "x", "q1", "a/b", form).text == "x: may `a/b` run again?"


def test_an_end_says_how_and_where() -> None:
    assert of_end("r-1", "x", 0, "failed", "check/lint").text == "x: failed at check/lint"
    assert of_end("r-1", "x", 0, "completed", "check/lint").text == "x: is done"
    assert of_end("r-1", "x", 0, "failed", None).key != of_end("r-1", "x", 1, "failed", None).key
