"""What the nodes of GitHub and GitLab share: params, files, and documents as Markdown and as findings.

`run_forge_node` finds the forge of a change by its address, and runs the node of that forge.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from handrail.base.dataclasses import replace
from handrail.extensions.contracts import NodeContext, NodeError, Work
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files.write_file import path_inside
from handrail.steps.services.addresses import MergeRequest, merge_request

OUTPUT_NAMES = ("outputFile", "outputJsonFile")
OUTPUT_FILES = (
    Field("outputFile", ("text",), "the file for Markdown", required=True, shortest=1, names="path"),
    Field("outputJsonFile", ("text",), "the file for JSON", required=True, shortest=1, names="path"),
)


_FENCES = re.compile(r"`{3,}")


def fenced(text: str, language: str = "") -> str:
    """A block of code. The fence is longer than every one inside the text."""
    longest = max((len(marks) for marks in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def one_line(text: str, most: int = 0) -> str:
    """The words of a text on one line; with `most`, cut after so many characters."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else f"{line[: most - 3]}..."


def document(title: str, facts: dict[str, str], sections: list[tuple[str, str]], nothing: str) -> str:
    """A heading, a list of facts, and a section for each item; the text `nothing` if there is none."""
    head = [f"# {title}", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    parts = [f"## {heading}\n\n{body}" for heading, body in sections] or [nothing]
    return "\n\n".join([*head, *parts]) + "\n"


_COMMIT = re.compile(r"[0-9a-fA-F]{40,64}")
COMMIT = Field("commit", ("text", "null"), "the whole hash of a commit; by default the last one of the change")
CHECKS_OUTPUTS = {
    "isHead": "true if it is the last commit of the change",
    "state": "`failed` if a check failed, else `pending` if one is not done, else `passed`; `none` without checks",
    "failed": "the names of the checks that failed",
    "pending": "the names of the checks that are not done",
    "passedCount": "how many checks passed; those that were skipped count as passed",
}


def full_commit(given: Any) -> str | None:
    """The commit of a param; None if there is none. Raises `NodeError` if it is no whole hash."""
    if given is None or not as_text(given).strip():
        return None
    commit = as_text(given).strip()
    if not _COMMIT.fullmatch(commit):
        message = f"`commit` has to be the whole hash of a commit, found `{shown(commit, 80)}`"
        raise NodeError("params", message, transient=False)
    return commit.lower()


def checks_by_state(checks: list[dict[str, Any]]) -> dict[str, Any]:
    """The outputs about each state."""
    return {
        "failed": [check["name"] for check in checks if check["state"] == "failed"],
        "pending": [check["name"] for check in checks if check["state"] == "pending"],
        "passedCount": sum(check["state"] == "passed" for check in checks),
    }


def checks_text(title: str, facts: dict[str, str], checks: list[dict[str, Any]]) -> str:
    """The checks for people and agents. What failed comes first."""
    sections = []
    for check in sorted(checks, key=lambda check: str(check["state"])):
        about = [f"- State: {check['state']} ({one_line(check['result'])})"]
        about += [f"- Page: {one_line(check['url'])}"] if check["url"] else []
        words = f"\n\n{fenced(check['text'])}" if check["text"].strip() else ""
        sections.append((one_line(check["name"]), "\n".join(about) + words))
    return document(title, facts, sections, "There are no checks.")


LONGEST_EXCERPT = 72
FINDINGS_NAMES = ("reviewFile", "reviewJsonFile")
FINDINGS_FILES = (
    Field("reviewFile", ("text",), "a file for the findings as Markdown", shortest=1, names="path"),
    Field("reviewJsonFile", ("text",), "a file for the findings as JSON", shortest=1, names="path"),
)
AFTER = Field("after", ("text", "null"), "only what was said after this time is a finding, such as `lastAt` of before")


def comment_place(comment: dict[str, Any]) -> str:
    """The place of a comment: a line of a file, a file, or `general`."""
    path = comment.get("file_path")
    if not isinstance(path, str) or not path:
        return "general"
    line = comment.get("new_line") or comment.get("old_line")
    return one_line(path) if line is None else f"{one_line(path)}:{line}"


def comment_finding(name: str, severity: str, comment: dict[str, Any], more: dict[str, str]) -> dict[str, str]:
    """A comment as a finding. `name` begins its title; `more` are further facts about it."""
    author, at = one_line(comment["author"]), comment_place(comment)
    about = {"Place": at, "Author": author, **more, "Time": comment["created_at"]}
    lines = "\n".join(f"{fact}: {one_line(value)}" for fact, value in about.items())
    return {
        "severity": severity,
        "title": f"{name} | {at} | {author} | {one_line(comment['body'], LONGEST_EXCERPT)}",
        "description": f"{lines}\n\n{comment['body'].strip()}",
    }


def findings_text(facts: dict[str, str], found: dict[str, Any]) -> str:
    """The findings of a review for people and agents."""
    facts = {**facts, "Ready to merge": "yes" if found["ready_to_merge"] else "no"}
    listed = found["findings"]
    sections = [(item["title"], f"- Severity: {item['severity']}\n\n{item['description']}") for item in listed]
    return document("Review", facts, sections, "No findings.")


def issue_text(name: str, page: str, found: dict[str, Any]) -> str:
    """An issue and its comments. `name` is what the forge calls it, such as `#12`."""
    issue = found["issue"]
    facts = {
        "Issue": page,
        "State": one_line(issue["state"]),
        "Author": one_line(issue["author"]),
        "Labels": one_line(", ".join(issue["labels"])) or "none",
        "Milestone": one_line(issue["milestone"] or "none"),
        "Updated": one_line(issue["updated_at"]),
    }
    sections = [("Description", issue["body"].strip() or "There is no description.")]
    for number, comment in enumerate(found["comments"], 1):
        title = f"Comment {number}: {one_line(comment['author'])}, {one_line(comment['created_at'])}"
        sections.append((title, comment["body"].strip()))
    return document(f"{name} {one_line(issue['title'])}", facts, sections, "")


def change_facts(about: dict[str, Any], files: list[Any]) -> dict[str, str]:
    """What a pull or merge request says of itself, one line each."""
    return {
        "State": f"{one_line(about['state'])}{' (draft)' if about['draft'] else ''}",
        "Branches": f"{one_line(about['source_branch'])} → {one_line(about['target_branch'])}",
        "Commit": one_line(about["sha"]),
        "Author": one_line(about["author"]),
        "Updated": one_line(about["updated_at"]),
        "Changed files": str(len(files)),
    }


def change_sections(about: dict[str, Any], files: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The sections of a changed branch: its description, and the difference of each file."""
    words = about["description"].strip()
    sections = [("Description", words)] if words else []
    for file in files:
        moved = f" (from {one_line(file['old_path'])})" if file["old_path"] != file["new_path"] else ""
        title = f"{one_line(file['new_path'])}: {file['change_type']}{moved}"
        sections.append((title, fenced(file["diff"], "diff")))
    return sections


COMMENT_TEXT = Field("text", SCALARS, "the comment, as Markdown", required=True, also=("body", "comment", "message"))
COMMENT_OUTPUTS = {"commentUrl": "the address of the comment", "commentId": "the id of the comment"}


def comment_text(work: Work, context: NodeContext) -> str:
    """The comment with secrets hidden. Raises `NodeError` if it is blank."""
    text = Secrets(context.env, context.secrets).mask(as_text(work.params[COMMENT_TEXT.name]))
    if not text.strip():
        raise NodeError("params", f"`{COMMENT_TEXT.name}` is blank", transient=False)
    return text


_OF_GITLAB = re.compile(r"https?://.+/merge_requests/[0-9]+")
CHANGE = Field(
    "change",
    ("text",),
    "the change: the address of a pull request of GitHub or of a merge request of GitLab, or `OWNER/NAME#12`",
    required=True,
    shortest=1,
    also=("pullRequestUrl", "mergeRequestUrl", "url"),
)
FORGE_OUTPUTS = {"forge": "`github` or `gitlab`", "url": "the address of the change"}


async def run_forge_node(work: Work, context: NodeContext, what: str) -> dict[str, Any]:
    """The outputs of the forge's own node, such as `github-checks` for `checks`.

    What it calls pull request or merge request is called change.
    """
    address = as_text(work.params["change"]).strip()
    forge, name = ("gitlab", "mergeRequest") if _OF_GITLAB.match(address) else ("github", "pullRequest")
    params = {**{key: value for key, value in work.params.items() if key != "change"}, f"{name}Url": address}
    node = f"{forge}-{what}"
    found = await context.registry.nodes()[node].run(replace(work, node=node, params=params), context)
    named = {f"{name}Url": "url", f"{name}State": "changeState"}
    return {"forge": forge, **{named.get(key, key): value for key, value in found.items()}}


PULL_REQUEST = Field(
    "pullRequestUrl",
    ("text",),
    "the pull request: its address, or `OWNER/NAME#12`",
    required=True,
    shortest=1,
    also=("pullRequest", "pr", "url"),
)


class GitHubFiles(NamedTuple):
    """The paths of a step's files as they were given, and their real paths, by the name of the param."""

    given: dict[str, str]
    real: dict[str, str]


def github_files(work: Work, context: NodeContext, *optional: str) -> GitHubFiles:
    """The files of a step. Raises `NodeError` if one is outside of the project, or if two are the same."""
    names = (*OUTPUT_NAMES, *(name for name in optional if work.params.get(name) is not None))
    given: dict[str, Any] = {name: as_text(work.params[name]) for name in names}
    real = {name: path_inside(context, path) for name, path in given.items()}
    if len(set(real.values())) < len(real):
        raise NodeError("params", f"{', '.join(f'`{name}`' for name in real)} have to be different", transient=False)
    return GitHubFiles(given, real)


MERGE_REQUEST_PARAMS = (
    Field("mergeRequestUrl", ("text",), "the address of the merge request", required=True, shortest=1),
    *OUTPUT_FILES,
)


class MergeRequestFiles(NamedTuple):
    """A merge request, and the real paths of the files for it."""

    wanted: MergeRequest
    url: str
    real: str
    real_json: str
    outputs: dict[str, Any]


def merge_request_files(work: Work, context: NodeContext) -> MergeRequestFiles:
    url = as_text(work.params["mergeRequestUrl"]).strip()
    output, output_json = (as_text(work.params[name]) for name in OUTPUT_NAMES)
    real, real_json = path_inside(context, output), path_inside(context, output_json)
    if real == real_json:
        raise NodeError("params", "`outputFile` and `outputJsonFile` have to be different", transient=False)
    outputs = {"outputFile": output, "outputJsonFile": output_json, "mergeRequestUrl": url}
    return MergeRequestFiles(merge_request(url, context.env), url, real, real_json, outputs)
