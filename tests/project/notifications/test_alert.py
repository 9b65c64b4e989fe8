"""The line that a person gets."""

from __future__ import annotations

from handrail.project.notifications import MAX_TEXT, end_alert, question_alert


def test_the_line_has_the_name_and_the_question() -> None:
    alert = question_alert("r-1", "release 1.2", "q1", "ask/go", {"title": "Release\n 1.2?"})
    assert alert.text == "release 1.2: Release 1.2?"
    assert alert.to_json() == {"kind": "need", "run": "r-1", "name": "release 1.2", "text": alert.text}


def test_the_line_is_clean_and_short_and_a_long_name_is_cut_first() -> None:
    alert = question_alert("r-1", "n" * 500, "q1", "ask/go", {"title": "\x1b[2J\u202eSure?"})
    assert len(alert.text) == MAX_TEXT
    assert alert.text.endswith("…: ⟨U+202E⟩Sure?")
    assert "\x1b" not in alert.text
    assert len(question_alert("r-1", "x", "q1", "a/b", {"title": "y" * 500}).text) == MAX_TEXT


def test_the_reason_of_a_failed_check_is_not_told() -> None:
    form = {"formId": "rerun", "title": "`a/b` has finished, but: the agent said SECRET"}
    assert question_alert("r-1", "x", "q1", "a/b", form).text == "x: may `a/b` run again?"


def test_an_end_says_how_and_where() -> None:
    assert end_alert("r-1", "x", 0, "failed", "check/lint").text == "x: failed at check/lint"
    assert end_alert("r-1", "x", 0, "completed", "check/lint").text == "x: is completed"
    assert end_alert("r-1", "x", 0, "failed", None).key != end_alert("r-1", "x", 1, "failed", None).key
