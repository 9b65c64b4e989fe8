"""`github-checks`, `gitlab-checks`, `change-checks`: the checks of a change, and why they failed."""

from __future__ import annotations

import re
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.forges.documents import (
    CHANGE,
    CHANGES,
    FORGE_FILE_OUTPUTS,
    FORGE_OUTPUTS,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    document,
    fenced,
    file_outputs,
    forge_named,
    node_of_all_forges,
    node_of_forge,
    one_line,
    output_files,
)
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName

_COMMIT = re.compile(r"[0-9a-fA-F]{40,64}")
COMMIT = Field("commit", ("text", "null"), "the whole hash of a commit; by default the last one of the change")
_COMMIT_OUTPUT = {"commit": "the commit whose checks these are"}
_OUTPUTS = {
    "isHead": "true if it is the last commit of the change",
    "state": "`failed` if a check failed, else `pending` if one is not done, else `passed`; `none` without checks",
    "failed": "the names of the checks that failed",
    "pending": "the names of the checks that are not done",
    "passedCount": "how many checks passed; those that were skipped count as passed",
}


def _declared(kind: ForgeName, what: str) -> Node:
    words = FORGES[kind]
    return Node(
        about=f"Fetches the checks of a {words.title} {words.change} with {words.token}: {what} It does not wait for "
        "them.",
        params=(CHANGES[kind], *OUTPUT_FILES, COMMIT),
        outputs={
            **file_outputs(f"{kind}-checks/v1"),
            f"{words.param}Url": f"the address of the {words.change}",
            **_COMMIT_OUTPUT,
            f"{words.param}State": "`open`, `closed` or `merged`",
            "branch": f"the branch of the {words.change}",
            **_OUTPUTS,
        },
        makes=OUTPUT_NAMES,
    )


async def _run(kind: ForgeName, reference: str, work: Work, context: NodeContext) -> dict[str, Any]:
    files, commit, forge = output_files(work, context), _full_commit(work.params.get("commit")), forge_named(kind)
    wanted = forge.change(reference, context.env)
    async with forge.open_service(context.env) as service:
        found = await forge.fetch_checks(service, wanted, commit, time_text())
    text = _markdown(kind, wanted, found)
    files.write({"outputJsonFile": json_bytes(found), "outputFile": utf8_bytes(text)}, context)
    return {
        "forge": kind,
        **files.given,
        "url": wanted.page,
        "commit": found["commit"],
        "changeState": found[f"{FORGES[kind].member}_state"],
        "branch": found["branch"],
        "isHead": found["is_head"],
        "state": found["state"],
        "failed": [check["name"] for check in found["checks"] if check["state"] == "failed"],
        "pending": [check["name"] for check in found["checks"] if check["state"] == "pending"],
        "passedCount": sum(check["state"] == "passed" for check in found["checks"]),
    }


def _full_commit(given: Any) -> str | None:
    """The commit of a param; None if there is none. Raises `NodeError` if it is no whole hash."""
    commit = "" if given is None else as_text(given).strip()
    if commit and not _COMMIT.fullmatch(commit):
        message = f"`commit` has to be the whole hash of a commit, found `{shown(commit, 80)}`"
        raise NodeError("params", message, transient=False)
    return commit.lower() or None


def _markdown(kind: ForgeName, wanted: ForgeItem, found: dict[str, Any]) -> str:
    """The checks for people and agents. What failed comes first."""
    facts = {
        FORGES[kind].change.capitalize(): wanted.page,
        "Commit": one_line(found["commit"]),
        "State": found["state"],
    }
    sections = []
    for check in sorted(found["checks"], key=lambda check: str(check["state"])):
        about = [f"- State: {check['state']} ({one_line(check['result'])})"]
        about += [f"- Page: {one_line(check['url'])}"] if check["url"] else []
        words = f"\n\n{fenced(check['text'])}" if check["text"].strip() else ""
        sections.append((one_line(check["name"]), "\n".join(about) + words))
    title = f"Checks of {wanted.name} in {one_line(wanted.project)}"
    return document(title, facts, sections, "There are no checks.")


GITHUB = node_of_forge(
    "github",
    _declared(
        "github",
        "check runs and commit statuses, and for those that failed what they say, their annotations and the end of "
        "their log.",
    ),
    _run,
)
GITLAB = node_of_forge(
    "gitlab",
    _declared(
        "gitlab",
        "the jobs of its pipelines and the statuses of its commit, and for those that failed the end of their log. A "
        "job that may fail counts as passed.",
    ),
    _run,
)
CHANGE_CHECKS = node_of_all_forges(
    Node(
        about="Fetches the checks of a pull request of GitHub (`github-checks`) or of a merge request of GitLab "
        "(`gitlab-checks`). It does not wait for them.",
        params=(CHANGE, *OUTPUT_FILES, COMMIT),
        outputs={
            **FORGE_FILE_OUTPUTS,
            **FORGE_OUTPUTS,
            **_COMMIT_OUTPUT,
            "changeState": "`open`, `closed` or `merged`",
            "branch": "the branch of the change",
            **_OUTPUTS,
        },
        makes=OUTPUT_NAMES,
    ),
    _run,
)
