"""The findings of a review that block a merge, for the nodes that judge and select them."""

from __future__ import annotations

from typing import Any

from handrail.contracts import NodeContext, NodeError, Work
from handrail.forms.severities import VARIABLE, blocking_severities, severity_of
from handrail.source.fields import Field
from handrail.source.values import Unresolved

FIELD = Field(
    "blockingSeverities",
    ("list", "text", "null"),
    f"the severities that block; by default those in `{VARIABLE}`, else blocker, critical and high",
    items=("text",),
)


def blocking_of(work: Work, context: NodeContext) -> list[str]:
    """The severities that block. Raises `NodeError` for an unknown one."""
    try:
        return blocking_severities(work.params.get(FIELD.name), context.env)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


def blocking_titles(findings: list[dict[str, Any]], blocking: list[str]) -> list[str]:
    """The titles of the findings whose severity blocks."""
    found = [finding for finding in findings if severity_of(finding.get("severity")) in blocking]
    return [finding["title"] for finding in found if str(finding.get("title") or "").strip()]
