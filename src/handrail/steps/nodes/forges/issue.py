"""`github-issue`, `gitlab-issue`: an issue and its comments, as JSON and as Markdown."""

from __future__ import annotations

from functools import partial
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, OneNode, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.forges.documents import (
    OUTPUT_FILES,
    OUTPUT_NAMES,
    document,
    file_outputs,
    forge_named,
    one_line,
    output_files,
)
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName


def _node(kind: ForgeName, reference: str, comments: str) -> OneNode:
    words = FORGES[kind]
    node = Node(
        about=f"Fetches a {words.title} issue and its comments with {words.token}.",
        params=(
            Field("issue", ("text",), reference, required=True, shortest=1, also=("issueUrl", "url")),
            *OUTPUT_FILES,
        ),
        outputs={
            **file_outputs(f"{kind}-issue/v1"),
            "issueUrl": "the address of the issue",
            "key": f"a short name for the issue: its {words.project} and its number, such as `cart-12`",
            "title": "its title",
            "state": "`open` or `closed`",
            "commentsCount": comments,
        },
        makes=OUTPUT_NAMES,
    )
    return OneNode(node, partial(_run, kind))


async def _run(kind: ForgeName, work: Work, context: NodeContext) -> Any:
    files, forge = output_files(work, context), forge_named(kind)
    wanted = forge.issue(as_text(work.params["issue"]), context.env)
    async with forge.open_service(context.env) as service:
        found = await forge.fetch_issue(service, wanted, time_text())
    files.write({"outputJsonFile": json_bytes(found), "outputFile": utf8_bytes(_markdown(wanted, found))}, context)
    return {
        **files.given,
        "issueUrl": wanted.page,
        "key": f"{wanted.project.rpartition('/')[2]}-{wanted.number}",
        "title": found["issue"]["title"],
        "state": found["issue"]["state"],
        "commentsCount": len(found["comments"]),
    }


def _markdown(wanted: ForgeItem, found: dict[str, Any]) -> str:
    issue = found["issue"]
    facts = {
        "Issue": wanted.page,
        "State": one_line(issue["state"]),
        "Author": one_line(issue["author"]),
        "Labels": one_line(", ".join(issue["labels"])) or "none",
        "Milestone": one_line(issue["milestone"] or "none"),
        "Updated": one_line(issue["updated_at"]),
    }
    sections = [("Description", issue["body"].strip() or "There is no description.")]
    for number, comment in enumerate(found["comments"], 1):
        title = f"Comment {number}: {one_line(comment['author'])}, {one_line(comment['created_at'])}"
        sections.append((title, comment["body"].strip()))
    return document(f"{wanted.name} {one_line(issue['title'])}", facts, sections, "")


GITHUB = _node("github", "the issue: its address, or `OWNER/NAME#12`", "how many comments there are")
GITLAB = _node("gitlab", "the address of the issue", "how many comments there are; notes of GitLab itself do not count")
