"""What people say about a pull request, as findings of a review. Pure.

A thread of comments on a line is one finding. What a step of Handrail wrote is left out.
"""

from __future__ import annotations

from typing import Any

from handrail.nodes.remarks import remark
from handrail.source.plain import counted

ASKS = "changes_requested"
QUIET = "info"


def findings(said: dict[str, Any], after: str) -> dict[str, Any]:
    """A document of `review-findings/v1` from one of `github-review/v1`. Only what was said later than `after` counts.

    It is ready to merge if nobody requests changes, and if no finding is more than an information.
    """
    found = [_of_review(review) for review in said["reviews"] if _counts(review, "submitted_at", after)]
    found += [_of_thread(thread) for thread in _threads(said["comments"], after)]
    listed = [
        remark(f"GitHub {item['name']} {number}", item["severity"], item, item["more"])
        for number, item in enumerate(found, 1)
    ]
    asked = any(review["state"] == ASKS and review["is_current"] for review in said["reviews"])
    return {
        "summary": f"GitHub has {counted(len(listed), 'remark')} on the pull request.",
        "ready_to_merge": not asked and all(item["severity"] == QUIET for item in listed),
        "findings": listed,
    }


def last_time(said: dict[str, Any]) -> str:
    """When something was said last; an empty text if nothing was said."""
    times = [review["submitted_at"] for review in said["reviews"]]
    return max([*times, *(comment["created_at"] for comment in said["comments"])], default="")


def _counts(review: dict[str, Any], time: str, after: str) -> bool:
    has_words = bool(review["body"].strip()) or (review["state"] == ASKS and review["is_current"])
    return has_words and not review["is_own"] and review[time] > after


def _of_review(review: dict[str, Any]) -> dict[str, Any]:
    asks = review["state"] == ASKS and review["is_current"]
    severity = "high" if asks else "medium" if review["state"] == "commented" else QUIET
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


def _of_thread(thread: list[dict[str, Any]]) -> dict[str, Any]:
    """A thread: its first comment, and the replies below it. On a line that has changed since, it is less severe."""
    first, replies = thread[0], thread[1:]
    more = {"Thread": first["thread_id"]}
    severity = "medium"
    if first["is_outdated"]:
        severity, more = "low", {**more, "Note": "the code has changed since"}
    if first["kind"] == "general" and first["is_bot"]:
        severity = QUIET
    answers = [f"{reply['author']} replied at {reply['created_at']}:\n\n{reply['body'].strip()}" for reply in replies]
    body = "\n\n".join([first["body"].strip(), *answers])
    return {**first, "name": "comment", "severity": severity, "body": body, "more": more}
