"""`fetch-gitlab-diff`: the changes of a merge request, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.gitlab.place import PARAMS, place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.markdown import document, one_line
from handrail.nodes.outputs import FILES
from handrail.nodes.remarks import change_facts, change_sections
from handrail.nodes.write_file import put_files

NODE = Node(
    about="Fetches the changes of a GitLab merge request with GITLAB_TOKEN.",
    params=PARAMS,
    others="ignored",
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-mr-diff/v1`",
        "mergeRequestUrl": "the address of the merge request",
        "filesCount": "how many files are changed",
    },
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.gitlab.merge_requests import fetch_diff
    from handrail.services.gitlab.site import gitlab

    at = place(work, context)
    async with gitlab(at.wanted.base, context.env) as service:
        found = await fetch_diff(service, at.wanted, at.url, time_text())
    put_files({at.real_json: json_bytes(found), at.real: as_bytes(_markdown(found))}, context)
    return {**at.outputs, "filesCount": len(found["files"])}


def _markdown(found: dict[str, Any]) -> str:
    about = found["merge_request"]
    facts = {"Merge request": found["merge_request_url"], **change_facts(about, found["files"])}
    sections = change_sections(about, found["files"])
    nothing = "" if found["files"] else "No changes were found."
    text = document(f"!{found['merge_request_iid']} {one_line(about['title'])}", facts, sections, nothing)
    return text if not nothing or not sections else f"{text}\n{nothing}\n"
