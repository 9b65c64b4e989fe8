"""A crash can leave any bytes after the last complete record: acknowledged records stay, the rest is moved away."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from guided.sessions.stories import Story, go_on
from handrail.base.journal import JournalDamaged, read
from handrail.base.jsonlite import encode_line

NEXT = encode_line({"n": 8, "t": 1.5, "events": [{"type": "Looped", "origin": 1, "to": 0}]})


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def test_the_story_has_one_record_per_command(story: Story) -> None:
    assert len(story.lines) == len(story.states) - 1 == 8
    assert all(line.endswith(b"\n") for line in story.lines)


def test_a_journal_that_is_shorter_than_its_card_is_damaged(story: Story) -> None:
    """A card is written after the journal is synced, so no crash leaves the card ahead of the journal."""
    for size in range(len(story.data)):
        session = story.lay(story.data[:size], story.cards[-1])
        with pytest.raises(JournalDamaged, match="has lost its end"):
            session.read()


@pytest.mark.whole
@pytest.mark.parametrize("with_card", [False, True], ids=["card lost", "card of the last whole record"])
def test_a_journal_cut_at_any_byte_keeps_its_complete_records_and_continues(story: Story, with_card: bool) -> None:
    for size in range(len(story.data) + 1):
        whole = story.whole_records(size)
        session = story.lay(story.data[:size], story.cards[whole] if with_card and whole else None)
        assert session.read()[:2] == (story.states[whole], whole), size
        after = go_on(session)
        assert story.journal().startswith(story.data[: story.boundary(whole)]), size
        assert [record["n"] for record in session.records()] == list(range(whole + 1)), size
        assert session.read()[:2] == (after, whole + 1), size
        torn = story.data[story.boundary(whole) : size]
        assert story.torn() == (torn + b"\n" if torn else None), size


NONE = slice(0)
TAILS = {  # the bytes, and the records of the journal that are repeated after them
    "random bytes": (noise(300), NONE),
    "more random bytes than are read at once": (noise(200_000), NONE),
    "half a record": (NEXT[: len(NEXT) // 2], NONE),
    "a record but for its line end": (NEXT[:-1], NONE),
    "NULs": (bytes(4_096), NONE),
    "NULs and a line end": (bytes(512) + b"\n", NONE),
    "a repeated old record": (b"", slice(2, 3)),
    "the last record repeated": (b"", slice(7, 8)),
    "every record repeated": (b"", slice(8)),
    "empty lines": (b"\n\n \n\r\n\t\n", NONE),
    "a line that does not check": (b"00000000" + NEXT[8:], NONE),
    "a line that checks and is no object": (b"%08x []\n" % zlib.crc32(b"[]"), NONE),
    "half a record and an old one": (NEXT[:30] + b"\n", slice(1)),
    "half a record and an old one in one line": (NEXT[:30], slice(1)),
}


@pytest.mark.parametrize("kind", TAILS)
@pytest.mark.parametrize("with_card", [False, True], ids=["without card", "with card"])
def test_only_garbage_at_the_end_is_moved_to_the_torn_file(story: Story, kind: str, with_card: bool) -> None:
    noisy, repeated = TAILS[kind]
    tail = noisy + b"".join(story.lines[repeated])
    session = story.lay(story.data + tail, story.cards[-1] if with_card else None)
    assert session.read()[:2] == (story.states[-1], 8)
    after = go_on(session)
    kept = tail.rstrip(b"\0")  # allocated but unwritten space is not kept
    assert story.torn() == (kept + b"\n" if kept else None)
    assert story.journal()[: len(story.data)] == story.data
    assert session.records()[8]["n"] == 8
    assert len(session.records()) == 9
    assert session.read()[:2] == (after, 9)


def test_reading_does_not_change_a_torn_tail(story: Story) -> None:
    session = story.lay(story.data + NEXT[:20], None)
    session.read()
    session.records()
    assert story.journal() == story.data + NEXT[:20]
    assert story.torn() is None


def test_the_torn_tails_of_two_crashes_are_both_kept(story: Story) -> None:
    session = story.lay(story.data + b"first", None)
    go_on(session)
    with open(session.journal, "ab") as file:
        file.write(b"second")
    go_on(session)
    assert story.torn() == b"first\nsecond\n"
    assert len(session.records()) == 10


BEGUN = [b"", b"0123456", b"01234567 {", b"\0" * 40, b"01\0\0"]
OTHER = [b'{"a":' * 3000, b"{}", b"null", b"\0\0garbage", b"01234567{"]


@pytest.mark.parametrize("text", [*BEGUN, *OTHER])
def test_a_journal_in_which_no_record_was_begun_is_damaged(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "journal"
    path.write_bytes(text)
    if text in BEGUN:
        assert read(str(path)).records == []
    else:
        with pytest.raises(JournalDamaged):
            read(str(path))
