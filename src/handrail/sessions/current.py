"""The card of a session as it is now. Most often that is one small file; only a card that is behind costs more.

Standard library only: hooks ask this.
"""

from __future__ import annotations

from handrail.sessions import card as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.contracts.messages import CardBody
    from handrail.sessions.links import SessionRef


def current_card(ref: SessionRef) -> CardBody | None:
    """What the card of a session says now; it is rebuilt if it is behind its journal. None: there is no session."""
    card = cards.read_fresh(ref.folder)
    if card is not None:
        return card
    if cards.journal_size(ref.folder) is None and cards.read(ref.folder) is None:
        if ref.link is not None:
            raise ValueError("the files of its session are missing")
        return None
    from handrail.sessions.store import Session

    return Session(ref, _no_clock).card()


def _no_clock() -> float:
    raise AssertionError("reading a card records nothing")
