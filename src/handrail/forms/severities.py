"""Which findings of a review block a merge, by their severity. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.forms.form import SEVERITIES, parse_severities
from handrail.source.values import Unresolved, as_text

BLOCKING = ("blocker", "critical", "high")
"""Findings of these severities block by default."""
VARIABLE = "AGENTWEAVER_REVIEW_BLOCKING_SEVERITIES"


def severity_of(value: Any) -> str | None:
    """The name of a severity. None if the value is none."""
    name = value.strip().lower() if isinstance(value, str) else ""
    return name if name in SEVERITIES else None


def blocking_severities(given: Any, env: Mapping[str, str]) -> list[str]:
    """The severities that block: the given list or text, else the variable, else the default. An empty one is none.

    Raises `Unresolved` for an unknown name: a misspelt severity would let findings pass.
    """
    for value in (given, env.get(VARIABLE)):
        if isinstance(value, list) and any(not isinstance(item, str) for item in value):
            raise Unresolved("severities", "severities have to be texts")
        text = ",".join(value) if isinstance(value, list) else "" if value is None else as_text(value)
        if text.strip(", \t\n"):
            return parse_severities(text)
    return list(BLOCKING)
