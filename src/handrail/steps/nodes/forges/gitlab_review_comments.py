"""`fetch-gitlab-review`: the comments of a merge request, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import (
    MERGE_REQUEST_PARAMS,
    OUTPUT_NAMES,
    comment_place,
    document,
    merge_request_files,
    one_line,
)

NODE = Node(
    about="Fetches the comments of a GitLab merge request with GITLAB_TOKEN.",
    params=MERGE_REQUEST_PARAMS,
    others="ignored",
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-review/v1`",
        "mergeRequestUrl": "the address of the merge request",
        "commentsCount": "how many comments there are; notes of GitLab itself do not count",
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.gitlab import fetch_review, gitlab

    at = merge_request_files(work, context)
    async with gitlab(at.wanted.base, context.env) as service:
        found = await fetch_review(service, at.wanted, at.url, time_text())
    put_files({at.real_json: json_bytes(found), at.real: utf8_bytes(review_markdown(found))}, context)
    return {**at.outputs, "commentsCount": len(found["comments"])}


def review_markdown(found: dict[str, Any]) -> str:
    facts = {"Merge request": found["merge_request_url"], "Comments": str(len(found["comments"]))}
    sections = []
    for number, comment in enumerate(found["comments"], 1):
        state = "resolved" if comment["resolved"] else "open" if comment["resolvable"] else "not resolvable"
        about = [f"- Author: {one_line(comment['author'])}", f"- Time: {one_line(comment['created_at'])}"]
        about += [f"- Discussion: {one_line(comment['discussion_id'])}", f"- State: {state}"]
        sections.append((f"{number}. {comment_place(comment)}", "\n".join(about) + f"\n\n{comment['body'].strip()}"))
    title = f"Comments on !{found['merge_request_iid']} of {one_line(found['project_path'])}"
    return document(title, facts, sections, "No comments were found.")
