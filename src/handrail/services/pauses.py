"""How long to wait before a request is sent again: what the server asks for, else a growing pause. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

FIRST_PAUSE = 1.0


def pause(attempt: int, headers: Mapping[str, str], now: float, asked: float | None = None) -> float:
    """The seconds until the next attempt. `asked` is what the answer itself asks for, if it does.

    `Retry-After` has seconds or a date. GitLab sends the time of its next window in `RateLimit-Reset`.
    """
    if asked is None:
        asked = _after(headers.get("retry-after", ""), now)
    if asked is None and headers.get("ratelimit-remaining", "").strip() == "0":
        reset = _number(headers.get("ratelimit-reset", ""))
        asked = None if reset is None else reset - now
    return FIRST_PAUSE * 2.0**attempt if asked is None else max(0.0, asked)


def _after(text: str, now: float) -> float | None:
    seconds = _number(text)
    if seconds is not None or not text.strip():
        return seconds
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    return float(text) if text.strip().isascii() and text.strip().isdigit() else None
