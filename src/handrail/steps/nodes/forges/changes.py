"""What is in a change, and whether it works.

`github-pr-diff` and `fetch-gitlab-diff` fetch the changed files; `github-checks`, `gitlab-checks` and `change-checks`
fetch the checks, and why they failed.
"""

from __future__ import annotations

import re
from typing import Any

from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, Work
from handrail.source.fields import Field
from handrail.source.values import shown
from handrail.steps.nodes.files import json_bytes, output_files, time_text, utf8_bytes
from handrail.steps.nodes.forges import documents
from handrail.steps.nodes.params import path_param
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName
from handrail.steps.services.github import fetch_diff

DIFF_FILE = path_param("diffFile", "a file for the whole difference, as git writes it", required=False)


async def _fetch_diff(kind: ForgeName, reference: str, work: Work, context: NodeContext) -> dict[str, Any]:
    files, forge = output_files(work, context, *documents.OUTPUT_NAMES, DIFF_FILE.name), documents.FORGE_MODULES[kind]
    target = forge.change(reference, context.env)
    async with forge.open_service(context.env) as service:
        data = await forge.fetch_changes(service, target, time_text())
        contents = {"outputJsonFile": json_bytes(data), "outputFile": utf8_bytes(_diff_markdown(kind, target, data))}
        if DIFF_FILE.name in files.paths:
            contents[DIFF_FILE.name] = await fetch_diff(service, target)  # only the node of GitHub has this param
    files.write(contents, context)
    return {
        DIFF_FILE.name: None,
        **files.paths,
        "url": target.page,
        "filesCount": len(data["files"]),
        "commit": data[FORGES[kind].member]["sha"],
    }


def _diff_markdown(kind: ForgeName, target: ForgeItem, data: dict[str, Any]) -> str:
    words, files = FORGES[kind], data["files"]
    about = data[words.member]
    facts = {
        words.change.capitalize(): target.page,
        "State": f"{documents.one_line(about['state'])}{' (draft)' if about['draft'] else ''}",
        "Branches": f"{documents.one_line(about['source_branch'])} → {documents.one_line(about['target_branch'])}",
        "Commit": documents.one_line(about["sha"]),
        "Author": documents.one_line(about["author"]),
        "Updated": documents.one_line(about["updated_at"]),
        "Changed files": str(len(files)),
    }
    description = about["description"].strip()
    sections = [("Description", description)] if description else []
    for file in files:
        moved = f" (from {documents.one_line(file['old_path'])})" if file["old_path"] != file["new_path"] else ""
        heading = f"{documents.one_line(file['new_path'])}: {file['change_type']}{moved}"
        sections.append((heading, documents.fenced(file["diff"], "diff")))
    title, nothing = f"{target.name} {documents.one_line(about['title'])}", "No changes were found."
    if files or kind == "github":
        sections += [] if files else [("Changes", nothing)]
        return documents.document(title, facts, sections, "")
    text = documents.document(title, facts, sections, nothing)
    return f"{text}\n{nothing}\n" if sections else text


_FILES_COUNT = {"filesCount": "how many files are changed"}
GITHUB_DIFF = documents.change_node(
    "github",
    "`github-pr-diff/v1`",
    Node(
        about="Fetches the changes of a GitHub pull request with GITHUB_TOKEN.",
        params=(DIFF_FILE,),
        outputs={
            DIFF_FILE.name: "the file with the whole difference; null if none was asked for",
            **_FILES_COUNT,
            "commit": "the last commit of the pull request",
        },
        makes=(DIFF_FILE.name,),
    ),
    _fetch_diff,
)
GITLAB_DIFF = documents.change_node(
    "gitlab",
    "`gitlab-mr-diff/v1`",
    Node(
        about="Fetches the changes of a GitLab merge request with GITLAB_TOKEN.",
        others="ignored",
        outputs=_FILES_COUNT,
    ),
    _fetch_diff,
)
_COMMIT = re.compile(r"[0-9a-fA-F]{40,64}")
COMMIT = Field("commit", ("text", "null"), "the whole hash of a commit; by default the last one of the change")


async def _fetch_checks(kind: ForgeName, reference: str, work: Work, context: NodeContext) -> dict[str, Any]:
    files, forge = output_files(work, context, *documents.OUTPUT_NAMES), documents.FORGE_MODULES[kind]
    commit = _full_commit(work.params.get("commit"))
    target = forge.change(reference, context.env)
    async with forge.open_service(context.env) as service:
        data = await forge.fetch_checks(service, target, commit, time_text())
    text = _checks_markdown(kind, target, data)
    files.write({"outputJsonFile": json_bytes(data), "outputFile": utf8_bytes(text)}, context)
    names: dict[str, list[str]] = {"failed": [], "pending": [], "passed": []}
    for check in data["checks"]:
        names[check["state"]].append(check["name"])
    return {
        "forge": kind,
        **files.paths,
        "url": target.page,
        "commit": data["commit"],
        "changeState": data[f"{FORGES[kind].member}_state"],
        "branch": data["branch"],
        "isHead": data["is_head"],
        "state": data["state"],
        "failed": names["failed"],
        "pending": names["pending"],
        "passedCount": len(names["passed"]),
    }


def _full_commit(value: str | None) -> str | None:
    """The commit of a param; None if there is none. Raises `NodeError` if it is no whole hash."""
    commit = (value or "").strip()
    if commit and not _COMMIT.fullmatch(commit):
        raise LastingError("params", f"`commit` has to be the whole hash of a commit, found `{shown(commit, 80)}`")
    return commit.lower() or None


def _checks_markdown(kind: ForgeName, target: ForgeItem, data: dict[str, Any]) -> str:
    """The checks for people and agents. What failed comes first."""
    change, commit = FORGES[kind].change.capitalize(), documents.one_line(data["commit"])
    facts = {change: target.page, "Commit": commit, "State": data["state"]}
    sections = []
    for check in sorted(data["checks"], key=lambda check: str(check["state"])):
        about = [f"- State: {check['state']} ({documents.one_line(check['result'])})"]
        about += [f"- Page: {documents.one_line(check['url'])}"] if check["url"] else []
        words = f"\n\n{documents.fenced(check['text'])}" if check["text"].strip() else ""
        sections.append((documents.one_line(check["name"]), "\n".join(about) + words))
    title = f"Checks of {target.name} in {documents.one_line(target.project)}"
    return documents.document(title, facts, sections, "There are no checks.")


def _checks_node(kind: ForgeName | None, schema: str, about: str) -> OneNode:
    node = Node(
        about=f"{about} It does not wait for them.",
        params=(COMMIT,),
        outputs={
            "commit": "the commit whose checks these are",
            "changeState": "`open`, `closed` or `merged`",
            "branch": "the branch of the pull or merge request",
            "isHead": "true if it is the last commit of this branch",
            "state": "`failed` if a check failed, else `pending` if one is not done, else `passed`; `none` without "
            "checks",
            "failed": "the names of the checks that failed",
            "pending": "the names of the checks that are not done",
            "passedCount": "how many checks passed; those that were skipped count as passed",
        },
    )
    return documents.change_node(kind, schema, node, _fetch_checks)


GITHUB_CHECKS = _checks_node(
    "github",
    "`github-checks/v1`",
    "Fetches the checks of a GitHub pull request with GITHUB_TOKEN: check runs and commit statuses, and for those that "
    "failed what they say, their annotations and the end of their log.",
)
GITLAB_CHECKS = _checks_node(
    "gitlab",
    "`gitlab-checks/v1`",
    "Fetches the checks of a GitLab merge request with GITLAB_TOKEN: the jobs of its pipelines and the statuses of its "
    "commit, and for those that failed the end of their log. A job that may fail counts as passed.",
)
CHANGE_CHECKS = _checks_node(
    None,
    documents.OWN_SCHEMA,
    "Fetches the checks of a pull request of GitHub (`github-checks`) or of a merge request of GitLab "
    "(`gitlab-checks`).",
)
