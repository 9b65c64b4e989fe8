"""`github-issue`: an issue and its comments, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import OUTPUT_FILES, OUTPUT_NAMES, github_files, issue_text
from handrail.steps.services.addresses import github_issue

NODE = Node(
    about="Fetches a GitHub issue and its comments with GITHUB_TOKEN.",
    params=(
        Field(
            "issue",
            ("text",),
            "the issue: its address, or `OWNER/NAME#12`",
            required=True,
            shortest=1,
            also=("issueUrl", "url"),
        ),
        *OUTPUT_FILES,
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `github-issue/v1`",
        "issueUrl": "the address of the issue",
        "key": "a short name for the issue: its repository and its number, such as `cart-12`",
        "title": "its title",
        "state": "`open` or `closed`",
        "commentsCount": "how many comments there are",
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.github import fetch_issue, github

    at = github_files(work, context)
    wanted = github_issue(as_text(work.params["issue"]), context.env)
    async with github(context.env) as service:
        found = await fetch_issue(service, wanted, time_text())
    files = {
        "outputJsonFile": json_bytes(found),
        "outputFile": utf8_bytes(issue_text(f"#{wanted.number}", wanted.page, found)),
    }
    put_files({at.real[name]: data for name, data in files.items()}, context)
    return {
        **at.given,
        "issueUrl": wanted.page,
        "key": f"{wanted.repository.name}-{wanted.number}",
        "title": found["issue"]["title"],
        "state": found["issue"]["state"],
        "commentsCount": len(found["comments"]),
    }
