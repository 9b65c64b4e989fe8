"""Text of agents and programs on a screen: nothing of it controls the screen, and nothing is hidden."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.source.output_text import MAX_LINE_LENGTH, clean, clean_line

ESCAPES = {
    "a colour": "\x1b[1;31mred\x1b[0m",
    "the cursor": "\x1b[2J\x1b[Hred",
    "a title": "\x1b]0;owned\x07red",
    "a link": "\x1b]8;;http://evil.example\x1b\\red\x1b]8;;\x1b\\",
    "the clipboard": "\x1b]52;c;cm0gLXJm\x07red",
    "a device string": "\x1bPq#0;2;0;0;0\x1b\\red",
    "an application command": "\x1b_Gi=1;AAAA\x1b\\red",
    "one byte for the beginning": "\x9b31mred\x9d0;owned\x9c",
    "a character set": "\x1b(0red\x1b(B",
    "a reset": "\x1bcred",
}


@pytest.mark.parametrize("text", ESCAPES.values(), ids=ESCAPES)
def test_whole_escape_sequences_are_removed(text: str) -> None:
    assert clean(text) == "red"


def test_an_escape_sequence_without_an_end_is_shown() -> None:
    assert clean("\x1b]0;title") == "␛]0;title"
    assert clean("a\x1b") == "a␛"


def test_many_beginnings_without_an_end_take_no_longer_than_other_text() -> None:
    """If each beginning were looked at up to the end of the text, this would take many minutes."""
    for text in ("\x90" * 200_000, "\x1bX" + "\x9d" * 200_000, "\x1b]" * 200_000):
        assert "\x1b" not in clean(text)


def test_of_an_overwritten_line_the_end_is_kept() -> None:
    assert clean("10 %\r50 %\r100 %\nnext\r\n") == "100 %\nnext\n"


@pytest.mark.parametrize("code", [0x202E, 0x2066, 0x200B, 0xFEFF, 0xE0041, 0x200F, 0x00AD])
def test_what_is_not_seen_is_named(code: int) -> None:
    assert clean(f"a{chr(code)}b") == f"a⟨U+{code:04X}⟩b"


def test_an_emoji_of_several_parts_stays() -> None:
    assert clean("👩‍💻 done") == "👩‍💻 done"
    assert clean("a\u200db") == "a⟨U+200D⟩b"


def test_a_long_line_is_cut_and_the_rest_is_counted() -> None:
    assert clean_line("x" * (MAX_LINE_LENGTH + 7)) == "x" * MAX_LINE_LENGTH + " … (7 more characters)"


@given(st.text(alphabet=st.characters(), max_size=80))
def test_nothing_that_is_left_controls_a_screen(text: str) -> None:
    for line in clean(text).split("\n"):
        for at, char in enumerate(line):
            assert unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"), (line, at)
            assert not 0x202A <= ord(char) <= 0x202E


@given(st.text(alphabet=st.sampled_from("ab\n\r\x1b[]0;m\x07\\\u202e\u200d"), max_size=40))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
