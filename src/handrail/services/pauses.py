"""How long to wait before a request is sent again: what the server asks for, else a growing pause. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

FIRST_PAUSE = 1.0
_WINDOWS = ("ratelimit", "x-ratelimit")
"""How the headers begin that say how many requests are left, and when there are more."""


def pause(attempt: int, headers: Mapping[str, str], now: float, asked: float | None = None) -> float:
    """The seconds until the next attempt. `asked` is what the answer itself asks for, if it does.

    `Retry-After` has seconds or a date. GitLab sends the time of its next window in `RateLimit-Reset`, GitHub in
    `X-RateLimit-Reset`.
    """
    if asked is None:
        asked = _after(headers.get("retry-after", ""), now)
    for mark in _WINDOWS:
        if asked is None and _is_spent(headers, mark):
            reset = _number(headers.get(f"{mark}-reset", ""))
            asked = None if reset is None else reset - now
    return FIRST_PAUSE * 2.0**attempt if asked is None else max(0.0, asked)


def is_limited(status: int, headers: Mapping[str, str], words: object) -> bool:
    """True if a service refuses a request because there were too many. GitHub answers with 403 then, or with 429."""
    if status != 403:
        return status == 429
    is_told = isinstance(words, str) and "rate limit" in words.lower()
    return is_told or "retry-after" in headers or any(_is_spent(headers, mark) for mark in _WINDOWS)


def _is_spent(headers: Mapping[str, str], mark: str) -> bool:
    return headers.get(f"{mark}-remaining", "").strip() == "0"


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
