"""`fetch-gitlab-review`: the comments of a merge request, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.gitlab.place import PARAMS, place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.markdown import document, one_line
from handrail.nodes.outputs import FILES
from handrail.nodes.remarks import where
from handrail.nodes.write_file import put_files

NODE = Node(
    about="Fetches the comments of a GitLab merge request with GITLAB_TOKEN.",
    params=PARAMS,
    others="ignored",
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-review/v1`",
        "mergeRequestUrl": "the address of the merge request",
        "commentsCount": "how many comments there are; notes of GitLab itself do not count",
    },
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.gitlab.merge_requests import fetch_review
    from handrail.services.gitlab.site import gitlab

    at = place(work, context)
    async with gitlab(at.wanted.base, context.env) as service:
        found = await fetch_review(service, at.wanted, at.url, time_text())
    put_files({at.real_json: json_bytes(found), at.real: as_bytes(markdown(found))}, context)
    return {**at.outputs, "commentsCount": len(found["comments"])}


def markdown(found: dict[str, Any]) -> str:
    facts = {"Merge request": found["merge_request_url"], "Comments": str(len(found["comments"]))}
    sections = []
    for number, comment in enumerate(found["comments"], 1):
        state = "resolved" if comment["resolved"] else "open" if comment["resolvable"] else "not resolvable"
        about = [f"- Author: {one_line(comment['author'])}", f"- Time: {one_line(comment['created_at'])}"]
        about += [f"- Discussion: {one_line(comment['discussion_id'])}", f"- State: {state}"]
        sections.append((f"{number}. {where(comment)}", "\n".join(about) + f"\n\n{comment['body'].strip()}"))
    title = f"Comments on !{found['merge_request_iid']} of {one_line(found['project_path'])}"
    return document(title, facts, sections, "No comments were found.")
