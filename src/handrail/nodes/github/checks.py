"""`github-checks`: the checks of a pull request, and why they failed, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.checked import COMMIT, OUTPUTS, by_state, checks_text, whole_commit
from handrail.nodes.github.place import PULL_REQUEST, place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.markdown import one_line
from handrail.nodes.outputs import FILES, OUTPUT_FILES
from handrail.nodes.write_file import put_files
from handrail.services.numbered import pull_request
from handrail.source.values import as_text

NODE = Node(
    about="Fetches the checks of a GitHub pull request with GITHUB_TOKEN: check runs and commit statuses, and for "
    "those that failed what they say, their annotations and the end of their log. It does not wait for them.",
    params=(
        PULL_REQUEST,
        *OUTPUT_FILES,
        COMMIT,
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `github-checks/v1`",
        "pullRequestUrl": "the address of the pull request",
        "commit": "the commit whose checks these are",
        "pullRequestState": "`open`, `closed` or `merged`",
        "branch": "the branch of the pull request",
        **OUTPUTS,
    },
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.github.checks import fetch_checks
    from handrail.services.github.site import github

    at, commit = place(work, context), whole_commit(work.params.get("commit"))
    wanted = pull_request(as_text(work.params["pullRequestUrl"]), context.env)
    async with github(context.env) as service:
        found = await fetch_checks(service, wanted, commit, time_text())
    files = {"outputJsonFile": json_bytes(found), "outputFile": as_bytes(_markdown(found))}
    put_files({at.real[name]: data for name, data in files.items()}, context)
    return {
        **at.given,
        "pullRequestUrl": wanted.page,
        "commit": found["commit"],
        "pullRequestState": found["pull_request_state"],
        "branch": found["branch"],
        "isHead": found["is_head"],
        "state": found["state"],
        **by_state(found["checks"]),
    }


def _markdown(found: dict[str, Any]) -> str:
    facts = {
        "Pull request": found["pull_request_url"],
        "Commit": one_line(found["commit"]),
        "State": found["state"],
    }
    return checks_text(f"Checks of #{found['number']} in {one_line(found['repository'])}", facts, found["checks"])
