"""The signs of statuses."""

from __future__ import annotations

from handrail.view.text.columns import ALL_SIGNS, OF_STATUS, WORDS, sign_of, word_of


def test_every_sign_can_be_told_from_the_others_in_ascii_too() -> None:
    assert len({sign.char for sign in ALL_SIGNS}) == len(ALL_SIGNS)
    assert len({sign.ascii for sign in ALL_SIGNS}) == len(ALL_SIGNS)
    assert all(sign.ascii.isascii() and sign.word for sign in ALL_SIGNS)


def test_no_sign_means_folded() -> None:
    assert not {"▸", "▾"} & {sign.char for sign in ALL_SIGNS}


def test_a_status_that_is_not_in_the_table_is_a_notice() -> None:
    assert sign_of("running") == "●"
    assert sign_of("of a later version") == "!"


def test_each_status_has_one_word_which_is_the_one_of_the_data_with_few_exceptions() -> None:
    assert {status for status in OF_STATUS if word_of(status) != status} == set(WORDS) == {"damaged", "current"}
    assert word_of("of a later version") == "unknown"
