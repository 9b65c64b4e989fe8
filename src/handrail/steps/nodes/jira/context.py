"""`jira-context`: the key and the addresses of an issue. It sends no request."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.source.values import as_text

NODE = Node(
    about="Finds the key and the addresses of a Jira issue. A bare key needs JIRA_BASE_URL.",
    params=(
        Field("jiraRef", ("text",), "the key of the issue, or the address of its page", required=True, shortest=1),
    ),
    others="ignored",
    outputs={
        "jiraRef": "the reference as it was given",
        "jiraIssueKey": "the key, in capital letters",
        "jiraBrowseUrl": "the address of its page",
        "jiraApiUrl": "its address in the API, for `jira-fetch`",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.addresses import jira_issue

    reference = as_text(work.params["jiraRef"])
    found = jira_issue(reference, context.env)
    return {
        "jiraRef": reference,
        "jiraIssueKey": found.key,
        "jiraBrowseUrl": found.page,
        "jiraApiUrl": found.api,
    }
