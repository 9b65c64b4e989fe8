"""GitHub, github.com or Enterprise: issues, pull requests, their reviews and checks, as documents; and comments.

The token is sent to GITHUB_API_URL only. What is written is written once: what is there already is found first.
Texts of checks are bounded: for one check, for all together, and in the number of checks that have one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from handrail.extensions.contracts import NodeError
from handrail.source.plain_text import counted
from handrail.steps.services.addresses import GITHUB, GitHubItem, GitHubRepository, github_api
from handrail.steps.services.forges import (
    LARGEST_LOG,
    LEFT_OUT,
    LONGEST_SUMMARY,
    LONGEST_TEXT,
    MOST_TEXTS,
    TOO_MANY,
    OpenedProposal,
    Proposal,
    checks_summary,
    clean_log,
    create_once,
    cut_summary,
    forge_token,
    is_marked,
    overall_state,
    text_end,
    with_mark,
)
from handrail.steps.services.http import HttpLimits, Service

LIMITS = HttpLimits()
PAGE = 100
UNKNOWN = "unknown"


def github(env: Mapping[str, str]) -> Service:
    """The configured GitHub. Raises `NodeError` if the token is missing."""
    secret = forge_token("github", env)
    if secret is None:
        message = f"{GITHUB}: set GITHUB_TOKEN (or GH_TOKEN) to a token that may see the repository"
        raise NodeError("service-config", message, transient=False)
    return Service(
        name=GITHUB,
        base=github_api(env),
        headers={
            "Authorization": f"Bearer {secret}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        secrets=(secret,),
        limits=LIMITS,
        reason=_reason,
        advice={
            401: "check GITHUB_TOKEN",
            403: "may the account of GITHUB_TOKEN do this, and has the token the permission for it?",
            404: "does it exist, and may the account of GITHUB_TOKEN see it?",
        },
    )


def _reason(said: dict[str, Any]) -> object:
    """GitHub's own words in an error, with those about each wrong member."""
    errors = said.get("errors")
    listed = errors if isinstance(errors, list) else []
    more = [item["message"] for item in listed if isinstance(item, dict) and isinstance(item.get("message"), str)]
    words = [text for text in (said.get("message"), *more) if isinstance(text, str) and text]
    return ": ".join(words) or None


async def fetch_object(service: Service, path: str, what: str) -> dict[str, Any]:
    """The JSON object at a path. `what` names it in a message."""
    found = await service.get_json(path)
    if not isinstance(found, dict):
        raise NodeError("service-json", f"{GITHUB}: its answer is not {what}", transient=False)
    return found


async def fetch_list(
    service: Service, path: str, member: str | None = None, **query: str | int
) -> list[dict[str, Any]]:
    """All objects of a list, from all its pages."""
    listed = [item async for page in service.pages(path, PAGE, member, **query) for item in page]
    return [item for item in listed if isinstance(item, dict)]


def document_head(wanted: GitHubItem, name: str, now: str) -> dict[str, Any]:
    """How each document begins. `name` is `issue` or `pull_request`."""
    return {
        f"{name}_url": wanted.page,
        "repository": wanted.repository.full_name,
        "number": wanted.number,
        "fetched_at": now,
    }


def text_member(item: Mapping[str, Any], name: str, default: str = UNKNOWN) -> str:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else default


def raw_text_member(item: Mapping[str, Any], name: str) -> str:
    """The text of a member; empty if it is missing or null."""
    value = item.get(name)
    return value if isinstance(value, str) else ""


def object_member(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object of a member; empty if it is missing or null."""
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def author(item: Mapping[str, Any]) -> str:
    """The login of a user. The account of a person who has left is null."""
    return text_member(object_member(item, "user"), "login")


def is_bot(item: Mapping[str, Any]) -> bool:
    return object_member(item, "user").get("type") == "Bot"


def number_member(item: Mapping[str, Any], name: str) -> int | None:
    value = item.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


async def fetch_issue(service: Service, wanted: GitHubItem, now: str) -> dict[str, Any]:
    path = f"{wanted.repository.path}/issues/{wanted.number}"
    found = await fetch_object(service, path, "an issue")
    comments = [general_comment(item) for item in await fetch_list(service, f"{path}/comments")]
    title = text_member(found, "title", f"Issue #{wanted.number}")
    return {
        "summary": f"#{wanted.number} {title}: {counted(len(comments), 'comment')}",
        **document_head(wanted, "issue", now),
        "issue": {
            "title": title,
            "body": raw_text_member(found, "body"),
            "state": text_member(found, "state"),
            "author": author(found),
            "labels": _names(found, "labels", "name"),
            "assignees": _names(found, "assignees", "login"),
            "milestone": text_member(object_member(found, "milestone"), "title", "") or None,
            "is_pull_request": isinstance(found.get("pull_request"), dict),
            "created_at": text_member(found, "created_at"),
            "updated_at": text_member(found, "updated_at"),
        },
        "comments": comments,
    }


def general_comment(item: dict[str, Any]) -> dict[str, Any]:
    """A comment below an issue or a pull request. `is_own`: a step of Handrail has written it."""
    body = raw_text_member(item, "body")
    return {
        "id": str(item.get("id") or ""),
        "author": author(item),
        "created_at": text_member(item, "created_at"),
        "body": body,
        "is_bot": is_bot(item),
        "is_own": is_marked(body),
    }


def _names(found: dict[str, Any], name: str, member: str) -> list[str]:
    """The names in a list of objects; labels may be plain texts."""
    value = found.get(name)
    listed = value if isinstance(value, list) else []
    names = [item.get(member) if isinstance(item, dict) else item for item in listed]
    return [item for item in names if isinstance(item, str) and item.strip()]


DIFF = "application/vnd.github.diff"
LARGEST_DIFF = 16 * 1024 * 1024
_KINDS = {"added": "added", "removed": "deleted", "renamed": "renamed"}
_JUDGEMENTS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")


def pull_path(wanted: GitHubItem) -> str:
    return f"{wanted.repository.path}/pulls/{wanted.number}"


async def fetch_pull(service: Service, wanted: GitHubItem) -> dict[str, Any]:
    """A pull request as GitHub describes it."""
    return await fetch_object(service, pull_path(wanted), "a pull request")


async def fetch_diff(service: Service, wanted: GitHubItem) -> bytes:
    """The whole difference as text. GitHub refuses to make a very large one."""
    return await service.get_file(pull_path(wanted), LARGEST_DIFF, DIFF)


async def fetch_changes(service: Service, wanted: GitHubItem, now: str) -> dict[str, Any]:
    """A pull request and its changed files: a document of `github-pr-diff/v1`."""
    details = await fetch_pull(service, wanted)
    files = [_changed_file(item) for item in await fetch_list(service, f"{pull_path(wanted)}/files")]
    about = _pull_about(details, wanted)
    return {
        "summary": f"#{wanted.number} {about['title']}: {counted(len(files), 'changed file')}",
        **document_head(wanted, "pull_request", now),
        "pull_request": about,
        "files": files,
    }


async def fetch_reviews(service: Service, wanted: GitHubItem, now: str) -> dict[str, Any]:
    """Reviews, comments on lines and general comments: a document of `github-review/v1`."""
    details = await fetch_pull(service, wanted)
    listed = await fetch_list(service, f"{pull_path(wanted)}/reviews")
    reviews = [_review(item) for item in listed if text_member(item, "state") != "PENDING"]
    lines = [_line_comment(item) for item in await fetch_list(service, f"{pull_path(wanted)}/comments")]
    path = f"{wanted.repository.path}/issues/{wanted.number}/comments"
    general = [_general(item) for item in await fetch_list(service, path)]
    comments = [comment for comment in (*lines, *general) if comment["body"].strip()]
    said = f"{counted(len(reviews), 'review')}, {counted(len(comments), 'comment')}"
    return {
        "summary": f"#{wanted.number}: {said}",
        **document_head(wanted, "pull_request", now),
        "commit": text_member(object_member(details, "head"), "sha"),
        "author": author(details),
        "reviews": _judged(reviews),
        "comments": sorted(comments, key=lambda comment: str(comment["created_at"])),
    }


def state_of_pull(details: dict[str, Any]) -> str:
    """`open`, `closed` or `merged`."""
    return "merged" if details.get("merged") is True else text_member(details, "state")


def _pull_about(details: dict[str, Any], wanted: GitHubItem) -> dict[str, Any]:
    source, target = object_member(details, "head"), object_member(details, "base")
    return {
        "title": text_member(details, "title", f"Pull request #{wanted.number}"),
        "description": raw_text_member(details, "body"),
        "state": state_of_pull(details),
        "draft": details.get("draft") is True,
        "source_branch": text_member(source, "ref"),
        "target_branch": text_member(target, "ref"),
        "sha": text_member(source, "sha"),
        "author": author(details),
        "created_at": text_member(details, "created_at"),
        "updated_at": text_member(details, "updated_at"),
    }


def _changed_file(item: dict[str, Any]) -> dict[str, Any]:
    new_path = text_member(item, "filename")
    kind = _KINDS.get(text_member(item, "status"), "modified")
    is_moved = kind == "renamed" and not number_member(item, "changes")
    note = "The content is the same." if is_moved else "GitHub does not show this diff: it is too large, or not text."
    return {
        "old_path": text_member(item, "previous_filename", new_path),
        "new_path": new_path,
        "change_type": kind,
        "additions": number_member(item, "additions") or 0,
        "deletions": number_member(item, "deletions") or 0,
        "diff": text_member(item, "patch", note),
    }


def _review(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(item.get("id") or ""),
        "author": author(item),
        "state": text_member(item, "state").lower(),
        "body": raw_text_member(item, "body"),
        "submitted_at": text_member(item, "submitted_at"),
        "commit": text_member(item, "commit_id"),
        "is_own": is_marked(raw_text_member(item, "body")),
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
    id_, body = str(item.get("id") or ""), raw_text_member(item, "body")
    line = number_member(item, "line")
    is_old = item.get("side") == "LEFT"
    return {
        "id": id_,
        "thread_id": str(item.get("in_reply_to_id") or id_),
        "review_id": str(item.get("pull_request_review_id") or "") or None,
        "kind": "line",
        "author": author(item),
        "created_at": text_member(item, "created_at"),
        "body": body,
        "file_path": text_member(item, "path", "") or None,
        "new_line": None if is_old else line,
        "old_line": (line if is_old else None) if line is not None else number_member(item, "original_line"),
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


MOST_ANNOTATIONS = 50
PASSED = ("success", "neutral", "skipped")
_RUNS_LOGS = "github-actions"
"""The app whose check runs have the ids of jobs, which have logs."""
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")


async def fetch_checks(service: Service, wanted: GitHubItem, commit: str | None, now: str) -> dict[str, Any]:
    """The checks of a pull request's head, or of one of its commits: a document of `github-checks/v1`."""
    pull = await fetch_pull(service, wanted)
    latest = text_member(object_member(pull, "head"), "sha")
    sha = commit or latest
    if not _SHA.fullmatch(sha):
        raise NodeError("service-json", f"{GITHUB}: the pull request has no head commit", transient=False)
    path = f"{wanted.repository.path}/commits/{quote(sha, safe='')}"
    runs = await fetch_list(service, f"{path}/check-runs", "check_runs")
    statuses = await fetch_list(service, f"{path}/status", "statuses")
    checks = [_run_check(item) for item in runs] + [_status_check(item) for item in statuses]
    state = overall_state(checks)
    await _explain(service, wanted, [item for item in zip(runs, checks, strict=False) if item[1]["state"] == "failed"])
    return {
        "summary": checks_summary(f"#{wanted.number}", checks),
        **document_head(wanted, "pull_request", now),
        "commit": sha,
        "is_head": latest.startswith(sha),
        "pull_request_state": state_of_pull(pull),
        "branch": text_member(object_member(pull, "head"), "ref"),
        "state": state,
        "checks": checks,
    }


def _run_check(item: dict[str, Any]) -> dict[str, Any]:
    result = raw_text_member(item, "conclusion")
    is_done = text_member(item, "status") == "completed"
    return {
        "name": text_member(item, "name"),
        "kind": "check-run",
        "state": ("passed" if result in PASSED else "failed") if is_done else "pending",
        "result": (result or "unknown") if is_done else text_member(item, "status"),
        "url": text_member(item, "html_url", text_member(item, "details_url", "")) or None,
        "text": "",
    }


def _status_check(item: dict[str, Any]) -> dict[str, Any]:
    result = text_member(item, "state")
    state = {"success": "passed", "pending": "pending"}.get(result, "failed")
    return {
        "name": text_member(item, "context"),
        "kind": "status",
        "state": state,
        "result": result,
        "url": text_member(item, "target_url", "") or None,
        "text": clean_log(raw_text_member(item, "description"))[:LONGEST_SUMMARY] if state == "failed" else "",
    }


async def _explain(service: Service, wanted: GitHubItem, failed: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Set the text of each failed check run. Only the first ones have one."""
    for place, (item, check) in enumerate(failed):
        if place >= MOST_TEXTS:
            check["text"] = TOO_MANY
            continue
        check["text"] = await _failure_text(service, wanted, item)


async def _failure_text(service: Service, wanted: GitHubItem, item: dict[str, Any]) -> str:
    """What a check run says about its failure: its own words, its annotations, and the end of its log."""
    said, id_ = object_member(item, "output"), number_member(item, "id")
    words = [cut_summary(clean_log(raw_text_member(said, name))) for name in ("title", "summary", "text")]
    parts = [part for part in words if part]
    repository = wanted.repository.path
    if id_ is not None and number_member(said, "annotations_count") != 0:
        parts.append(await _annotations(service, f"{repository}/check-runs/{id_}/annotations"))
    if id_ is not None and text_member(object_member(item, "app"), "slug") == _RUNS_LOGS:
        parts.append(await _log_end(service, f"{repository}/actions/jobs/{id_}/logs"))
    return text_end("\n\n".join(part for part in parts if part))


async def _annotations(service: Service, path: str) -> str:
    try:
        listed = await fetch_list(service, path)
    except NodeError as error:
        if error.code not in LEFT_OUT:
            raise
        return f"The annotations cannot be fetched: {error.message}"
    lines = [_annotation(item) for item in listed[:MOST_ANNOTATIONS]]
    more = len(listed) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more annotations"] if more else [])])


def _annotation(item: dict[str, Any]) -> str:
    line = number_member(item, "start_line")
    place = f"{text_member(item, 'path')}{'' if line is None else f':{line}'}"
    words = ": ".join(
        part for part in (raw_text_member(item, "title"), raw_text_member(item, "message")) if part.strip()
    )
    return f"{place}: {text_member(item, 'annotation_level')}: {cut_summary(clean_log(words))}"


async def _log_end(service: Service, path: str) -> str:
    try:
        body = await service.get_file(path, LARGEST_LOG)
    except NodeError as error:
        if error.code not in LEFT_OUT:
            raise
        return f"The log cannot be fetched: {error.message}"
    return text_end(clean_log(body.decode("utf-8", "replace")), LONGEST_TEXT - 2 * LONGEST_SUMMARY)


LONGEST_BODY = 60_000
"""GitHub refuses more than 65536 characters."""


class GitHubComment(NamedTuple):
    """A comment, and the address of its page."""

    id: str
    url: str


async def open_pull_request(
    service: Service, at: GitHubRepository, wanted: Proposal, fork: str | None = None
) -> OpenedProposal:
    """Open a pull request, unless there is an open one from the same branch, or one with the same mark.

    `fork` is the owner of the fork that has the branch.
    """
    base = wanted.base or await _default_branch(service, at)
    owner = fork or at.owner
    head = f"{owner}:{wanted.head}"
    body = with_mark(wanted.body, wanted.mark, LONGEST_BODY)

    async def look() -> OpenedProposal | None:
        listed = await fetch_list(service, f"{at.path}/pulls", head=head, base=base, state="all")
        same = [item for item in listed if _is_from_branch(item, owner, wanted.head, base)]
        still_open = [item for item in same if text_member(item, "state") == "open"]
        ours = [item for item in same if is_marked(raw_text_member(item, "body"), wanted.mark)]
        found = next(iter((*still_open, *ours)), None)
        return None if found is None else _opened_pull(found, is_marked(raw_text_member(found, "body"), wanted.mark))

    async def create() -> OpenedProposal:
        content = {"title": wanted.title, "head": head, "base": base, "body": body, "draft": wanted.draft}
        said = await service.post(f"{at.path}/pulls", content)
        return _opened_pull(said, is_new=True)

    return await create_once(look, create)


async def _default_branch(service: Service, at: GitHubRepository) -> str:
    found = text_member(await fetch_object(service, at.path, "a repository"), "default_branch", "")
    if not found:
        raise NodeError("service-json", f"{GITHUB}: the repository has no default branch", transient=False)
    return found


def _is_from_branch(item: dict[str, Any], owner: str, branch: str, base: str) -> bool:
    """True if a pull request is from this branch. GitHub lists all of them if it does not understand the filter."""
    head = object_member(item, "head")
    login = text_member(
        object_member(head, "user"),
        "login",
        text_member(object_member(object_member(head, "repo"), "owner"), "login", owner),
    )
    return (
        text_member(head, "ref") == branch
        and login.lower() == owner.lower()
        and text_member(object_member(item, "base"), "ref", base) == base
    )


def _opened_pull(item: Any, is_new: bool) -> OpenedProposal:
    found = number_member(item, "number") if isinstance(item, dict) else None
    if found is None:
        raise NodeError("service-json", f"{GITHUB}: its answer is not a pull request", transient=False)
    is_merged = item.get("merged_at") is not None or item.get("merged") is True
    return OpenedProposal(
        url=text_member(item, "html_url", ""),
        number=found,
        state="merged" if is_merged else text_member(item, "state", "open"),
        head=text_member(object_member(item, "head"), "ref"),
        base=text_member(object_member(item, "base"), "ref"),
        is_new=is_new,
    )


async def comment_once(service: Service, wanted: GitHubItem, body: str, mark: str) -> GitHubComment:
    """Write a comment below an issue or a pull request, unless there is one with the same mark."""
    path = f"{wanted.repository.path}/issues/{wanted.number}/comments"
    content = {"body": with_mark(body, mark, LONGEST_BODY)}

    async def look() -> GitHubComment | None:
        listed = await fetch_list(service, path)
        found = next((item for item in listed if is_marked(raw_text_member(item, "body"), mark)), None)
        return None if found is None else _written_comment(found)

    async def create() -> GitHubComment:
        return _written_comment(await service.post(path, content))

    return await create_once(look, create)


def _written_comment(item: Any) -> GitHubComment:
    if not isinstance(item, dict) or number_member(item, "id") is None:
        raise NodeError("service-json", f"{GITHUB}: its answer is not a comment", transient=False)
    return GitHubComment(str(item["id"]), text_member(item, "html_url", ""))
