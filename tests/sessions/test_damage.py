"""Damage before the end is no crash: it is refused, and nobody cuts the journal there.

The last record is the one exception. One that does not check cannot be told from one that was never finished, so
it counts as torn; its bytes are kept.
"""

from __future__ import annotations

import pytest

from handrail.sessions.machine import Loop
from handrail.state.journal import JournalDamaged, encode
from sessions.stories import Story, go_on

FLIPS = (0x01, 0x20, 0x80)


def flipped(data: bytes, at: int, bits: int) -> bytes:
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def assert_refused(story: Story, damaged: bytes, where: object) -> None:
    """Neither looking nor a command believes the journal, and neither changes it."""
    session = story.lay(damaged, None)
    for act in (session.read, lambda: session.do(Loop())):
        try:
            act()
        except JournalDamaged:
            continue
        pytest.fail(f"believed: {where}")
    assert story.journal() == damaged, where
    assert story.torn() is None, where


@pytest.mark.parametrize("bits", FLIPS, ids=hex)
def test_a_byte_that_changed_in_any_record_but_the_last_is_damage(story: Story, bits: int) -> None:
    for at in range(story.boundary(7)):
        assert_refused(story, flipped(story.data, at, bits), at)


@pytest.mark.parametrize("record", range(7))
def test_a_record_that_is_gone_from_the_middle_is_damage(story: Story, record: int) -> None:
    assert_refused(story, b"".join(story.lines[:record] + story.lines[record + 1 :]), record)


@pytest.mark.parametrize("record", range(6))
def test_records_in_another_order_are_damage(story: Story, record: int) -> None:
    lines = list(story.lines)
    lines[record], lines[record + 1] = lines[record + 1], lines[record]
    assert_refused(story, b"".join(lines), record)


@pytest.mark.parametrize("record", range(7))
def test_a_lost_line_end_between_two_records_is_damage(story: Story, record: int) -> None:
    end = story.boundary(record + 1)
    assert_refused(story, story.data[: end - 1] + story.data[end:], record)


def test_noise_between_two_records_is_damage(story: Story) -> None:
    middle = story.boundary(7)
    assert_refused(story, story.data[:middle] + bytes(512) + story.data[middle:], middle)


def test_a_record_from_further_on_at_the_end_is_damage(story: Story) -> None:
    assert_refused(story, story.data + encode({"n": 9, "t": 1.0, "events": []}), "9 after 7")


@pytest.mark.parametrize("bits", FLIPS, ids=hex)
def test_a_byte_that_changed_in_the_last_record_makes_it_a_torn_one(story: Story, bits: int) -> None:
    for at in range(story.boundary(7), len(story.data)):
        session = story.lay(flipped(story.data, at, bits), story.cards[-1])
        assert session.read()[:2] == (story.states[7], 7), at


def test_the_bytes_of_a_changed_last_record_are_kept(story: Story) -> None:
    damaged = flipped(story.data, len(story.data) - 20, 0x01)
    go_on(story.lay(damaged, None))
    assert story.torn() == damaged[story.boundary(7) :] + b"\n"


def test_a_session_whose_card_is_fresh_goes_on_over_older_damage_without_losing_a_byte(story: Story) -> None:
    damaged = flipped(story.data, 40, 0x01)
    session = story.lay(damaged, story.cards[-1])
    assert session.read()[:2] == (story.states[-1], 8)
    go_on(session)
    assert story.journal().startswith(damaged)


def test_damage_is_shown_to_whoever_asks_for_all_records(story: Story) -> None:
    session = story.lay(flipped(story.data, 40, 0x01), story.cards[-1])
    with pytest.raises(JournalDamaged) as caught:
        session.records()
    assert caught.value.message == f"the journal `{session.journal}` is damaged at record 0"
    assert caught.value.hint is not None
