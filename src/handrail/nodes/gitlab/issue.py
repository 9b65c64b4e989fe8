"""`gitlab-issue`: an issue and its comments, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.outputs import FILES, OUTPUT_FILES
from handrail.nodes.remarks import issue_text
from handrail.nodes.write_file import inside, put_files
from handrail.services.references import gitlab_issue
from handrail.source.fields import Field
from handrail.source.values import as_text

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
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.gitlab.issues import fetch_issue
    from handrail.services.gitlab.site import gitlab

    url = as_text(work.params["issue"]).strip()
    given = {name: as_text(work.params[name]) for name in FILES}
    real = {name: inside(context, path) for name, path in given.items()}
    if len(set(real.values())) < len(real):
        raise NodeError("params", "`outputFile` and `outputJsonFile` have to be different", transient=False)
    wanted = gitlab_issue(url, context.env)
    async with gitlab(wanted.base, context.env) as service:
        found = await fetch_issue(service, wanted, url, time_text())
    text = issue_text(f"#{wanted.number}", url, found)
    put_files({real["outputJsonFile"]: json_bytes(found), real["outputFile"]: as_bytes(text)}, context)
    return {
        **given,
        "issueUrl": url,
        "key": f"{wanted.project.rpartition('/')[2]}-{wanted.number}",
        "title": found["issue"]["title"],
        "state": found["issue"]["state"],
        "commentsCount": len(found["comments"]),
    }
