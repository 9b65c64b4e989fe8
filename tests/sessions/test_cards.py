"""A card is a shortcut: missing, damaged, old or somebody else's, it never changes what is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from depth import Depth
from handrail.sessions import card as cards
from handrail.sessions.machine import Loop, Next, State, state_from_json
from handrail.sessions.store import Session
from handrail.state.journal import JournalDamaged, decode, encode
from sessions.stories import Story, open_session, start, tell


def state_for_hooks(session: Session) -> State:
    """As a hook sees it: the card if it is fresh, else what a fresh one would say."""
    card = cards.read_fresh(session.folder) or session.card()
    assert card is not None
    return state_from_json(card["state"])


@pytest.fixture
def right(story: Story) -> Callable[[bytes | None], bool]:
    """Is the state right with these bytes for a card, for commands and for hooks?"""

    def is_right(card: bytes | None) -> bool:
        session = story.lay(story.data, card)
        expected = story.states[-1]
        return session.read()[:2] == (expected, 8) and state_for_hooks(session) == expected

    return is_right


Right = Callable[[bytes | None], bool]
BITS = (0x01, 0x20, 0x80)


def test_a_fresh_card_tells_the_state(story: Story, right: Right) -> None:
    assert right(story.cards[-1])


def test_a_missing_card_is_done_without(right: Right) -> None:
    assert right(None)


@pytest.mark.explores
@pytest.mark.parametrize("bits", BITS, ids=hex)
def test_a_card_with_any_byte_changed_is_done_without(story: Story, right: Right, bits: int, depth: Depth) -> None:
    """Each bit has bytes of its own; together they are all bytes."""
    card = story.cards[-1]
    for at in depth.places(range(len(card)), every=len(BITS), first=BITS.index(bits)):
        assert right(card[:at] + bytes([card[at] ^ bits]) + card[at + 1 :]), at


@pytest.mark.explores
def test_a_card_cut_at_any_byte_is_done_without(story: Story, right: Right, depth: Depth) -> None:
    for size in depth.places(range(len(story.cards[-1])), every=3):
        assert right(story.cards[-1][:size]), size


@pytest.mark.parametrize("records", range(1, 8))
def test_a_card_that_is_behind_is_brought_up_to_date(story: Story, right: Right, records: int) -> None:
    assert right(story.cards[records])


@pytest.mark.parametrize("records", range(1, 9))
def test_a_card_of_a_session_that_went_another_way_is_not_believed(
    story: Story, right: Right, tmp_path: Path, records: int
) -> None:
    """The other session began at the same moment, with a task as long, and did something else."""
    commands = (Loop(), Next("x" * 300), Next("on"), Loop(), Next("y" * 700), Loop(), Loop())
    other = tell(tmp_path / "other", "toil", commands)
    card = decode(other.cards[records][:-1])
    assert card is not None
    if card["end"] <= len(story.data):
        assert right(other.cards[records])
        return
    with pytest.raises(JournalDamaged, match="has lost its end"):
        story.lay(story.data, other.cards[records]).read()


@pytest.mark.parametrize(
    "place", [{"last": -1}, {"last": 10**9}, {"last": "0"}, {"number": None}, {"state": 5}], ids=str
)
def test_a_card_that_checks_and_makes_no_sense_is_done_without(story: Story, place: dict[str, object]) -> None:
    card = decode(story.cards[-1][:-1])
    assert card is not None
    session = story.lay(story.data, encode({**card, **place}))
    assert session.read()[:2] == (story.states[-1], 8)


def test_a_command_lays_a_fresh_card(story: Story) -> None:
    session = story.lay(story.data, None)
    after = session.do(Loop()).after
    (story.folder / "journal").rename(story.folder / "away")
    (story.folder / "journal").write_bytes(bytes((story.folder / "away").stat().st_size))
    assert state_for_hooks(session) == after


def test_reading_goes_on_from_the_card_and_not_from_the_beginning(story: Story) -> None:
    """Else a long session would get slower with every command."""
    session = story.lay(bytes(story.boundary(7)) + story.lines[7], story.cards[-1])
    assert session.read()[:2] == (story.states[-1], 8)


def test_a_new_session_has_no_card_and_no_state(tmp_path: Path) -> None:
    session = open_session(tmp_path / "new")
    assert session.read()[:2] == (State(), 0)
    assert cards.read_fresh(session.folder) is None
    assert session.card() is None
    start(session)
    assert state_for_hooks(session).status == "active"
