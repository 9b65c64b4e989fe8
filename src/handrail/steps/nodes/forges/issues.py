"""`github-issue` and `gitlab-issue` fetch an issue with its comments; `github-comment` and `gitlab-comment` write one.

A comment is written once: it ends with a mark that readers do not see. A resumed run finds its comment by it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, OneNode, Preview, Work
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text
from handrail.steps.nodes.files import json_bytes, output_files, time_text, utf8_bytes
from handrail.steps.nodes.forges.documents import (
    FORGE_MODULES,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    document,
    file_outputs,
    one_line,
)
from handrail.steps.nodes.params import text_param
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName, mark


def _issue_node(kind: ForgeName, reference: str, comments: str) -> OneNode:
    words = FORGES[kind]
    node = Node(
        about=f"Fetches a {words.title} issue and its comments with {words.token}.",
        params=(text_param("issue", reference, also=("issueUrl", "url")), *OUTPUT_FILES),
        outputs={
            **file_outputs(f"`{kind}-issue/v1`"),
            "issueUrl": "the address of the issue",
            "key": f"a short name for the issue: its {words.project} and its number, such as `cart-12`",
            "title": "its title",
            "state": "`open` or `closed`",
            "commentsCount": comments,
        },
        makes=OUTPUT_NAMES,
    )
    return OneNode(node, partial(_fetch_issue, kind))


async def _fetch_issue(kind: ForgeName, work: Work, context: NodeContext) -> Any:
    files, forge = output_files(work, context, *OUTPUT_NAMES), FORGE_MODULES[kind]
    target = forge.issue(work.params["issue"], context.env)
    async with forge.open_service(context.env) as service:
        data = await forge.fetch_issue(service, target, time_text())
    files.write({"outputJsonFile": json_bytes(data), "outputFile": utf8_bytes(_markdown(target, data))}, context)
    return {
        **files.paths,
        "issueUrl": target.page,
        "key": f"{target.project.rpartition('/')[2]}-{target.number}",
        "title": data["issue"]["title"],
        "state": data["issue"]["state"],
        "commentsCount": len(data["comments"]),
    }


def _markdown(target: ForgeItem, data: dict[str, Any]) -> str:
    issue = data["issue"]
    facts = {
        "Issue": target.page,
        "State": one_line(issue["state"]),
        "Author": one_line(issue["author"]),
        "Labels": one_line(", ".join(issue["labels"])) or "none",
        "Milestone": one_line(issue["milestone"] or "none"),
        "Updated": one_line(issue["updated_at"]),
    }
    sections = [("Description", issue["body"].strip() or "There is no description.")]
    for number, comment in enumerate(data["comments"], 1):
        title = f"Comment {number}: {one_line(comment['author'])}, {one_line(comment['created_at'])}"
        sections.append((title, comment["body"].strip()))
    return document(f"{target.name} {one_line(issue['title'])}", facts, sections, "")


def _comment_node(kind: ForgeName, reference: str) -> OneNode:
    words = FORGES[kind]
    node = Node(
        about=f"Writes a comment below a {words.title} issue or {words.change} with {words.token}. A resumed run finds "
        "the comment that it wrote before.",
        params=(
            text_param("issue", reference, also=("issueUrl", f"{words.param}Url", "url")),
            Field("text", SCALARS, "the comment, as Markdown", required=True, shortest=1,
                  also=("body", "comment", "message")),
        ),
        outputs={"commentUrl": "the address of the comment", "commentId": "the id of the comment"},
        where=("issue", words.project),
    )  # fmt: skip
    return OneNode(node, partial(_write_comment, kind), partial(_preview_comment, kind))


async def _write_comment(kind: ForgeName, work: Work, context: NodeContext) -> Any:
    forge, (target, text) = FORGE_MODULES[kind], _comment(kind, work, context)
    async with forge.open_service(context.env, True) as service:
        comment = await forge.comment_once(service, target, text, mark(context.key))
    return {"commentUrl": comment.url, "commentId": comment.id}


async def _preview_comment(kind: ForgeName, work: Work, context: NodeContext) -> Preview:
    target, text = _comment(kind, work, context)
    name = f"{target.project}{target.name}"
    where = {"issue": name, FORGES[kind].project: target.project}
    return Preview(title=f"Comment on {name}", facts=(("Where", target.page), ("Text", text)), where=where)


def _comment(kind: ForgeName, work: Work, context: NodeContext) -> tuple[ForgeItem, str]:
    """The issue or change, and the comment with secrets hidden."""
    target = FORGE_MODULES[kind].issue_or_change(work.params["issue"], context.env)
    return target, Secrets(context.env, context.secrets).mask(as_text(work.params["text"]))


_COUNT = "how many comments there are"
GITHUB_ISSUE = _issue_node("github", "the issue: its address, or `OWNER/NAME#12`", _COUNT)
GITLAB_ISSUE = _issue_node("gitlab", "the address of the issue", f"{_COUNT}; notes of GitLab itself do not count")
GITHUB_COMMENT = _comment_node("github", "the issue or pull request: its address, or `OWNER/NAME#12`")
GITLAB_COMMENT = _comment_node("gitlab", "the address of the issue or merge request")
