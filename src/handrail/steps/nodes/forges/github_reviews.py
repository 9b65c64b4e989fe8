"""`github-reviews`: reviews and comments of a pull request, as JSON and Markdown, and as findings of a review.

A thread of comments on a line is one finding. What a step of Handrail wrote is left out.
"""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.plain_text import counted
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, time_text, utc_time, utf8_bytes
from handrail.steps.nodes.files.write_file import put_files
from handrail.steps.nodes.forges.documents import (
    AFTER,
    FINDINGS_FILES,
    FINDINGS_NAMES,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    PULL_REQUEST,
    comment_finding,
    comment_place,
    document,
    findings_text,
    github_files,
    one_line,
)
from handrail.steps.services.addresses import github_pull_request

CHANGES_REQUESTED = "changes_requested"
LOWEST_SEVERITY = "info"


def findings(said: dict[str, Any], after: str) -> dict[str, Any]:
    """A document of `review-findings/v1` from one of `github-review/v1`. Only what was said later than `after` counts.

    It is ready to merge if nobody requests changes, and if no finding is more than an information.
    """
    found = [_review_finding(review) for review in said["reviews"] if _counts(review, "submitted_at", after)]
    found += [_thread_finding(thread) for thread in _threads(said["comments"], after)]
    listed = [
        comment_finding(f"GitHub {item['name']} {number}", item["severity"], item, item["more"])
        for number, item in enumerate(found, 1)
    ]
    asked = any(review["state"] == CHANGES_REQUESTED and review["is_current"] for review in said["reviews"])
    return {
        "summary": f"GitHub has {counted(len(listed), 'remark')} on the pull request.",
        "ready_to_merge": not asked and all(item["severity"] == LOWEST_SEVERITY for item in listed),
        "findings": listed,
    }


def last_time(said: dict[str, Any]) -> str:
    """When something was said last; an empty text if nothing was said."""
    times = [review["submitted_at"] for review in said["reviews"]]
    return max([*times, *(comment["created_at"] for comment in said["comments"])], default="")


def _counts(review: dict[str, Any], time: str, after: str) -> bool:
    has_words = bool(review["body"].strip()) or (review["state"] == CHANGES_REQUESTED and review["is_current"])
    return has_words and not review["is_own"] and review[time] > after


def _review_finding(review: dict[str, Any]) -> dict[str, Any]:
    asks = review["state"] == CHANGES_REQUESTED and review["is_current"]
    severity = "high" if asks else "medium" if review["state"] == "commented" else LOWEST_SEVERITY
    return {
        "name": "review",
        "severity": severity,
        "author": review["author"],
        "created_at": review["submitted_at"],
        "body": review["body"].strip() or "Changes are requested; see the comments.",
        "more": {"Review": review["state"].replace("_", " ")},
    }


def _threads(comments: list[dict[str, Any]], after: str) -> list[list[dict[str, Any]]]:
    """The comments by thread. A thread counts if a person said something in it later than `after`."""
    threads: dict[str, list[dict[str, Any]]] = {}
    for comment in comments:
        threads.setdefault(f"{comment['kind']} {comment['thread_id']}", []).append(comment)
    return [
        thread
        for thread in threads.values()
        if any(not comment["is_own"] and comment["created_at"] > after for comment in thread)
    ]


def _thread_finding(thread: list[dict[str, Any]]) -> dict[str, Any]:
    """A thread: its first comment, and the replies below it. On a line that has changed since, it is less severe."""
    first, replies = thread[0], thread[1:]
    more = {"Thread": first["thread_id"]}
    severity = "medium"
    if first["is_outdated"]:
        severity, more = "low", {**more, "Note": "the code has changed since"}
    if first["kind"] == "general" and first["is_bot"]:
        severity = LOWEST_SEVERITY
    answers = [f"{reply['author']} replied at {reply['created_at']}:\n\n{reply['body'].strip()}" for reply in replies]
    body = "\n\n".join([first["body"].strip(), *answers])
    return {**first, "name": "comment", "severity": severity, "body": body, "more": more}


NODE = Node(
    about="Fetches what people say about a GitHub pull request with GITHUB_TOKEN: reviews, comments on lines, general "
    "comments. A thread is one finding. What Handrail itself wrote is no finding.",
    params=(
        PULL_REQUEST,
        *OUTPUT_FILES,
        *FINDINGS_FILES,
        AFTER,
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `github-review/v1`",
        "reviewFile": "the file with the findings; null if none was asked for",
        "reviewJsonFile": "the file with the findings as JSON of the schema `review-findings/v1`; null if none was "
        "asked for",
        "pullRequestUrl": "the address of the pull request",
        "reviewsCount": "how many reviews there are",
        "commentsCount": "how many comments there are",
        "findingsCount": "how many findings there are",
        "openCount": "how many of them are more than an information",
        "readyToMerge": "true if nobody requests changes, and if no finding is more than an information",
        "lastAt": "when something was said last; an empty text if nothing was said",
    },
    makes=(*OUTPUT_NAMES, *FINDINGS_NAMES),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.github import fetch_reviews, github

    at, after = github_files(work, context, *FINDINGS_NAMES), utc_time(work.params.get("after"))
    wanted = github_pull_request(as_text(work.params["pullRequestUrl"]), context.env)
    async with github(context.env) as service:
        said = await fetch_reviews(service, wanted, time_text())
    found = findings(said, after)
    files = {
        "outputJsonFile": json_bytes(said),
        "outputFile": utf8_bytes(_markdown(said)),
        "reviewJsonFile": json_bytes(found),
        "reviewFile": utf8_bytes(findings_text({"Pull request": wanted.page}, found)),
    }
    put_files({at.real[name]: data for name, data in files.items() if name in at.real}, context)
    return {
        **dict.fromkeys(FINDINGS_NAMES),
        **at.given,
        "pullRequestUrl": wanted.page,
        "reviewsCount": len(said["reviews"]),
        "commentsCount": len(said["comments"]),
        "findingsCount": len(found["findings"]),
        "openCount": sum(finding["severity"] != LOWEST_SEVERITY for finding in found["findings"]),
        "readyToMerge": found["ready_to_merge"],
        "lastAt": last_time(said),
    }


def _markdown(said: dict[str, Any]) -> str:
    facts = {
        "Pull request": said["pull_request_url"],
        "Commit": one_line(said["commit"]),
        "Reviews": str(len(said["reviews"])),
        "Comments": str(len(said["comments"])),
    }
    sections = []
    for review in said["reviews"]:
        title = f"Review: {one_line(review['state'].replace('_', ' '))}, {one_line(review['author'])}"
        sections.append((title, f"- Time: {one_line(review['submitted_at'])}\n\n{review['body'].strip()}".strip()))
    for number, comment in enumerate(said["comments"], 1):
        about = [f"- Author: {one_line(comment['author'])}", f"- Time: {one_line(comment['created_at'])}"]
        about += [f"- Thread: {one_line(comment['thread_id'])}"]
        about += ["- The code has changed since"] if comment["is_outdated"] else []
        sections.append(
            (f"Comment {number}: {comment_place(comment)}", "\n".join(about) + f"\n\n{comment['body'].strip()}")
        )
    title = f"Reviews of #{said['number']} in {one_line(said['repository'])}"
    return document(title, facts, sections, "No reviews or comments were found.")
