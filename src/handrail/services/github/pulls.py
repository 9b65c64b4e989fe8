"""The changes of a pull request of GitHub, and what people say about it, as documents."""

from __future__ import annotations

from typing import Any

from handrail.services.github.issues import general_comment
from handrail.services.github.site import (
    author,
    fetch_list,
    fetch_object,
    head,
    inner,
    is_bot,
    number,
    raw_text,
    text,
)
from handrail.services.http import Service
from handrail.services.marks import is_marked
from handrail.services.numbered import Numbered
from handrail.source.plain import counted

DIFF = "application/vnd.github.diff"
LARGEST_DIFF = 16 * 1024 * 1024
_KINDS = {"added": "added", "removed": "deleted", "renamed": "renamed"}
_JUDGEMENTS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")


def path_of(wanted: Numbered) -> str:
    return f"{wanted.repository.path}/pulls/{wanted.number}"


async def fetch_pull(service: Service, wanted: Numbered) -> dict[str, Any]:
    """A pull request as GitHub describes it."""
    return await fetch_object(service, path_of(wanted), "a pull request")


async def fetch_diff(service: Service, wanted: Numbered) -> bytes:
    """The whole difference as text. GitHub refuses to make a very large one."""
    return await service.get_file(path_of(wanted), LARGEST_DIFF, DIFF)


async def fetch_changes(service: Service, wanted: Numbered, now: str) -> dict[str, Any]:
    """A pull request and its changed files: a document of `github-pr-diff/v1`."""
    details = await fetch_pull(service, wanted)
    files = [_file(item) for item in await fetch_list(service, f"{path_of(wanted)}/files")]
    about = _about(details, wanted)
    return {
        "summary": f"#{wanted.number} {about['title']}: {counted(len(files), 'changed file')}",
        **head(wanted, "pull_request", now),
        "pull_request": about,
        "files": files,
    }


async def fetch_reviews(service: Service, wanted: Numbered, now: str) -> dict[str, Any]:
    """Reviews, comments on lines and general comments: a document of `github-review/v1`."""
    details = await fetch_pull(service, wanted)
    listed = await fetch_list(service, f"{path_of(wanted)}/reviews")
    reviews = [_review(item) for item in listed if text(item, "state") != "PENDING"]
    lines = [_line_comment(item) for item in await fetch_list(service, f"{path_of(wanted)}/comments")]
    path = f"{wanted.repository.path}/issues/{wanted.number}/comments"
    general = [_general(item) for item in await fetch_list(service, path)]
    comments = [comment for comment in (*lines, *general) if comment["body"].strip()]
    said = f"{counted(len(reviews), 'review')}, {counted(len(comments), 'comment')}"
    return {
        "summary": f"#{wanted.number}: {said}",
        **head(wanted, "pull_request", now),
        "commit": text(inner(details, "head"), "sha"),
        "author": author(details),
        "reviews": _judged(reviews),
        "comments": sorted(comments, key=lambda comment: str(comment["created_at"])),
    }


def state_of_pull(details: dict[str, Any]) -> str:
    """`open`, `closed` or `merged`."""
    return "merged" if details.get("merged") is True else text(details, "state")


def _about(details: dict[str, Any], wanted: Numbered) -> dict[str, Any]:
    source, target = inner(details, "head"), inner(details, "base")
    return {
        "title": text(details, "title", f"Pull request #{wanted.number}"),
        "description": raw_text(details, "body"),
        "state": state_of_pull(details),
        "draft": details.get("draft") is True,
        "source_branch": text(source, "ref"),
        "target_branch": text(target, "ref"),
        "sha": text(source, "sha"),
        "author": author(details),
        "created_at": text(details, "created_at"),
        "updated_at": text(details, "updated_at"),
    }


def _file(item: dict[str, Any]) -> dict[str, Any]:
    new_path = text(item, "filename")
    kind = _KINDS.get(text(item, "status"), "modified")
    is_moved = kind == "renamed" and not number(item, "changes")
    note = "The content is the same." if is_moved else "GitHub does not show this diff: it is too large, or not text."
    return {
        "old_path": text(item, "previous_filename", new_path),
        "new_path": new_path,
        "change_type": kind,
        "additions": number(item, "additions") or 0,
        "deletions": number(item, "deletions") or 0,
        "diff": text(item, "patch", note),
    }


def _review(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(item.get("id") or ""),
        "author": author(item),
        "state": text(item, "state").lower(),
        "body": raw_text(item, "body"),
        "submitted_at": text(item, "submitted_at"),
        "commit": text(item, "commit_id"),
        "is_own": is_marked(raw_text(item, "body")),
    }


def _judged(reviews: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reviews, each with `is_current`: no later review of the same person replaces its judgement."""
    last = {
        review["author"]: review["id"]
        for review in sorted(reviews, key=lambda review: str(review["submitted_at"]))
        if review["state"].upper() in _JUDGEMENTS
    }
    return [
        {**review, "is_current": review["state"].upper() in _JUDGEMENTS and last[review["author"]] == review["id"]}
        for review in reviews
    ]


def _line_comment(item: dict[str, Any]) -> dict[str, Any]:
    """A comment on a file. A thread has the id of its first comment. GitHub says no line if the code has changed."""
    id_, body = str(item.get("id") or ""), raw_text(item, "body")
    line = number(item, "line")
    is_old = item.get("side") == "LEFT"
    return {
        "id": id_,
        "thread_id": str(item.get("in_reply_to_id") or id_),
        "review_id": str(item.get("pull_request_review_id") or "") or None,
        "kind": "line",
        "author": author(item),
        "created_at": text(item, "created_at"),
        "body": body,
        "file_path": text(item, "path", "") or None,
        "new_line": None if is_old else line,
        "old_line": (line if is_old else None) if line is not None else number(item, "original_line"),
        "is_outdated": line is None and item.get("subject_type") != "file",
        "is_bot": is_bot(item),
        "is_own": is_marked(body),
    }


def _general(item: dict[str, Any]) -> dict[str, Any]:
    comment = general_comment(item)
    return {
        **comment,
        "thread_id": comment["id"],
        "review_id": None,
        "kind": "general",
        "file_path": None,
        "new_line": None,
        "old_line": None,
        "is_outdated": False,
    }
