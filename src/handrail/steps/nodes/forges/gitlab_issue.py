"""`gitlab-issue`: an issue and its comments, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import path_inside, put_files
from handrail.steps.nodes.forges.documents import OUTPUT_FILES, OUTPUT_NAMES, issue_text
from handrail.steps.services.addresses import gitlab_issue

NODE = Node(
    about="Fetches a GitLab issue and its comments with GITLAB_TOKEN.",
    params=(
        Field("issue", ("text",), "the address of the issue", required=True, shortest=1, also=("issueUrl", "url")),
        *OUTPUT_FILES,
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-issue/v1`",
        "issueUrl": "the address of the issue",
        "key": "a short name for the issue: its project and its number, such as `cart-12`",
        "title": "its title",
        "state": "`open` or `closed`",
        "commentsCount": "how many comments there are; notes of GitLab itself do not count",
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.gitlab import fetch_issue, gitlab

    url = as_text(work.params["issue"]).strip()
    given = {name: as_text(work.params[name]) for name in OUTPUT_NAMES}
    real = {name: path_inside(context, path) for name, path in given.items()}
    if len(set(real.values())) < len(real):
        raise NodeError("params", "`outputFile` and `outputJsonFile` have to be different", transient=False)
    wanted = gitlab_issue(url, context.env)
    async with gitlab(wanted.base, context.env) as service:
        found = await fetch_issue(service, wanted, url, time_text())
    text = issue_text(f"#{wanted.number}", url, found)
    put_files({real["outputJsonFile"]: json_bytes(found), real["outputFile"]: utf8_bytes(text)}, context)
    return {
        **given,
        "issueUrl": url,
        "key": f"{wanted.project.rpartition('/')[2]}-{wanted.number}",
        "title": found["issue"]["title"],
        "state": found["issue"]["state"],
        "commentsCount": len(found["comments"]),
    }
