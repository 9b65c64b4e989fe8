"""The card of a session: all that a hook needs, in one small file beside the journal.

The journal is the truth. A card says how far it has read the journal; one that is behind, or that does not
check, is not used. Standard library only: hooks read this.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.state.files import replace
from handrail.state.journal import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CARD = "card"
JOURNAL = "journal"
FORMAT = 1


def read(folder: str) -> dict[str, Any] | None:
    """The card as it was written, or nothing when there is none that checks."""
    try:
        with open(os.path.join(folder, CARD), "rb") as file:
            data = file.read()
    except OSError:
        return None
    card = decode(data[:-1]) if data.endswith(b"\n") else None
    return card if card is not None and card.get("format") == FORMAT else None


def read_fresh(folder: str) -> dict[str, Any] | None:
    """The card if it tells all that the journal does."""
    card = read(folder)
    return card if card is not None and card.get("end") == journal_size(folder) else None


def journal_size(folder: str) -> int | None:
    """How long the journal is; nothing where there is none."""
    try:
        return os.stat(os.path.join(folder, JOURNAL)).st_size
    except FileNotFoundError:
        return None
    except OSError:
        return -1


def write(folder: str, card: dict[str, Any]) -> None:
    """Put the card down. A card that cannot be written is only slower: the journal has everything."""
    path = os.path.join(folder, CARD)
    try:
        replace(path, encode(card), durable=False)
    except StateError:
        try:
            os.unlink(path)
        except OSError:
            return
