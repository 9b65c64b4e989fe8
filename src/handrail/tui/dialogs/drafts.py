"""What was typed into a question that nobody has answered yet. An app keeps it until it ends, by the question's id."""

from __future__ import annotations

from typing import Any

from textual.app import App

_KEPT = "handrail_drafts"
Draft = dict[str, Any]


def drafts_of(app: App[Any]) -> dict[str, Draft]:
    """The drafts of an app: a question may be opened from several screens."""
    kept: dict[str, Draft] = vars(app).setdefault(_KEPT, {})
    return kept
