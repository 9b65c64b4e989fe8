"""`fetch-gitlab-diff`: the changes of a merge request, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import (
    MERGE_REQUEST_PARAMS,
    OUTPUT_NAMES,
    change_facts,
    change_sections,
    document,
    merge_request_files,
    one_line,
)

NODE = Node(
    about="Fetches the changes of a GitLab merge request with GITLAB_TOKEN.",
    params=MERGE_REQUEST_PARAMS,
    others="ignored",
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-mr-diff/v1`",
        "mergeRequestUrl": "the address of the merge request",
        "filesCount": "how many files are changed",
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.gitlab import fetch_diff, gitlab

    at = merge_request_files(work, context)
    async with gitlab(at.wanted.base, context.env) as service:
        found = await fetch_diff(service, at.wanted, at.url, time_text())
    put_files({at.real_json: json_bytes(found), at.real: utf8_bytes(_markdown(found))}, context)
    return {**at.outputs, "filesCount": len(found["files"])}


def _markdown(found: dict[str, Any]) -> str:
    about = found["merge_request"]
    facts = {"Merge request": found["merge_request_url"], **change_facts(about, found["files"])}
    sections = change_sections(about, found["files"])
    nothing = "" if found["files"] else "No changes were found."
    text = document(f"!{found['merge_request_iid']} {one_line(about['title'])}", facts, sections, nothing)
    return text if not nothing or not sections else f"{text}\n{nothing}\n"
