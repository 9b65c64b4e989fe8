"""The line of news: shown for some seconds, on the screen on which it was told, and only while it is true. Pure."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from handrail.topics.rows import Row

LASTS = 10.0
"""In seconds, of the clock of the project."""
Need = tuple[str, object]
"""What needs a person: the id of a run or session, and since when its question is open."""


def need_of(row: Row) -> Need:
    return str(row["id"]), (row.get("need") or {}).get("since")


class News(NamedTuple):
    """`about`: the news are true as long as this needs a person. None if they do not depend on that."""

    text: str
    at: float
    screen: object
    about: Need | None = None

    def is_shown(self, screen: object, now: float, needs: Set[Need]) -> bool:
        is_true = self.about is None or self.about in needs
        return screen is self.screen and now < self.at + LASTS and is_true
