"""The card of a session: all that a hook needs, in one small file beside the journal.

The card is derived from the journal and stores how far it has read it. A card that does not cover the whole journal,
or whose checksum is wrong, is not used. Standard library only: hooks import this.
"""

from __future__ import annotations

import os

from handrail.state.files import read_regular
from handrail.state.lines import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.contracts.messages import Card

CARD = "card"
JOURNAL = "journal"
ABOUT = "about"
FORMAT = 1


def read(folder: str) -> Card | None:
    """The card as it was written; None if there is no card or its checksum is wrong."""
    try:
        data = read_regular(os.path.join(folder, CARD))
    except OSError:
        return None
    card: Card | None = decode(data[:-1]) if data.endswith(b"\n") else None  # type: ignore[assignment]  # checksummed
    return card if card is not None and card.get("format") == FORMAT and _has_gate(card) else None


def _has_gate(card: Card) -> bool:
    """True if the card of an active workflow has its gate. Without it, every call would be allowed."""
    state: object = card.get("state")
    gate: object = card.get("gate")
    if not isinstance(state, dict) or state.get("status") != "active":
        return isinstance(state, dict) and gate is None
    return isinstance(gate, dict) and {"deny", "allow", "template", "values"} <= gate.keys()


def read_fresh(folder: str) -> Card | None:
    """The card if it covers the whole journal, else None."""
    card = read(folder)
    return card if card is not None and card.get("end") == journal_size(folder) else None


def journal_size(folder: str) -> int | None:
    """The size of the journal in bytes; None if there is no journal, -1 if its size cannot be read."""
    try:
        return os.stat(os.path.join(folder, JOURNAL)).st_size
    except FileNotFoundError:
        return None
    except OSError:
        return -1


def write(folder: str, card: Card) -> None:
    """Write the card. If that fails, remove it: hooks then read the journal, which is slower."""
    from handrail.errors import StateError
    from handrail.state.files import remove, replace

    path = os.path.join(folder, CARD)
    try:
        replace(path, encode(card), durable=False)  # type: ignore[arg-type]  # a card is a dictionary
    except StateError:
        remove(path)
