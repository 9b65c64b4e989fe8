"""`gitlab-checks`: the checks of a merge request, and why they failed, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.checked import COMMIT, OUTPUTS, by_state, checks_text, whole_commit
from handrail.nodes.gitlab.place import PARAMS, place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.markdown import one_line
from handrail.nodes.outputs import FILES
from handrail.nodes.write_file import put_files

NODE = Node(
    about="Fetches the checks of a GitLab merge request with GITLAB_TOKEN: the jobs of its pipelines and the statuses "
    "of its commit, and for those that failed the end of their log. A job that may fail counts as passed. It does not "
    "wait for them.",
    params=(*PARAMS, COMMIT),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-checks/v1`",
        "mergeRequestUrl": "the address of the merge request",
        "commit": "the commit whose checks these are",
        "mergeRequestState": "`open`, `closed` or `merged`",
        "branch": "the branch of the merge request",
        **OUTPUTS,
    },
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.gitlab.checks import fetch_checks
    from handrail.services.gitlab.site import gitlab

    at, commit = place(work, context), whole_commit(work.params.get("commit"))
    async with gitlab(at.wanted.base, context.env) as service:
        found = await fetch_checks(service, at.wanted, at.url, commit, time_text())
    put_files({at.real_json: json_bytes(found), at.real: as_bytes(_markdown(found))}, context)
    return {
        **at.outputs,
        "commit": found["commit"],
        "mergeRequestState": found["merge_request_state"],
        "branch": found["branch"],
        "isHead": found["is_head"],
        "state": found["state"],
        **by_state(found["checks"]),
    }


def _markdown(found: dict[str, Any]) -> str:
    facts = {"Merge request": found["merge_request_url"], "Commit": one_line(found["commit"]), "State": found["state"]}
    title = f"Checks of !{found['merge_request_iid']} in {one_line(found['project_path'])}"
    return checks_text(title, facts, found["checks"])
