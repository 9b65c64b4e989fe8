"""`github-pr-diff`, `fetch-gitlab-diff`: the changed files of a change, as JSON and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.forges.documents import (
    CHANGES,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    document,
    fenced,
    file_outputs,
    forge_named,
    node_of_forge,
    one_line,
    output_files,
)
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName

if TYPE_CHECKING:
    from handrail.steps.services.http import Service

DIFF_FILE = Field("diffFile", ("text",), "a file for the whole difference, as git writes it", shortest=1, names="path")


async def _run(kind: ForgeName, reference: str, work: Work, context: NodeContext) -> dict[str, Any]:
    files, forge = output_files(work, context, DIFF_FILE.name), forge_named(kind)
    wanted = forge.change(reference, context.env)
    async with forge.open_service(context.env) as service:
        found = await forge.fetch_changes(service, wanted, time_text())
        diff = await _whole_diff(service, wanted) if DIFF_FILE.name in files.given else b""
    text = _markdown(kind, wanted, found)
    files.write({"outputJsonFile": json_bytes(found), "outputFile": utf8_bytes(text), DIFF_FILE.name: diff}, context)
    return {
        DIFF_FILE.name: None,
        **files.given,
        "url": wanted.page,
        "filesCount": len(found["files"]),
        "commit": found[FORGES[kind].member]["sha"],
    }


async def _whole_diff(service: Service, wanted: ForgeItem) -> bytes:
    from handrail.steps.services.github import fetch_diff

    return await fetch_diff(service, wanted)


def _markdown(kind: ForgeName, wanted: ForgeItem, found: dict[str, Any]) -> str:
    words, files = FORGES[kind], found["files"]
    about = found[words.member]
    facts = {
        words.change.capitalize(): wanted.page,
        "State": f"{one_line(about['state'])}{' (draft)' if about['draft'] else ''}",
        "Branches": f"{one_line(about['source_branch'])} → {one_line(about['target_branch'])}",
        "Commit": one_line(about["sha"]),
        "Author": one_line(about["author"]),
        "Updated": one_line(about["updated_at"]),
        "Changed files": str(len(files)),
    }
    description = about["description"].strip()
    sections = [("Description", description)] if description else []
    for file in files:
        moved = f" (from {one_line(file['old_path'])})" if file["old_path"] != file["new_path"] else ""
        heading = f"{one_line(file['new_path'])}: {file['change_type']}{moved}"
        sections.append((heading, fenced(file["diff"], "diff")))
    title, nothing = f"{wanted.name} {one_line(about['title'])}", "No changes were found."
    if files or kind == "github":
        sections += [] if files else [("Changes", nothing)]
        return document(title, facts, sections, "")
    text = document(title, facts, sections, nothing)
    return f"{text}\n{nothing}\n" if sections else text


GITHUB = node_of_forge(
    "github",
    Node(
        about="Fetches the changes of a GitHub pull request with GITHUB_TOKEN.",
        params=(CHANGES["github"], *OUTPUT_FILES, DIFF_FILE),
        outputs={
            **file_outputs("github-pr-diff/v1"),
            "diffFile": "the file with the whole difference; null if none was asked for",
            "pullRequestUrl": "the address of the pull request",
            "filesCount": "how many files are changed",
            "commit": "the last commit of the pull request",
        },
        makes=(*OUTPUT_NAMES, DIFF_FILE.name),
    ),
    _run,
)
GITLAB = node_of_forge(
    "gitlab",
    Node(
        about="Fetches the changes of a GitLab merge request with GITLAB_TOKEN.",
        params=(CHANGES["gitlab"], *OUTPUT_FILES),
        others="ignored",
        outputs={
            **file_outputs("gitlab-mr-diff/v1"),
            "mergeRequestUrl": "the address of the merge request",
            "filesCount": "how many files are changed",
        },
        makes=OUTPUT_NAMES,
    ),
    _run,
)
