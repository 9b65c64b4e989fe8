"""`jira-issue-check`: fails unless a fetched issue has one of the allowed types."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files.json_files import read_json

NODE = Node(
    about="Checks the type of a Jira issue that `jira-fetch` wrote.",
    params=(
        Field("jiraTaskFile", ("text",), "the file with the issue", required=True, shortest=1, names="path"),
        Field(
            "allowedIssueTypes",
            ("list",),
            "the names of the allowed types; upper and lower case are the same",
            required=True,
            items=SCALARS,
            shortest=1,
        ),
        Field("labelText", SCALARS, "accepted because AgentWeaver's flows have it; not used"),
    ),
    others="ignored",
    outputs={"issueType": "the name of its type"},
)


async def run(work: Work, context: NodeContext) -> Any:
    allowed = [as_text(name).strip() for name in work.params["allowedIssueTypes"]]
    allowed = [name for name in allowed if name]
    if not allowed:
        raise NodeError("params", "`allowedIssueTypes` is empty", transient=False)
    path = as_text(work.params["jiraTaskFile"])
    found = read_json(context, path)
    place = ""
    for name in ("fields", "issuetype", "name"):
        if not isinstance(found, dict) or name not in found:
            message = f"`{path}` is not an issue of Jira: it has no `{place}{name}`"
            raise NodeError("inputs-invalid", message, transient=False)
        found, place = found[name], f"{place}{name}."
    if not isinstance(found, str) or not found.strip():
        message = f"`{path}` is not an issue of Jira: `fields.issuetype.name` is not text"
        raise NodeError("inputs-invalid", message, transient=False)
    kind = found.strip()
    if kind.casefold() not in {name.casefold() for name in allowed}:
        message = f"the type of the issue is `{shown(kind, 80)}`; allowed: {', '.join(allowed)}"
        raise NodeError("issue-type", message, transient=False)
    return {"issueType": kind}
