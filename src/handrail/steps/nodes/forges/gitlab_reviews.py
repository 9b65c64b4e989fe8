"""`gitlab-reviews`: what people say about a merge request, as JSON and Markdown, and as findings of a review."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.plain_text import counted
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utc_time, utf8_bytes
from handrail.steps.nodes.files.write_file import path_inside, put_files
from handrail.steps.nodes.forges.documents import (
    AFTER,
    FINDINGS_FILES,
    FINDINGS_NAMES,
    MERGE_REQUEST_PARAMS,
    OUTPUT_NAMES,
    comment_finding,
    findings_text,
    merge_request_files,
)
from handrail.steps.nodes.forges.gitlab_review_comments import review_markdown
from handrail.steps.services.forges import is_marked

SEVERITY = "medium"
NODE = Node(
    about="Fetches what people say about a GitLab merge request with GITLAB_TOKEN. A discussion is one finding, unless "
    "it is resolved. What Handrail itself wrote is no finding.",
    params=(*MERGE_REQUEST_PARAMS, *FINDINGS_FILES, AFTER),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `gitlab-review/v1`",
        "reviewFile": "the file with the findings; null if none was asked for",
        "reviewJsonFile": "the file with the findings as JSON of the schema `review-findings/v1`; null if none was "
        "asked for",
        "mergeRequestUrl": "the address of the merge request",
        "commentsCount": "how many comments there are; notes of GitLab itself do not count",
        "findingsCount": "how many findings there are",
        "openCount": "the same: every finding of GitLab is open",
        "readyToMerge": "true if there are no findings",
        "lastAt": "when something was said last; an empty text if nothing was said",
    },
    makes=(*OUTPUT_NAMES, *FINDINGS_NAMES),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.gitlab import fetch_review, gitlab

    at, after = merge_request_files(work, context), utc_time(work.params.get("after"), exact=True)
    given = {name: as_text(work.params[name]) for name in FINDINGS_NAMES if work.params.get(name) is not None}
    real = {name: path_inside(context, path) for name, path in given.items()}
    if len({at.real, at.real_json, *real.values()}) < 2 + len(real):
        raise NodeError("params", "the files have to be different", transient=False)
    async with gitlab(at.wanted.base, context.env) as service:
        said = await fetch_review(service, at.wanted, at.url, time_text())
    found = findings(said, after)
    texts = {
        "reviewJsonFile": json_bytes(found),
        "reviewFile": utf8_bytes(findings_text({"Merge request": at.url}, found)),
    }
    written = {at.real_json: json_bytes(said), at.real: utf8_bytes(review_markdown(said))}
    put_files({**written, **{path: texts[name] for name, path in real.items()}}, context)
    return {
        **dict.fromkeys(FINDINGS_NAMES),
        **at.outputs,
        **given,
        "commentsCount": len(said["comments"]),
        "findingsCount": len(found["findings"]),
        "openCount": len(found["findings"]),
        "readyToMerge": found["ready_to_merge"],
        "lastAt": max((_time(comment) for comment in said["comments"]), default=""),
    }


def findings(said: dict[str, Any], after: str) -> dict[str, Any]:
    """A document of `review-findings/v1`: the discussions in which a person said something later than `after`."""
    threads: dict[str, list[dict[str, Any]]] = {}
    for comment in said["comments"]:
        threads.setdefault(comment["discussion_id"], []).append(comment)
    counting = [thread for thread in threads.values() if _counts(thread, after)]
    listed = [_finding(number, thread) for number, thread in enumerate(counting, 1)]
    return {
        "summary": f"GitLab has {counted(len(listed), 'remark')} on the merge request.",
        "ready_to_merge": not listed,
        "findings": listed,
    }


def _counts(thread: list[dict[str, Any]], after: str) -> bool:
    is_resolved = all(comment["resolved"] for comment in thread if comment["resolvable"])
    if is_resolved and any(comment["resolvable"] for comment in thread):
        return False
    return any(not is_marked(comment["body"]) and _time(comment) > after for comment in thread)


def _finding(number: int, thread: list[dict[str, Any]]) -> dict[str, str]:
    """A discussion: its first comment, and the replies below it."""
    first, replies = thread[0], thread[1:]
    answers = [f"{reply['author']} replied at {reply['created_at']}:\n\n{reply['body'].strip()}" for reply in replies]
    whole = {**first, "body": "\n\n".join([first["body"].strip(), *answers])}
    return comment_finding(f"GitLab comment {number}", SEVERITY, whole, {"Discussion": first["discussion_id"]})


def _time(comment: dict[str, Any]) -> str:
    """When something was said; an empty text if GitLab does not say it."""
    try:
        return utc_time(comment["created_at"], exact=True)
    except NodeError:
        return ""
