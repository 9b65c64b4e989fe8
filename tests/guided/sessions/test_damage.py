"""Damage before the end is not the result of a crash: reading it raises an error, and the journal is not cut there.

The last record is the exception. If its checksum is wrong, it may be an incomplete write, so it counts as torn, and its
bytes are kept.
"""

from __future__ import annotations

import pytest

from guided.sessions.stories import Story, go_on
from handrail.base.journal import JournalDamaged
from handrail.base.jsonlite import encode_line
from handrail.guided.sessions.machine import Loop

FLIPS = (0x01, 0x20, 0x80)


def flipped(data: bytes, at: int, bits: int) -> bytes:
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def assert_refused(story: Story, damaged: bytes, where: object) -> None:
    """Reading and commands both raise an error, and neither changes the journal."""
    session = story.lay(damaged, None)
    for act in (session.read, lambda: session.do(Loop())):
        try:
            act()
        except JournalDamaged:
            continue
        pytest.fail(f"believed: {where}")
    assert story.journal() == damaged, where
    assert story.torn() is None, where


@pytest.mark.whole
@pytest.mark.parametrize("bits", FLIPS, ids=hex)
def test_a_changed_byte_before_the_last_record_is_damage(story: Story, bits: int) -> None:
    for at in range(story.boundary(7)):
        assert_refused(story, flipped(story.data, at, bits), at)


@pytest.mark.parametrize("record", range(7))
def test_a_missing_record_in_the_middle_is_damage(story: Story, record: int) -> None:
    assert_refused(story, b"".join(story.lines[:record] + story.lines[record + 1 :]), record)


@pytest.mark.parametrize("record", range(6))
def test_reordered_records_are_damage(story: Story, record: int) -> None:
    lines = list(story.lines)
    lines[record], lines[record + 1] = lines[record + 1], lines[record]
    assert_refused(story, b"".join(lines), record)


@pytest.mark.parametrize("record", range(7))
def test_a_missing_newline_between_two_records_is_damage(story: Story, record: int) -> None:
    end = story.boundary(record + 1)
    assert_refused(story, story.data[: end - 1] + story.data[end:], record)


def test_noise_between_two_records_is_damage(story: Story) -> None:
    middle = story.boundary(7)
    assert_refused(story, story.data[:middle] + bytes(512) + story.data[middle:], middle)


def test_a_last_record_with_a_skipped_number_is_damage(story: Story) -> None:
    assert_refused(story, story.data + encode_line({"n": 9, "t": 1.0, "events": []}), "9 after 7")


@pytest.mark.parametrize("bits", FLIPS, ids=hex)
def test_a_changed_byte_in_the_last_record_makes_it_torn(story: Story, bits: int) -> None:
    for at in range(story.boundary(7), len(story.data)):
        session = story.lay(flipped(story.data, at, bits), story.cards[-1])
        assert session.read()[:2] == (story.states[7], 7), at


def test_the_bytes_of_a_changed_last_record_are_kept(story: Story) -> None:
    damaged = flipped(story.data, len(story.data) - 20, 0x01)
    go_on(story.lay(damaged, None))
    assert story.torn() == damaged[story.boundary(7) :] + b"\n"


def test_a_session_with_a_fresh_card_continues_after_older_damage_and_loses_no_byte(story: Story) -> None:
    damaged = flipped(story.data, 40, 0x01)
    session = story.lay(damaged, story.cards[-1])
    assert session.read()[:2] == (story.states[-1], 8)
    go_on(session)
    assert story.journal().startswith(damaged)


def test_reading_all_records_raises_an_error_for_damage(story: Story) -> None:
    session = story.lay(flipped(story.data, 40, 0x01), story.cards[-1])
    with pytest.raises(JournalDamaged) as caught:
        session.records()
    assert caught.value.message == f"the journal `{session.journal}` is damaged at record 0"
    assert caught.value.hint is not None
