"""`gitlab-comment`: writes a comment below an issue or a merge request, once.

The comment ends with a mark that readers do not see. A resumed run finds its comment by it.
"""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Preview, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.forges.documents import COMMENT_OUTPUTS, COMMENT_TEXT, comment_text
from handrail.steps.services.addresses import GitLabIssue, MergeRequest, gitlab_talk
from handrail.steps.services.forges import mark

NODE = Node(
    about="Writes a comment below a GitLab issue or merge request with GITLAB_TOKEN. A resumed run finds the comment "
    "that it wrote before.",
    params=(
        Field(
            "issue",
            ("text",),
            "the address of the issue or merge request",
            required=True,
            shortest=1,
            also=("issueUrl", "mergeRequestUrl", "url"),
        ),
        COMMENT_TEXT,
    ),
    outputs=COMMENT_OUTPUTS,
    where=("issue", "project"),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.gitlab import comment_once, gitlab

    wanted, text = _prepared(work, context)
    async with gitlab(wanted.base, context.env, "api") as service:
        made = await comment_once(service, wanted, _page(work), text, mark(context.key))
    return {"commentUrl": made.url, "commentId": made.id}


async def preview(work: Work, context: NodeContext) -> Preview:
    wanted, text = _prepared(work, context)
    name = f"{wanted.project}{'!' if isinstance(wanted, MergeRequest) else '#'}{wanted.number}"
    return Preview(
        title=f"Comment on {name}",
        facts=(("Where", _page(work)), ("Text", text)),
        where={"issue": name, "project": wanted.project},
    )


def _prepared(work: Work, context: NodeContext) -> tuple[GitLabIssue | MergeRequest, str]:
    """The issue or merge request, and the comment."""
    return gitlab_talk(_page(work), context.env), comment_text(work, context)


def _page(work: Work) -> str:
    return as_text(work.params["issue"]).strip()
