"""`github-comment`, `gitlab-comment`: writes a comment below an issue or a change, once.

The comment ends with a mark that readers do not see. A resumed run finds its comment by it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, OneNode, Preview, Work
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text
from handrail.steps.nodes.forges.documents import forge_named
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName, mark


def _node(kind: ForgeName, reference: str) -> OneNode:
    words = FORGES[kind]
    issue = Field(
        "issue", ("text",), reference, required=True, shortest=1, also=("issueUrl", f"{words.param}Url", "url")
    )
    text = Field(
        "text", SCALARS, "the comment, as Markdown", required=True, shortest=1, also=("body", "comment", "message")
    )
    node = Node(
        about=f"Writes a comment below a {words.title} issue or {words.change} with {words.token}. A resumed run finds "
        "the comment that it wrote before.",
        params=(issue, text),
        outputs={"commentUrl": "the address of the comment", "commentId": "the id of the comment"},
        where=("issue", words.project),
    )
    return OneNode(node, partial(_run, kind), partial(_preview, kind))


async def _run(kind: ForgeName, work: Work, context: NodeContext) -> Any:
    forge, (wanted, text) = forge_named(kind), _prepared(kind, work, context)
    async with forge.open_service(context.env, True) as service:
        made = await forge.comment_once(service, wanted, text, mark(context.key))
    return {"commentUrl": made.url, "commentId": made.id}


async def _preview(kind: ForgeName, work: Work, context: NodeContext) -> Preview:
    wanted, text = _prepared(kind, work, context)
    name = f"{wanted.project}{wanted.name}"
    return Preview(
        title=f"Comment on {name}",
        facts=(("Where", wanted.page), ("Text", text)),
        where={"issue": name, FORGES[kind].project: wanted.project},
    )


def _prepared(kind: ForgeName, work: Work, context: NodeContext) -> tuple[ForgeItem, str]:
    """The issue or change, and the comment with secrets hidden."""
    wanted = forge_named(kind).issue_or_change(as_text(work.params["issue"]), context.env)
    return wanted, Secrets(context.env, context.secrets).mask(as_text(work.params["text"]))


GITHUB = _node("github", "the issue or pull request: its address, or `OWNER/NAME#12`")
GITLAB = _node("gitlab", "the address of the issue or merge request")
