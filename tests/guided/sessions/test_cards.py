"""A card only saves time: if it is missing, damaged, outdated or from another session, the result is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from depth import Depth
from guided.sessions.stories import Story, open_session, start, tell
from handrail.base.journal import JournalDamaged
from handrail.base.jsonlite import decode_line, encode_line
from handrail.guided.sessions.hook_files import read_fresh_card
from handrail.guided.sessions.machine import Loop, Next, State, state_from_json
from handrail.guided.sessions.store import Session


def state_for_hooks(session: Session) -> State:
    """The state that a hook sees: that of the card if it is fresh, else that of a new card."""
    card = read_fresh_card(session.folder) or session.card()
    assert card is not None
    return state_from_json(card["state"])


@pytest.fixture
def right(story: Story) -> Callable[[bytes | None], bool]:
    """A function that checks that commands and hooks see the right state with these bytes as card."""

    def is_right(card: bytes | None) -> bool:
        session = story.lay(story.data, card)
        expected = story.states[-1]
        return session.read()[:2] == (expected, 8) and state_for_hooks(session) == expected

    return is_right


Right = Callable[[bytes | None], bool]
BITS = (0x01, 0x20, 0x80)


def test_a_fresh_card_contains_the_state(story: Story, right: Right) -> None:
    assert right(story.cards[-1])


def test_the_state_is_right_without_a_card(right: Right) -> None:
    assert right(None)


@pytest.mark.explores
@pytest.mark.parametrize("bits", BITS, ids=hex)
def test_a_card_with_a_changed_byte_is_ignored(story: Story, right: Right, bits: int, depth: Depth) -> None:
    """Each bit is tried at other bytes; together they cover all bytes."""
    card = story.cards[-1]
    for at in depth.places(range(len(card)), every=len(BITS), first=BITS.index(bits)):
        assert right(card[:at] + bytes([card[at] ^ bits]) + card[at + 1 :]), at


@pytest.mark.explores
def test_a_card_cut_at_any_byte_is_ignored(story: Story, right: Right, depth: Depth) -> None:
    for size in depth.places(range(len(story.cards[-1])), every=3):
        assert right(story.cards[-1][:size]), size


@pytest.mark.explores
def test_a_half_overwritten_card_is_ignored(story: Story, right: Right, depth: Depth) -> None:
    old, new = story.cards[-2:]
    for size in depth.places(range(len(new)), every=3):
        assert right(new[:size] + old[size:]), size


@pytest.mark.parametrize("records", range(1, 8))
def test_an_outdated_card_is_brought_up_to_date(story: Story, right: Right, records: int) -> None:
    assert right(story.cards[records])


@pytest.mark.parametrize("records", range(1, 9))
def test_a_card_of_another_session_is_ignored(story: Story, right: Right, tmp_path: Path, records: int) -> None:
    """The other session started at the same time with a task of the same length, and did something else."""
    commands = (Loop(), Next("x" * 300), Next("on"), Loop(), Next("y" * 700), Loop(), Loop())
    other = tell(tmp_path / "other", "toil", commands)
    card = decode_line(other.cards[records][:-1])
    assert card is not None
    if card["end"] <= len(story.data):
        assert right(other.cards[records])
        return
    with pytest.raises(JournalDamaged, match="has lost its end"):
        story.lay(story.data, other.cards[records]).read()


@pytest.mark.parametrize(
    "place", [{"last": -1}, {"last": 10**9}, {"last": "0"}, {"number": None}, {"state": 5}], ids=str
)
def test_a_card_with_a_valid_checksum_and_invalid_content_is_ignored(story: Story, place: dict[str, object]) -> None:
    card = decode_line(story.cards[-1][:-1])
    assert card is not None
    session = story.lay(story.data, encode_line({**card, **place}))
    assert session.read()[:2] == (story.states[-1], 8)


def test_a_command_writes_a_fresh_card(story: Story) -> None:
    session = story.lay(story.data, None)
    after = session.do(Loop()).after
    (story.folder / "journal").rename(story.folder / "away")
    (story.folder / "journal").write_bytes(bytes((story.folder / "away").stat().st_size))
    assert state_for_hooks(session) == after


def test_reading_starts_at_the_card_and_not_at_the_beginning(story: Story) -> None:
    """Otherwise a long session would get slower with every command."""
    session = story.lay(bytes(story.boundary(7)) + story.lines[7], story.cards[-1])
    assert session.read()[:2] == (story.states[-1], 8)


def test_a_new_session_has_no_card_and_no_state(tmp_path: Path) -> None:
    session = open_session(tmp_path / "new")
    assert session.read()[:2] == (State(), 0)
    assert read_fresh_card(session.folder) is None
    assert session.card() is None
    start(session)
    assert state_for_hooks(session).status == "active"
