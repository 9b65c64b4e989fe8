"""`github-issue`: an issue and its comments, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.github.place import place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.outputs import FILES, OUTPUT_FILES
from handrail.nodes.remarks import issue_text
from handrail.nodes.write_file import put_files
from handrail.services.numbered import github_issue
from handrail.source.fields import Field
from handrail.source.values import as_text

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
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.github.issues import fetch_issue
    from handrail.services.github.site import github

    at = place(work, context)
    wanted = github_issue(as_text(work.params["issue"]), context.env)
    async with github(context.env) as service:
        found = await fetch_issue(service, wanted, time_text())
    files = {
        "outputJsonFile": json_bytes(found),
        "outputFile": as_bytes(issue_text(f"#{wanted.number}", wanted.page, found)),
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
