"""Whether a question is still the one that a person opened. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BY = {"cli": "at the command line", "tui": "in the terminal", "web": "in the page", "file": "by a file"}
_VERDICTS = {"approved": "approved", "rejected": "rejected"}
Need = Mapping[str, Any]


def answered_words(need: Need, at: str) -> str:
    """Who answered, when and how. `at` is the time as text."""
    told = need.get("answered") or {}
    verdict = _VERDICTS.get(str(told.get("verdict")), "answered")
    where = _BY.get(str(told.get("by")), "")
    return f"This was {verdict} at {at}{f' {where}' if where else ''}. Nothing left to do."


def changed_words(opened: Need, now: Need | None) -> str | None:
    """What has changed since a question was opened, so that its answer would not count; None if nothing has."""
    if now is None:
        return "This question was withdrawn. Nothing left to do."
    if now.get("digest") != opened.get("digest"):
        return "The question has changed since you opened it. Close this and open it again."
    before, after = opened.get("action") or {}, now.get("action") or {}
    if before.get("tree") != after.get("tree"):
        return "The files have changed since you opened this. Close this and open it again."
    return None if before == after else "What is asked has changed. Close this and open it again."
