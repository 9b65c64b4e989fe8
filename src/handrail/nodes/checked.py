"""The checks of a change, the same for every forge: the commit that is meant, outputs, and Markdown. Pure."""

from __future__ import annotations

import re
from typing import Any

from handrail.contracts import NodeError
from handrail.nodes.markdown import document, fenced, one_line
from handrail.source.fields import Field
from handrail.source.values import as_text, shown

_COMMIT = re.compile(r"[0-9a-fA-F]{40,64}")
COMMIT = Field("commit", ("text", "null"), "the whole hash of a commit; by default the last one of the change")
OUTPUTS = {
    "isHead": "true if it is the last commit of the change",
    "state": "`failed` if a check failed, else `pending` if one is not done, else `passed`; `none` without checks",
    "failed": "the names of the checks that failed",
    "pending": "the names of the checks that are not done",
    "passedCount": "how many checks passed; those that were skipped count as passed",
}


def whole_commit(given: Any) -> str | None:
    """The commit of a param; None if there is none. Raises `NodeError` if it is no whole hash."""
    if given is None or not as_text(given).strip():
        return None
    commit = as_text(given).strip()
    if not _COMMIT.fullmatch(commit):
        message = f"`commit` has to be the whole hash of a commit, found `{shown(commit, 80)}`"
        raise NodeError("params", message, transient=False)
    return commit.lower()


def by_state(checks: list[dict[str, Any]]) -> dict[str, Any]:
    """The outputs about each state."""
    return {
        "failed": [check["name"] for check in checks if check["state"] == "failed"],
        "pending": [check["name"] for check in checks if check["state"] == "pending"],
        "passedCount": sum(check["state"] == "passed" for check in checks),
    }


def checks_text(title: str, facts: dict[str, str], checks: list[dict[str, Any]]) -> str:
    """The checks for people and agents. What failed comes first."""
    sections = []
    for check in sorted(checks, key=lambda check: str(check["state"])):
        about = [f"- State: {check['state']} ({one_line(check['result'])})"]
        about += [f"- Page: {one_line(check['url'])}"] if check["url"] else []
        words = f"\n\n{fenced(check['text'])}" if check["text"].strip() else ""
        sections.append((one_line(check["name"]), "\n".join(about) + words))
    return document(title, facts, sections, "There are no checks.")
