"""`github-checks`: the checks of a pull request, and why they failed, as JSON and as Markdown."""

from __future__ import annotations

import re
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.github.place import FILES, OUTPUT_FILES, PULL_REQUEST, place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text
from handrail.nodes.markdown import document, fenced, one_line
from handrail.nodes.write_file import put_files
from handrail.services.numbered import pull_request
from handrail.source.fields import Field
from handrail.source.values import as_text, shown

_COMMIT = re.compile(r"[0-9a-fA-F]{40,64}")
NODE = Node(
    about="Fetches the checks of a GitHub pull request with GITHUB_TOKEN: check runs and commit statuses, and for "
    "those that failed what they say, their annotations and the end of their log. It does not wait for them.",
    params=(
        PULL_REQUEST,
        *OUTPUT_FILES,
        Field("commit", ("text", "null"), "the whole hash of a commit; by default the last one of the pull request"),
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `github-checks/v1`",
        "pullRequestUrl": "the address of the pull request",
        "commit": "the commit whose checks these are",
        "pullRequestState": "`open`, `closed` or `merged`",
        "branch": "the branch of the pull request",
        "isHead": "true if it is the last commit of the pull request",
        "state": "`failed` if a check failed, else `pending` if one is not done, else `passed`; `none` without checks",
        "failed": "the names of the checks that failed",
        "pending": "the names of the checks that are not done",
        "passedCount": "how many checks passed; skipped and neutral ones count as passed",
    },
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.github.checks import fetch_checks
    from handrail.services.github.site import github

    at, commit = place(work, context), _commit(work.params.get("commit"))
    wanted = pull_request(as_text(work.params["pullRequestUrl"]), context.env)
    async with github(context.env) as service:
        found = await fetch_checks(service, wanted, commit, time_text())
    files = {"outputJsonFile": json_bytes(found), "outputFile": as_bytes(_markdown(found))}
    put_files({at.real[name]: data for name, data in files.items()}, context)
    checks = found["checks"]
    return {
        **at.given,
        "pullRequestUrl": wanted.page,
        "commit": found["commit"],
        "pullRequestState": found["pull_request_state"],
        "branch": found["branch"],
        "isHead": found["is_head"],
        "state": found["state"],
        "failed": [check["name"] for check in checks if check["state"] == "failed"],
        "pending": [check["name"] for check in checks if check["state"] == "pending"],
        "passedCount": sum(check["state"] == "passed" for check in checks),
    }


def _commit(given: Any) -> str | None:
    if given is None or not as_text(given).strip():
        return None
    commit = as_text(given).strip()
    if not _COMMIT.fullmatch(commit):
        message = f"`commit` has to be the whole hash of a commit, found `{shown(commit, 80)}`"
        raise NodeError("params", message, transient=False)
    return commit.lower()


def _markdown(found: dict[str, Any]) -> str:
    facts = {
        "Pull request": found["pull_request_url"],
        "Commit": one_line(found["commit"]),
        "State": found["state"],
    }
    sections = []
    for check in sorted(found["checks"], key=lambda check: str(check["state"])):
        about = [f"- State: {check['state']} ({one_line(check['result'])})"]
        about += [f"- Page: {one_line(check['url'])}"] if check["url"] else []
        words = f"\n\n{fenced(check['text'])}" if check["text"].strip() else ""
        sections.append((one_line(check["name"]), "\n".join(about) + words))
    title = f"Checks of #{found['number']} in {one_line(found['repository'])}"
    return document(title, facts, sections, "There are no checks.")
