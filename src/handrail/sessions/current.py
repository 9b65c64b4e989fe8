"""The up-to-date card of a session. Usually this reads one small file; an outdated card is rebuilt from the journal.

Standard library only: hooks import this.
"""

from __future__ import annotations

import os

from handrail.sessions import card as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.contracts.messages import CardBody
    from handrail.sessions.links import SessionRef


def current_card(ref: SessionRef) -> CardBody | None:
    """The card of a session, rebuilt if it is older than the journal; None if there is no session.

    Raises `ValueError` or `StateError` if there is a session, or a link to one, but its state cannot be read.
    """
    card: CardBody | None = cards.read_fresh(ref.folder)
    if card is not None:
        return card
    if cards.journal_size(ref.folder) is None and cards.read(ref.folder) is None:
        if ref.link is not None or os.path.lexists(os.path.join(ref.folder, cards.ABOUT)):
            raise ValueError("the files of its session are missing")
        return None
    from handrail.sessions.store import Session

    card = Session(ref, _no_clock).card()
    if card is None:
        raise ValueError("the journal of its session has no valid record")
    return card


def _no_clock() -> float:
    raise AssertionError("reading a card records nothing")
