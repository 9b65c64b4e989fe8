"""What happens if a person says yes, as far as the run has recorded it. What is not known is None. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handrail.topics.texts import cleaned, short

MOST_CHECKS, MOST_FILES = 20, 200
UNKNOWN: dict[str, Any] = dict.fromkeys(("does", "gate", "command", "tree", "checks", "changes", "claim"))
_OF_CHECK = ("name", "kind", "held", "detail", "seconds", "at", "tree", "stale")
_STAT = re.compile(r" (?P<path>.+?) +\| +(?:[0-9]+ ?[+-]*|Bin.*)")
"""A line of `git diff --stat`. Its signs are scaled, so they are no count of lines."""


def effect_of(
    kind: str, path: str, title: str, seen: Mapping[str, Any] | None, checks: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The `action` of a question. `seen` is what its node recorded before it asked, `checks` are those that ran.

    Of a check that ran in several rounds, the last result counts. Besides the fields that every approval has, `state`
    is what the yes is for: if it differs when the yes comes, the person is asked again.
    """
    if kind == "rerun":
        return {**UNKNOWN, "does": f"{short(path)} runs again"}
    if kind != "approval":
        return None
    shown = ({name: check.get(name) for name in _OF_CHECK} for check in checks)
    ran = list({(check["name"], check["kind"]): check for check in shown}.values())
    does = f"the run goes on after {' › '.join(short(path).split('/'))}" if title.endswith("?") else short(title)
    found = {**UNKNOWN, "does": does, "checks": ran[-MOST_CHECKS:] or None, "state": None}
    if seen is not None:
        found["state"] = cleaned(seen.get("state")) or None
        found["changes"] = changes_in(seen.get("facts"))
    return found


def changes_in(facts: Any) -> dict[str, Any] | None:
    """The files that a preview names in its fact `Changes`; None if it has none. How many lines differ is not known."""
    texts = [fact[1] for fact in facts or () if isinstance(fact, list) and len(fact) == 2 and fact[0] == "Changes"]
    lines = str(texts[0]).split("\n") if texts else []
    paths = [found["path"].strip() for line in lines if (found := _STAT.fullmatch(f" {line.lstrip()}")) is not None]
    if not paths:
        return None
    files = [{"path": short(path), "status": None, "added": None, "removed": None} for path in paths[:MOST_FILES]]
    return {"files": files, "diff": None}
