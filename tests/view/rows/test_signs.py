"""The signs of statuses."""

from __future__ import annotations

from handrail.view.text.columns import ALL_SIGNS, sign_of


def test_every_sign_can_be_told_from_the_others_in_ascii_too() -> None:
    assert len({sign.char for sign in ALL_SIGNS}) == len(ALL_SIGNS)
    assert len({sign.ascii for sign in ALL_SIGNS}) == len(ALL_SIGNS)
    assert all(sign.ascii.isascii() and sign.word for sign in ALL_SIGNS)


def test_no_sign_means_folded() -> None:
    assert not {"▸", "▾"} & {sign.char for sign in ALL_SIGNS}


def test_a_status_that_is_not_in_the_table_is_a_notice() -> None:
    assert sign_of("running") == "●"
    assert sign_of("of a later version") == "!"
