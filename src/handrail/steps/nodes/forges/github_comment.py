"""`github-comment`: writes a comment below an issue or a pull request, once.

The comment ends with a mark that readers do not see. A resumed run finds its comment by it.
"""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Preview, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.forges.documents import COMMENT_OUTPUTS, COMMENT_TEXT, comment_text
from handrail.steps.services.addresses import GitHubItem, github_issue
from handrail.steps.services.forges import mark

NODE = Node(
    about="Writes a comment below a GitHub issue or pull request with GITHUB_TOKEN. A resumed run finds the comment "
    "that it wrote before.",
    params=(
        Field(
            "issue",
            ("text",),
            "the issue or pull request: its address, or `OWNER/NAME#12`",
            required=True,
            shortest=1,
            also=("issueUrl", "pullRequestUrl", "url"),
        ),
        COMMENT_TEXT,
    ),
    outputs=COMMENT_OUTPUTS,
    where=("issue", "repository"),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.github import comment_once, github

    wanted, text = _prepared(work, context)
    async with github(context.env) as service:
        made = await comment_once(service, wanted, text, mark(context.key))
    return {"commentUrl": made.url, "commentId": made.id}


async def preview(work: Work, context: NodeContext) -> Preview:
    wanted, text = _prepared(work, context)
    repository = wanted.repository.full_name
    return Preview(
        title=f"Comment on {repository}#{wanted.number}",
        facts=(("Where", wanted.page), ("Text", text)),
        where={"issue": f"{repository}#{wanted.number}", "repository": repository},
    )


def _prepared(work: Work, context: NodeContext) -> tuple[GitHubItem, str]:
    """The issue or pull request, and the comment."""
    return github_issue(as_text(work.params["issue"]), context.env), comment_text(work, context)
