"""Numbers that keep their text, and the texts of other numbers."""

from __future__ import annotations

import copy
import json
import math

import pytest

from handrail.base import jsonlite
from handrail.source.tree import scalar
from handrail.source.values import (
    OPERATIONS,
    TESTS,
    Unresolved,
    as_joined_text,
    as_text,
    number,
    number_text,
    parse_float,
    restore,
    same,
    texts_in,
    written,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-7, "1e-7"), (1.5e-7, "1.5e-7"), (1e-6, "0.000001"), (0.1, "0.1"), (-0.0, "0"), (2.0, "2"), (-2.5, "-2.5"),
        (120.0, "120"), (123456.789, "123456.789"), (1e16, "10000000000000000"), (1e20, "100000000000000000000"),
        (1e21, "1e+21"), (1.25e300, "1.25e+300"), (5e-324, "5e-324"), (math.inf, "Infinity"),
        (math.nan, "NaN"), (7, "7"),
    ],
)  # fmt: skip
def test_a_number_without_a_text_is_written_as_in_javascript(value: float, text: str) -> None:
    assert number_text(value) == as_text(value) == text


@pytest.mark.parametrize("text", ["1.10", "2.0", "007", "+5", "0x1f", "1e3", ".5", "1.", "-0"])
def test_a_number_of_a_yaml_file_keeps_its_text_and_counts_as_a_number(text: str) -> None:
    _, value = scalar(text)
    assert isinstance(value, int | float)
    assert as_text(value) == str(value) == f"{value}" == text
    assert same(value, float(value))
    assert as_text(OPERATIONS["add"]([value, 0])) == number_text(float(value))
    assert TESTS["less"](value, 1001)
    assert json.loads(json.dumps({"v": value})) == {"v": value}


def test_a_number_that_is_too_large_stays_text() -> None:
    assert scalar("123e4567") == ("text", "123e4567")
    assert parse_float("1e999") == "1e999"


def test_texts_survive_json_and_copies() -> None:
    value = {"a": [written(1.1, "1.10"), {"b/c~d": written(7, "007")}], "z": 2, "t": True}
    texts = texts_in(value)
    assert texts == {"/a/0": "1.10", "/a/1/b~1c~0d": "007"}
    again = restore(json.loads(json.dumps(value)), texts)
    assert texts_in(copy.deepcopy(again)) == texts
    assert texts_in(restore(json.loads("1.1"), {"": "1.10"})) == {"": "1.10"}
    assert texts_in({"v": 1.5, "n": 3}) == {}


def test_a_record_holds_the_number_also_beside_half_of_a_character() -> None:
    value = {"text": "\ud83d", "n": written(0.5, ".5"), "i": written(7, "007")}
    assert jsonlite.loads(jsonlite.dumps(value)) == value


@pytest.mark.parametrize("texts", [{"/a/9": "1.0"}, {"/b": "1.0"}, {"/a/x": "1.0"}, {"/a/0/0": "1.0"}, {"/t": "1.0"}])
def test_texts_that_do_not_fit_are_ignored(texts: dict[str, str]) -> None:
    assert restore({"a": [1], "t": "x"}, texts) == {"a": [1], "t": "x"}


def test_a_list_and_an_object_become_json() -> None:
    value = {"name": "Ada", "list": [1, None, True, 1e-7], "v": written(1.1, "1.10"), "n": written(7, "007")}
    assert as_text(value) == '{"name": "Ada", "list": [1, null, true, 1e-7], "v": 1.10, "n": 7}'
    assert (as_text([]), as_text({}), as_text([[], {}])) == ("[]", "{}", "[[], {}]")
    assert as_joined_text(["a", None, [1, 2], {"x": 1}]) == 'a,,1,2,{"x": 1}'


@pytest.mark.parametrize("text", ["1_000", "１", "0x1f", "inf", "nan", "1e999", "1,5", "--1", "9" * 400])
def test_text_that_is_no_number_does_not_count_as_one(text: str) -> None:
    with pytest.raises(Unresolved, match="is not a number"):
        number(text)


def test_text_that_is_a_number_counts_as_one() -> None:
    assert [number(text) for text in (" 12 ", "-1.50", "", ".5", "1e3", "007")] == [12, -1.5, 0, 0.5, 1000, 7]


@pytest.mark.parametrize("values", [[1e308, 1e308], [10**400, 0.5], [10**2000]])
def test_a_result_that_is_too_large_is_an_error(values: list[float]) -> None:
    with pytest.raises(Unresolved, match="too large"):
        OPERATIONS["add"](values)


def test_an_index_has_no_leading_zero() -> None:
    assert OPERATIONS["at"]([["a", "b"], "1"]) == "b"
    with pytest.raises(Unresolved):
        OPERATIONS["at"]([["a", "b"], "01"])
