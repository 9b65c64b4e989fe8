"""`gitlab-checks`: the checks of a merge request, and why they failed, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import (
    CHECKS_OUTPUTS,
    COMMIT,
    MERGE_REQUEST_PARAMS,
    OUTPUT_NAMES,
    checks_by_state,
    checks_text,
    full_commit,
    merge_request_files,
    one_line,
)

NODE = Node(
    about="Fetches the checks of a GitLab merge request with GITLAB_TOKEN: the jobs of its pipelines and the statuses "
    "of its commit, and for those that failed the end of their log. A job that may fail counts as passed. It does not "
    "wait for them.",
    params=(*MERGE_REQUEST_PARAMS, COMMIT),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-checks/v1`",
        "mergeRequestUrl": "the address of the merge request",
        "commit": "the commit whose checks these are",
        "mergeRequestState": "`open`, `closed` or `merged`",
        "branch": "the branch of the merge request",
        **CHECKS_OUTPUTS,
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.gitlab import fetch_checks, gitlab

    at, commit = merge_request_files(work, context), full_commit(work.params.get("commit"))
    async with gitlab(at.wanted.base, context.env) as service:
        found = await fetch_checks(service, at.wanted, at.url, commit, time_text())
    put_files({at.real_json: json_bytes(found), at.real: utf8_bytes(_markdown(found))}, context)
    return {
        **at.outputs,
        "commit": found["commit"],
        "mergeRequestState": found["merge_request_state"],
        "branch": found["branch"],
        "isHead": found["is_head"],
        "state": found["state"],
        **checks_by_state(found["checks"]),
    }


def _markdown(found: dict[str, Any]) -> str:
    facts = {"Merge request": found["merge_request_url"], "Commit": one_line(found["commit"]), "State": found["state"]}
    title = f"Checks of !{found['merge_request_iid']} in {one_line(found['project_path'])}"
    return checks_text(title, facts, found["checks"])
