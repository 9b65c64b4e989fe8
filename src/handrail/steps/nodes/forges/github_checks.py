"""`github-checks`: the checks of a pull request, and why they failed, as JSON and as Markdown."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import (
    CHECKS_OUTPUTS,
    COMMIT,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    PULL_REQUEST,
    checks_by_state,
    checks_text,
    full_commit,
    github_files,
    one_line,
)
from handrail.steps.services.addresses import github_pull_request

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
        **CHECKS_OUTPUTS,
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.github import fetch_checks, github

    at, commit = github_files(work, context), full_commit(work.params.get("commit"))
    wanted = github_pull_request(as_text(work.params["pullRequestUrl"]), context.env)
    async with github(context.env) as service:
        found = await fetch_checks(service, wanted, commit, time_text())
    files = {"outputJsonFile": json_bytes(found), "outputFile": utf8_bytes(_markdown(found))}
    put_files({at.real[name]: data for name, data in files.items()}, context)
    return {
        **at.given,
        "pullRequestUrl": wanted.page,
        "commit": found["commit"],
        "pullRequestState": found["pull_request_state"],
        "branch": found["branch"],
        "isHead": found["is_head"],
        "state": found["state"],
        **checks_by_state(found["checks"]),
    }


def _markdown(found: dict[str, Any]) -> str:
    facts = {
        "Pull request": found["pull_request_url"],
        "Commit": one_line(found["commit"]),
        "State": found["state"],
    }
    return checks_text(f"Checks of #{found['number']} in {one_line(found['repository'])}", facts, found["checks"])
