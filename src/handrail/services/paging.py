"""Where the next page of a list is: by the header `X-Next-Page` or `Link`, else by the size of the page. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_NUMBER = re.compile(r"[0-9]{1,9}")
_LINK = re.compile(r'<([^<>]{1,4000})>\s*;[^,<]*?\brel="?next"?', re.IGNORECASE)


class Place(NamedTuple):
    """A page: a path or an address, and its query. An address from a header has its query in it."""

    path: str
    query: Mapping[str, str | int]


def following(place: Place, headers: Mapping[str, str], count: int, size: int) -> Place | None:
    """The page after this one, which has `count` of at most `size` items. None if it is the last one."""
    if count == 0:
        return None
    if "x-next-page" in headers:
        number = headers["x-next-page"].strip()
        return _numbered(place, int(number) if _NUMBER.fullmatch(number) else None) if number else None
    if "link" in headers:
        found = _LINK.search(headers["link"])
        return None if found is None else Place(found[1], {})
    return _numbered(place, None) if count >= size else None


def _numbered(place: Place, number: int | None) -> Place:
    return Place(place.path, {**place.query, "page": int(place.query["page"]) + 1 if number is None else number})
