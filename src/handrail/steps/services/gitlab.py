"""GitLab: issues, merge requests, their discussions and checks, as documents; and comments.

GITLAB_TOKEN is sent to the configured GitLab only. What is written is written once. The documents are those of
AgentWeaver. GitLab lists jobs and statuses together, the last one of each name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from handrail.extensions.contracts import NodeError
from handrail.source.plain_text import counted
from handrail.steps.services.addresses import GITLAB, GitLabIssue, MergeRequest
from handrail.steps.services.forges import (
    LARGEST_LOG,
    LEFT_OUT,
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
_SUBJECTS = {"read_api": "issue or merge request", "api": "project"}


def gitlab(base: str, env: Mapping[str, str], scope: Literal["read_api", "api"] = "read_api") -> Service:
    """The GitLab at this address. Raises `NodeError` if the token is missing."""
    secret = forge_token("gitlab", env)
    if secret is None:
        message = f"{GITLAB}: set GITLAB_TOKEN to an access token with the scope `{scope}`"
        raise NodeError("service-config", message, transient=False)
    return Service(
        name=GITLAB,
        base=base,
        headers={"PRIVATE-TOKEN": secret},
        secrets=(secret,),
        limits=LIMITS,
        reason=lambda said: said.get("message") or said.get("error_description") or said.get("error"),
        advice={
            401: "check GITLAB_TOKEN",
            403: f"GITLAB_TOKEN needs the scope `{scope}`",
            404: f"does the {_SUBJECTS[scope]} exist, and may GITLAB_TOKEN see it?",
        },
    )


def author(item: dict[str, Any]) -> str:
    who = item["author"] if isinstance(item.get("author"), dict) else {}
    return text_member(who, "username", text_member(who, "name", UNKNOWN))


def text_member(item: Mapping[str, Any], name: str, default: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else default


def number_member(place: Mapping[str, Any], name: str) -> int | None:
    value = place.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


LONGEST_NOTE = 500_000
_ISSUE_STATES = {"opened": "open"}


class GitLabComment(NamedTuple):
    """A comment, and the address of its page."""

    id: str
    url: str


async def fetch_issue(service: Service, wanted: GitLabIssue, url: str, now: str) -> dict[str, Any]:
    """An issue and what people say about it: a document of `gitlab-issue/v1`. Notes of GitLab itself are left out."""
    found = await service.get_json(wanted.path)
    if not isinstance(found, dict):
        raise NodeError("service-json", f"{GITLAB}: its answer is not an issue", transient=False)
    pages = service.pages(f"{wanted.path}/notes", PAGE, None, sort="asc", order_by="created_at")
    notes = [note async for page in pages for note in page if isinstance(note, dict)]
    comments = [
        _issue_comment(note) for note in notes if note.get("system") is not True and text_member(note, "body", "")
    ]
    title = text_member(found, "title", f"Issue #{wanted.number}")
    return {
        "summary": f"#{wanted.number} {title}: {counted(len(comments), 'comment')}",
        "issue_url": url,
        "project_path": wanted.project,
        "issue_iid": wanted.number,
        "fetched_at": now,
        "issue": _issue_about(found, title),
        "comments": comments,
    }


def _issue_about(found: dict[str, Any], title: str) -> dict[str, Any]:
    milestone = found["milestone"] if isinstance(found.get("milestone"), dict) else {}
    state = text_member(found, "state", UNKNOWN)
    return {
        "title": title,
        "body": text_member(found, "description", ""),
        "state": _ISSUE_STATES.get(state, state),
        "author": author(found),
        "labels": [item for item in _items(found, "labels") if isinstance(item, str) and item.strip()],
        "assignees": [
            text_member(item, "username", UNKNOWN) for item in _items(found, "assignees") if isinstance(item, dict)
        ],
        "milestone": text_member(milestone, "title", "") or None,
        "created_at": text_member(found, "created_at", UNKNOWN),
        "updated_at": text_member(found, "updated_at", UNKNOWN),
    }


def _items(found: dict[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _issue_comment(note: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(note.get("id") or UNKNOWN),
        "author": author(note),
        "created_at": text_member(note, "created_at", UNKNOWN),
        "body": note["body"],
        "is_own": is_marked(note["body"]),
    }


async def comment_once(
    service: Service, wanted: GitLabIssue | MergeRequest, url: str, body: str, mark: str
) -> GitLabComment:
    """Write a comment below an issue or a merge request, unless there is one with the same mark."""
    path = f"{wanted.path}/notes"
    page = url.partition("#")[0]

    async def look() -> GitLabComment | None:
        pages = service.pages(path, PAGE, None, sort="desc", order_by="created_at")
        notes = [note async for page in pages for note in page if isinstance(note, dict)]
        found = next((note for note in notes if is_marked(text_member(note, "body", ""), mark)), None)
        return None if found is None else _written_comment(found, page)

    async def create() -> GitLabComment:
        return _written_comment(await service.post(path, {"body": with_mark(body, mark, LONGEST_NOTE)}), page)

    return await create_once(look, create)


def _written_comment(item: Any, page: str) -> GitLabComment:
    if not isinstance(item, dict) or not isinstance(item.get("id"), int):
        raise NodeError("service-json", f"{GITLAB}: its answer is not a comment", transient=False)
    return GitLabComment(str(item["id"]), f"{page}#note_{item['id']}")


LONGEST_DESCRIPTION = 500_000
MERGE_REQUEST_STATES = {"opened": "open", "locked": "open"}
"""What GitLab calls a merge request that is not merged or closed."""


async def fetch_diff(service: Service, wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    """A merge request and its changed files: a document of `gitlab-mr-diff/v1`."""
    details = await service.get_json(wanted.path)
    if not isinstance(details, dict):
        raise NodeError("service-json", f"{GITLAB}: its answer is not a merge request", transient=False)
    listed = [item async for page in service.pages(f"{wanted.path}/diffs", PAGE) for item in page]
    files = [_changed_file(item) for item in listed if isinstance(item, dict)]
    about = _merge_request_about(details, wanted)
    return {
        "summary": f"!{wanted.number} {about['title']}: {counted(len(files), 'changed file')}",
        **document_head(wanted, url, now),
        "merge_request": about,
        "files": files,
    }


async def fetch_review(service: Service, wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    """The comments of a merge request: a document of `gitlab-review/v1`. Notes of GitLab itself are left out."""
    listed = [item async for page in service.pages(f"{wanted.path}/discussions", PAGE) for item in page]
    comments = [
        _review_comment(note, discussion)
        for discussion in listed
        if isinstance(discussion, dict) and isinstance(discussion.get("notes"), list)
        for note in discussion["notes"]
        if isinstance(note, dict) and note.get("system") is not True and text_member(note, "body", "").strip()
    ]
    return {
        "summary": f"!{wanted.number}: {counted(len(comments), 'comment')}",
        **document_head(wanted, url, now),
        "comments": comments,
    }


async def open_merge_request(service: Service, project: str, wanted: Proposal) -> OpenedProposal:
    """Open a merge request, unless there is an open one from the same branch, or one with the same mark."""
    at = f"api/v4/projects/{quote(project, safe='')}"
    base = wanted.base or await _default_branch(service, at)
    same_branches = {"source_branch": wanted.head, "target_branch": base}

    async def look() -> OpenedProposal | None:
        pages = service.pages(f"{at}/merge_requests", PAGE, None, **same_branches, state="all")
        listed = [item async for page in pages for item in page if isinstance(item, dict)]
        same = [item for item in listed if all(item.get(name) == value for name, value in same_branches.items())]
        still_open = [item for item in same if item.get("state") == "opened"]
        ours = [item for item in same if is_marked(text_member(item, "description", ""), wanted.mark)]
        found = next(iter((*still_open, *ours)), None)
        return (
            None
            if found is None
            else _opened_merge_request(found, is_marked(text_member(found, "description", ""), wanted.mark))
        )

    async def create() -> OpenedProposal:
        title = f"Draft: {wanted.title}" if wanted.draft else wanted.title
        description = with_mark(wanted.body, wanted.mark, LONGEST_DESCRIPTION)
        said = await service.post(f"{at}/merge_requests", {**same_branches, "title": title, "description": description})
        return _opened_merge_request(said, is_new=True)

    return await create_once(look, create)


async def _default_branch(service: Service, at: str) -> str:
    found = await service.get_json(at)
    branch = text_member(found, "default_branch", "") if isinstance(found, dict) else ""
    if not branch:
        raise NodeError("service-json", f"{GITLAB}: the project has no default branch", transient=False)
    return branch


def _opened_merge_request(item: Any, is_new: bool) -> OpenedProposal:
    number = number_member(item, "iid") if isinstance(item, dict) else None
    if number is None:
        raise NodeError("service-json", f"{GITLAB}: its answer is not a merge request", transient=False)
    return OpenedProposal(
        url=text_member(item, "web_url", ""),
        number=number,
        state=MERGE_REQUEST_STATES.get(text_member(item, "state", "opened"), text_member(item, "state", "opened")),
        head=text_member(item, "source_branch", UNKNOWN),
        base=text_member(item, "target_branch", UNKNOWN),
        is_new=is_new,
    )


def document_head(wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    return {
        "merge_request_url": url,
        "project_path": wanted.project,
        "merge_request_iid": wanted.number,
        "fetched_at": now,
    }


def _merge_request_about(details: dict[str, Any], wanted: MergeRequest) -> dict[str, Any]:
    names = ("state", "source_branch", "target_branch", "sha", "created_at", "updated_at")
    return {
        "title": text_member(details, "title", f"MR !{wanted.number}"),
        "description": details["description"] if isinstance(details.get("description"), str) else "",
        "draft": details.get("draft") is True or details.get("work_in_progress") is True,
        **{name: text_member(details, name, UNKNOWN) for name in names},
        "author": author(details),
    }


def _changed_file(item: dict[str, Any]) -> dict[str, Any]:
    new_path = text_member(item, "new_path", text_member(item, "old_path", UNKNOWN))
    flags = ("new_file", "renamed_file", "deleted_file", "generated_file", "too_large", "collapsed")
    found: dict[str, Any] = {name: item.get(name) is True for name in flags}
    kinds = {"new_file": "added", "deleted_file": "deleted", "renamed_file": "renamed"}
    why = "too large" if found["too_large"] else "collapsed" if found["collapsed"] else "empty"
    note = {
        "too large": "GitLab does not show this diff: it is too large.",
        "collapsed": "GitLab does not show this diff: it is collapsed.",
        "empty": "The diff is empty.",
    }
    diff = item.get("diff")
    return {
        "old_path": text_member(item, "old_path", new_path),
        "new_path": new_path,
        "change_type": next((word for flag, word in kinds.items() if found[flag]), "modified"),
        **found,
        "diff": diff if isinstance(diff, str) and diff.strip() else note[why],
    }


def _review_comment(note: dict[str, Any], discussion: dict[str, Any]) -> dict[str, Any]:
    place = note["position"] if isinstance(note.get("position"), dict) else {}
    return {
        "id": str(note.get("id") or UNKNOWN),
        "discussion_id": str(discussion.get("id") or UNKNOWN),
        "body": note["body"],
        "author": author(note),
        "created_at": text_member(note, "created_at", UNKNOWN),
        "system": False,
        "resolvable": note.get("resolvable") is True,
        "resolved": note.get("resolved") is True,
        "file_path": text_member(place, "new_path", text_member(place, "old_path", "")) or None,
        "new_line": number_member(place, "new_line"),
        "old_line": number_member(place, "old_line"),
    }


_CHECK_STATES = {"success": "passed", "skipped": "passed", "manual": "passed", "failed": "failed", "canceled": "failed"}
"""What a result means. Every other one, such as `running`, is not done."""


async def fetch_checks(
    service: Service, wanted: MergeRequest, url: str, commit: str | None, now: str
) -> dict[str, Any]:
    """The checks of a merge request's last commit, or of one of its commits: a document of `gitlab-checks/v1`."""
    details = await service.get_json(wanted.path)
    latest = text_member(details, "sha", "") if isinstance(details, dict) else ""
    sha = commit or latest
    if not sha:
        raise NodeError("service-json", f"{GITLAB}: the merge request has no commit", transient=False)
    project = f"api/v4/projects/{quote(wanted.project, safe='')}"
    place = f"{project}/repository/commits/{quote(sha, safe='')}/statuses"
    listed = [item async for page in service.pages(place, PAGE) for item in page if isinstance(item, dict)]
    checks = [_check(item) for item in listed]
    await _explain(
        service, project, [pair for pair in zip(listed, checks, strict=True) if pair[1]["state"] == "failed"]
    )
    state = text_member(details, "state", UNKNOWN)
    return {
        "summary": checks_summary(f"!{wanted.number}", checks),
        **document_head(wanted, url, now),
        "commit": sha,
        "is_head": sha == latest,
        "merge_request_state": MERGE_REQUEST_STATES.get(state, state),
        "branch": text_member(details, "source_branch", UNKNOWN),
        "state": overall_state(checks),
        "checks": checks,
    }


def _check(item: dict[str, Any]) -> dict[str, Any]:
    """A job that may fail never fails the pipeline."""
    result = text_member(item, "status", UNKNOWN)
    state = _CHECK_STATES.get(result, "pending")
    return {
        "name": text_member(item, "name", UNKNOWN),
        "state": "passed" if state == "failed" and item.get("allow_failure") is True else state,
        "result": result,
        "url": text_member(item, "target_url", "") or None,
        "text": "",
    }


async def _explain(service: Service, project: str, failed: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Set the text of each failed check. Only the first ones have one."""
    for place, (item, check) in enumerate(failed):
        check["text"] = await _failure_text(service, project, item) if place < MOST_TEXTS else TOO_MANY


async def _failure_text(service: Service, project: str, item: dict[str, Any]) -> str:
    """What a failed check says: its description, and the end of its log if it is a job."""
    parts, id_ = [cut_summary(clean_log(text_member(item, "description", "")))], number_member(item, "id")
    if id_ is not None:
        try:
            log = await service.get_file(f"{project}/jobs/{id_}/trace", LARGEST_LOG)
            parts.append(text_end(clean_log(log.decode("utf-8", "replace")), LONGEST_TEXT // 2))
        except NodeError as error:
            if error.code not in LEFT_OUT:
                raise
            parts.append(f"The log cannot be fetched: {error.message}")
    return "\n\n".join(part for part in parts if part)
