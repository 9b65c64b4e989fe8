"""`github-pr-diff`: the changes of a pull request, as JSON and as Markdown, and as one text."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import (
    OUTPUT_FILES,
    OUTPUT_NAMES,
    PULL_REQUEST,
    change_facts,
    change_sections,
    document,
    github_files,
    one_line,
)
from handrail.steps.services.addresses import github_pull_request

NODE = Node(
    about="Fetches the changes of a GitHub pull request with GITHUB_TOKEN.",
    params=(
        PULL_REQUEST,
        *OUTPUT_FILES,
        Field("diffFile", ("text",), "a file for the whole difference, as git writes it", shortest=1, names="path"),
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `github-pr-diff/v1`",
        "diffFile": "the file with the whole difference; null if none was asked for",
        "pullRequestUrl": "the address of the pull request",
        "filesCount": "how many files are changed",
        "commit": "the last commit of the pull request",
    },
    makes=(*OUTPUT_NAMES, "diffFile"),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.github import fetch_changes, fetch_diff, github

    at = github_files(work, context, "diffFile")
    wanted = github_pull_request(as_text(work.params["pullRequestUrl"]), context.env)
    async with github(context.env) as service:
        found = await fetch_changes(service, wanted, time_text())
        diff = await fetch_diff(service, wanted) if "diffFile" in at.given else b""
    files = {"outputJsonFile": json_bytes(found), "outputFile": utf8_bytes(_markdown(found)), "diffFile": diff}
    put_files({at.real[name]: data for name, data in files.items() if name in at.real}, context)
    about = {"pullRequestUrl": wanted.page, "filesCount": len(found["files"]), "commit": found["pull_request"]["sha"]}
    return {"diffFile": None, **at.given, **about}


def _markdown(found: dict[str, Any]) -> str:
    about = found["pull_request"]
    facts = {"Pull request": found["pull_request_url"], **change_facts(about, found["files"])}
    sections = change_sections(about, found["files"])
    sections += [] if found["files"] else [("Changes", "No changes were found.")]
    return document(f"#{found['number']} {one_line(about['title'])}", facts, sections, "")
