"""Patterns mean the same as in Python's `re`, as far as they are supported, and every search is bounded."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress

from hypothesis import assume, given
from hypothesis import strategies as st

from fuzz.inputs import share
from handrail.source.patterns import PatternError, TooMuchWork, check_pattern, contains_match

ATOMS = st.sampled_from(
    [*"abAB_1 -\n", "é", ".", "^", "$", "\\b", "\\B", "\\A", "\\Z", "\\d", "\\W", "\\s", "[ab]", "[^a\\n]", "[a-cX-Z]",
     "[]b]", "[^\\w]", "\\n", "\\.", "\\x41", "{", "a{", "{x}"]
)  # fmt: skip
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{,2}", "{1,3}", "{1,}?"])
TEXTS = st.text(alphabet="abcABé_1 -\nX.{x}", max_size=12)


def patterns() -> st.SearchStrategy[str]:
    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = st.builds("{}{}){}".format, st.sampled_from(["(", "(?:", "(?i:", "(?s-i:"]), inner, REPEATS)
        return st.one_of(group, st.builds("{}|{}".format, inner, inner), st.builds("{}{}".format, inner, inner), inner)

    return st.builds(
        "{}{}".format,
        st.sampled_from(["", "", "(?i)", "(?m)", "(?is)"]),
        st.recursive(st.builds("{}{}".format, ATOMS, REPEATS), grown, max_leaves=8),
    )


@share("patterns: as in python")
@given(patterns(), TEXTS)
def test_a_pattern_finds_what_python_finds(pattern: str, text: str) -> None:
    assume("\\B" not in pattern or text)  # older versions of Python say that `\B` is not in an empty text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = re.search(pattern, text) is not None
        except re.error:
            assume(False)
    if (wrong := check_pattern(pattern)) is not None:
        assert "place and cannot be repeated" in wrong.message or "flags" in wrong.message, wrong.message
        return
    assert contains_match(pattern, text) is expected


@share("patterns: any text")
@given(st.text(alphabet="ab()[]{}|*+?\\^$.,-1<>=!P:#i0", max_size=30), TEXTS)
def test_any_text_is_a_pattern_or_a_problem_with_its_place(pattern: str, text: str) -> None:
    wrong = check_pattern(pattern)
    if wrong is not None:
        assert wrong.message
        assert 0 <= wrong.at <= len(pattern)
    with suppress(PatternError, TooMuchWork):
        contains_match(pattern, text)
