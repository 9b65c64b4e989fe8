"""Compares `jsonlite` with the standard `json` module."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handrail
from fuzz.inputs import pieces, share
from handrail.base import jsonlite

SIGNS = (
    *'[]{},:"\\-+.0123456789eE',
    *("null", "true", "false", "NaN", "Infinity", "-Infinity", "nul", '"a"', '"a":', "\\u00e9", "\\ud83d", "\\ude00"),
    *("1e5", "1E400", "-0", "-0.0", "01", "1.", ".5", "[1,2]", '{"a":1}', " ", "\n", "\t", "\r", "\ufeff", "\x00"),
)
ANY_TEXT = st.text(st.characters()) | st.text(st.characters(categories=("Cs", "Lu")))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda below: st.lists(below, max_size=5) | st.dictionaries(ANY_TEXT, below, max_size=5),
    max_leaves=30,
)


def reject(name: str) -> float:
    raise ValueError(name)


def read_with_json(text: str) -> tuple[str, str]:
    """The result of the standard module. Constants such as NaN are rejected."""
    try:
        value = json.loads(text, parse_constant=reject)
    except ValueError:
        return "rejected", ""
    return "value", repr(value)


def read_with_jsonlite(text: str) -> tuple[str, str]:
    try:
        value = jsonlite.loads(text)
    except ValueError:
        return "rejected", ""
    return "value", repr(value)


@share("json: any text")
@given(pieces(*SIGNS, most=12) | VALUES.map(json.dumps) | st.text())
def test_any_text_is_read_like_the_standard_module(text: str) -> None:
    assert read_with_jsonlite(text) == read_with_json(text)


@share("json: values")
@given(VALUES)
def test_any_value_is_written_on_one_line_that_both_modules_read(value: Any) -> None:
    """Like in the standard module, two surrogates that form a pair are read as one character."""
    text = jsonlite.dumps(value)
    assert "\n" not in text
    for read in (json.loads(text), jsonlite.loads(text.encode().decode())):
        assert repr(read) == repr(json.loads(json.dumps(value)))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_constants_that_are_not_json_raise_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON value"):
        jsonlite.loads(text)


def test_a_lone_surrogate_is_escaped() -> None:
    assert json.loads(jsonlite.dumps(["\ud800", "\N{SNOWMAN}"]).encode()) == ["\ud800", "\N{SNOWMAN}"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_numbers_that_are_not_json_raise_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsonlite.dumps([value])


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_very_deep_nesting_raises_an_error(opening: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        jsonlite.loads(opening * 200_000)


@pytest.mark.parametrize("text", ["", "{", '{"a":', '"\\x"', "[1,", "nul"])
def test_invalid_json_raises_value_error_if_json_is_not_imported(text: str) -> None:
    """The accelerator tries to raise the error class of `json`, which hooks do not import."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from handrail.base import jsonlite\n"
        "try: jsonlite.loads(sys.argv[2])\nexcept ValueError: print('rejected', 'json' in sys.modules)"
    )
    source = str(Path(handrail.__file__).parent.parent)
    argv = [sys.executable, "-I", "-S", "-c", code, source, text]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout.startswith("rejected")


@share("json: values")
@given(VALUES | st.floats())
def test_spaced_json_equals_the_output_of_the_standard_module(value: Any) -> None:
    assert jsonlite.dumps_spaced(value) == json.dumps(value, ensure_ascii=False)
