"""What the JSON files of reviews say, in a few words: the verdict on a design, the findings in a change. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from handrail.forms.form import SEVERITIES
from handrail.forms.severities import severity_of
from handrail.source.plain import counted

Said = tuple[str, dict[str, Any]]
"""The words for people, and the same as data."""


def verdict(data: Mapping[str, Any], _: list[str]) -> Said:
    """The verdict of a design review."""
    status, findings = str(data.get("status")), data.get("blocking_findings")
    count = len(findings) if isinstance(findings, list) else 0
    words = status.replace("_", " ") + (f", {counted(count, 'blocking finding')}" if count else "")
    return words, {"verdict": status, "blockingFindings": count}


def findings(data: Mapping[str, Any], blocking: list[str]) -> Said:
    """The findings of a review by severity, and whether they block a merge."""
    found = data.get("findings")
    severities = [severity_of(one.get("severity")) for one in found if isinstance(one, dict)] if found else []
    counts = Counter(name for name in severities if name is not None)
    blocks = sum(counts[name] for name in blocking)
    told = ", ".join(f"{counts[name]} {name}" for name in SEVERITIES if counts[name]) or "no findings"
    ordered = {name: counts[name] for name in SEVERITIES if counts[name]}
    words = f"{told}; {'blocks' if blocks else 'does not block'}"
    return words, {"findings": ordered, "blocking": blocks, "blockingSeverities": blocking}


READERS = {"verdict": verdict, "findings": findings}
