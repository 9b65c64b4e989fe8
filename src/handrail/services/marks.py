"""Marks in texts on a forge: a hidden line by which a step finds again what it has written. Pure."""

from __future__ import annotations

import hashlib
import re

_MARK = re.compile(r"<!-- handrail:[0-9a-f]{24} -->")


def mark(key: str) -> str:
    """The mark of a piece of work. It shows nothing of the key."""
    return f"<!-- handrail:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:24]} -->"


def with_mark(text: str, own: str, most: int) -> str:
    """A text of at most `most` characters that ends with the mark. A mark inside of the text is removed."""
    clean = _MARK.sub("", text.encode("utf-8", "replace").decode()).strip()
    room = most - len(own) - 2
    if len(clean) > room:
        clean = f"{clean[: room - 1].rstrip()}…"
    return f"{clean}\n\n{own}" if clean else own


def is_marked(text: str, own: str | None = None) -> bool:
    """True if a text has this mark, or any mark."""
    return _MARK.search(text) is not None if own is None else own in text
