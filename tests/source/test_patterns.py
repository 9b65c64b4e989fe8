"""Patterns: what is supported, what is refused with which words, and the limits of a search."""

import random

import pytest

from handrail.source.patterns import MAX_TEXT, TooMuchWork, check_pattern, contains_match


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("(?=a)", "look-ahead `(?=` is not supported"),
        ("(?!a)", "look-ahead `(?!` is not supported"),
        ("(?<=a)b", "look-behind `(?<=` is not supported"),
        ("(?<!a)b", "look-behind `(?<!` is not supported"),
        (r"(a)\1", r"the back-reference `\1` is not supported"),
        ("(?P<x>a)(?P=x)", "the back-reference `(?P=` is not supported"),
        ("(?>a)", "the atomic group `(?>` is not supported"),
        ("a*+", "possessive repeats are not supported"),
        ("(a", "`(` is not closed"),
        ("a)", "`)` without `(`"),
        ("[a", "`[` is not closed"),
        ("[z-a]", "this range in `[...]` is not in order"),
        ("*a", "there is nothing to repeat before `*`"),
        ("a**", "a repeat cannot be repeated; put it in a group `(...)`"),
        ("a{3,2}", "the first number of a repeat is greater than the second"),
        ("a{1001}", "a repeat may count to 1000"),
        ("a{99999999999999999999}", "a repeat may count to 1000"),
        ("(a{1000}){1000}", "with its repeats written out, it has more than 10000 parts"),
        ("(" * 60 + "a" + ")" * 60, "groups are nested deeper than 50"),
        ("a" * 5001, "it has 5001 characters, and 5000 are allowed"),
        ("a\\", "the pattern ends with a single `\\`"),
        (r"\p{L}", r"the escape `\p` is not supported"),
        (r"\xZZ", r"`\xZZ` is no character; write 2 hexadecimal digits"),
        ("(?x)a", "the flag `x` is not supported; supported flags: i, m, s"),
    ],
)
def test_a_pattern_that_cannot_be_searched_for_is_refused_with_the_reason(pattern: str, told: str) -> None:
    wrong = check_pattern(pattern)
    assert wrong is not None
    assert wrong.message == told
    assert 0 <= wrong.at <= len(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(a|aa)+$", "(.*)*b$", "(a?){50}a{50}b", r"(\w+\s?)*!"])
def test_a_catastrophic_pattern_is_searched_in_linear_time(pattern: str) -> None:
    assert contains_match(pattern, "a" * 100_000 + "!") is (pattern == r"(\w+\s?)*!")


def test_a_search_with_too_many_states_is_given_up_after_a_fixed_amount_of_work() -> None:
    text = "".join(random.Random(1).choices("ab", k=60_000))
    with pytest.raises(TooMuchWork, match="too many ways to match"):
        contains_match("(a|b)*a(a|b){900}c", text)


def test_a_match_in_a_very_long_text_is_found_and_no_match_is_never_guessed() -> None:
    assert contains_match("a.c", "abc" + "x" * MAX_TEXT)
    with pytest.raises(TooMuchWork, match="a longer text is not searched"):
        contains_match("a.c$", "x" * (MAX_TEXT + 1))


def test_a_lone_surrogate_is_a_character_like_any_other() -> None:
    assert contains_match("a.b", "a\ud800b")
    assert not contains_match("[a-z]$", "a\ud800")
