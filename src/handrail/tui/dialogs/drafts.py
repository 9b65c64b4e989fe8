"""What was typed into a question that nobody has answered yet. An app keeps it until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.app import App

_KEPT = "handrail_drafts"
Draft = dict[str, Any]


def key_of(need: Mapping[str, Any]) -> str:
    """Which draft is that of a question: the questions of every run begin with `q1`."""
    return f"{need.get('of')} {need.get('id')}"


def drafts_of(app: App[Any]) -> dict[str, Draft]:
    """The drafts of an app, by `key_of`: a question may be opened from several screens."""
    kept: dict[str, Draft] = vars(app).setdefault(_KEPT, {})
    return kept
