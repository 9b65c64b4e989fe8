"""Rows with versions: any receiver, from any number, ends with the same rows."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.view.rows import rows as rows_module
from handrail.view.rows.rows import HEAD, MOST_BYTES, ReceivedRows, Rows

Change = tuple[str, str, int | None]
CHANGES = st.lists(
    st.tuples(st.sampled_from(["nodes", "bars"]), st.sampled_from("abcd"), st.integers(0, 3) | st.none()), max_size=40
)


def filled(count: int) -> Rows:
    rows = Rows("1.0")
    for number in range(1, count + 1):
        rows.seq = number
        rows.put("nodes", f"n{number}", {"name": number})
    return rows


def only(rows: Rows, base: int) -> dict[str, object]:
    (message,) = rows.messages("run:r", base, 1.0)
    return message


def test_a_message_has_only_what_changed_after_its_base() -> None:
    rows = filled(10)
    rows.seq = 11
    rows.put("nodes", "n3", {"name": "new"})
    message = only(rows, 9)
    assert [row["id"] for row in message["set"]["nodes"]] == ["n10", "n3"]  # type: ignore[index]
    assert (message["base"], message["seq"]) == (9, 11)


def test_equal_fields_are_no_change() -> None:
    rows = filled(3)
    rows.seq = 4
    assert not rows.put("nodes", "n1", {"name": 1})
    assert only(rows, 3)["set"] == {}


def test_ten_changes_of_a_row_are_one_row() -> None:
    rows = filled(1)
    for number in range(2, 12):
        rows.seq = number
        rows.put("nodes", "n1", {"name": number})
    assert only(rows, 1)["set"] == {"nodes": [{"id": "n1", "v": 11, "name": 11}]}


def test_a_removed_row_is_named_until_it_comes_back() -> None:
    rows = filled(3)
    rows.seq = 4
    rows.drop("nodes", "n2")
    assert only(rows, 3)["gone"] == {"nodes": ["n2"]}
    assert only(rows, 0)["gone"] == {}
    rows.seq = 5
    rows.put("nodes", "n2", {"name": 2})
    assert only(rows, 3)["gone"] == {}


def test_a_number_from_a_longer_history_counts_as_none() -> None:
    message = only(filled(3), 99)
    assert message["base"] == 0
    assert len(message["set"]["nodes"]) == 3  # type: ignore[index]


def test_a_large_message_comes_in_parts_that_are_small_enough() -> None:
    rows = Rows("1.0")
    rows.seq = 1
    for number in range(1200):
        rows.put("nodes", f"n{number}", {"text": "x" * 300})
    parts = list(rows.messages("run:r", 0, 1.0))
    assert [part["more"] for part in parts] == [True] * (len(parts) - 1) + [False]
    assert all(len(json.dumps(part["set"])) < MOST_BYTES * 1.1 for part in parts)
    received = ReceivedRows()
    for part in parts[:-1]:
        received.take(part)
    assert received.seq == 0
    for part in rows.messages("run:r", received.seq, 1.0):
        received.take(part)
    assert len(received.rows) == 1200
    assert received.seq == 1


def test_a_message_that_does_not_continue_is_refused() -> None:
    rows, received = filled(3), ReceivedRows()
    assert not received.take(only(rows, 2))
    assert received.take(only(rows, 0))
    later = Rows("2.0")
    later.seq = 1
    later.put(HEAD, "", {"name": "again"})
    later.seq = 2
    assert not received.take(only(later, 1))
    assert received.take(only(later, 0))
    assert list(received.rows) == [(HEAD, "")]


@pytest.mark.whole
@settings(max_examples=200)
@given(CHANGES, st.data())
def test_every_receiver_ends_with_the_same_rows(changes: list[Change], data: st.DataObject) -> None:
    rows, receivers = Rows("1.0"), [ReceivedRows() for _ in range(3)]
    before = rows_module.MOST_ROWS
    rows_module.MOST_ROWS = data.draw(st.integers(1, 3))
    try:
        for number, (section, id_, value) in enumerate(changes, 1):
            rows.seq = number
            if value is None:
                rows.drop(section, id_)
            else:
                rows.put(section, id_, {"value": value})
            for receiver in data.draw(st.lists(st.sampled_from(receivers), max_size=3)):
                parts = list(rows.messages("run:r", receiver.seq, 1.0))
                for message in parts[: data.draw(st.integers(1, len(parts)))]:  # the connection may end in between
                    assert receiver.take(message)
        for receiver in receivers:
            for message in rows.messages("run:r", receiver.seq, 1.0):
                assert receiver.take(message)
    finally:
        rows_module.MOST_ROWS = before
    wanted = {("nodes", row["id"]): row for row in rows.section("nodes")}
    wanted |= {("bars", row["id"]): row for row in rows.section("bars")}
    assert all(receiver.rows == wanted for receiver in receivers)
    assert {receiver.seq for receiver in receivers} == {len(changes)}
