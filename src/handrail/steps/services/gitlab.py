"""GitLab as a `Forge`: issues, merge requests, their discussions and checks, and comments.

GITLAB_TOKEN is sent to the configured GitLab only. What is written is written once. The documents are those of
AgentWeaver. GitLab lists jobs and statuses together, the last one of each name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from handrail.extensions.contracts import LastingError
from handrail.source.plain_text import counted
from handrail.source.values import shown
from handrail.steps.services.addresses import GITLAB, address_of, gitlab_base, is_same_host, match_page
from handrail.steps.services.forges import (
    LONGEST_TEXT,
    UNKNOWN,
    ForgeComment,
    ForgeItem,
    OpenedProposal,
    Proposal,
    checks_document,
    clean_log,
    cut_summary,
    default_branch,
    explain_failures,
    fetch_log_end,
    find_or_comment,
    find_or_open,
    forge_token,
    is_marked,
    names_in,
    number_member,
    object_member,
    raw_text_member,
    text_member,
    text_or_reason,
    with_mark,
)
from handrail.steps.services.http import HttpLimits, Service

LIMITS = HttpLimits()
_PAGE = re.compile(
    r"/(?P<project>[^/]+(?:/(?!-/)[^/]+)+?)(?:/-)?/(?P<kind>merge_requests|issues|work_items)/(?P<number>[0-9]{1,12})"
    r"(?:/.*)?"
)
_LISTS = {"#": "issues", "!": "merge_requests"}
_SUBJECTS = {"read_api": "issue or merge request", "api": "project"}


def issue(reference: str, env: Mapping[str, str]) -> ForgeItem:
    """The issue at an address, if it is on the configured GitLab."""
    found = _item(reference, ("issues", "work_items"), "#", env)
    if found is None:
        example = "https://gitlab.com/GROUP/PROJECT/-/issues/7"
        message = f"{GITLAB}: `{shown(reference.strip(), 120)}` is not the address of an issue, such as {example}"
        raise LastingError("issue-reference", message)
    return found


def change(reference: str, env: Mapping[str, str]) -> ForgeItem:
    """The merge request at an address, if it is on the configured GitLab."""
    found = _item(reference, ("merge_requests",), "!", env)
    if found is None:
        url, example = shown(reference.strip(), 120), "https://gitlab.com/GROUP/PROJECT/-/merge_requests/7"
        message = f"{GITLAB}: `{url}` is not the address of a merge request, such as {example}"
        raise LastingError("merge-request-reference", message)
    return found


def issue_or_change(reference: str, env: Mapping[str, str]) -> ForgeItem:
    return change(reference, env) if "/merge_requests/" in reference else issue(reference, env)


def _item(reference: str, kinds: tuple[str, ...], sign: str, env: Mapping[str, str]) -> ForgeItem | None:
    url, base = reference.strip(), gitlab_base(env)
    found = match_page(url, base, _PAGE, kinds)
    if found is not None and not is_same_host(url, base):
        message = (
            f"{GITLAB}: the {'merge request' if sign == '!' else 'issue'} is on `{address_of(url)}`, but GITLAB_TOKEN "
            f"is only sent to `{address_of(base)}`; if the token is for the former, set GITLAB_BASE_URL to "
            f"{address_of(url)}"
        )
        raise LastingError("service-host", message)
    return None if found is None else ForgeItem(found["project"], int(found["number"]), url, sign)


def checked_project(path: str) -> str:
    return path


def open_service(env: Mapping[str, str], writes: bool = False, /) -> Service:
    """The configured GitLab. Raises `NodeError` if the token is missing."""
    base, secret, scope = gitlab_base(env), forge_token("gitlab", env), "api" if writes else "read_api"
    if secret is None:
        raise LastingError("service-config", f"{GITLAB}: set GITLAB_TOKEN to an access token with the scope `{scope}`")
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


def _project_path(project: str) -> str:
    return f"api/v4/projects/{quote(project, safe='')}"


def _path(wanted: ForgeItem) -> str:
    return f"{_project_path(wanted.project)}/{_LISTS[wanted.sign]}/{wanted.number}"


def _head(wanted: ForgeItem, name: str, now: str) -> dict[str, Any]:
    """How each document begins. `name` is `issue` or `merge_request`."""
    number = {f"{name}_iid": wanted.number}
    return {f"{name}_url": wanted.page, "project_path": wanted.project, **number, "fetched_at": now}


def _author(item: dict[str, Any]) -> str:
    who = object_member(item, "author")
    return text_member(who, "username", text_member(who, "name"))


def _state(item: dict[str, Any]) -> str:
    """`open`, `closed` or `merged`. GitLab also calls a change open if it is just being merged."""
    state = text_member(item, "state")
    return "open" if state in ("opened", "locked") else state


def _is_said(note: Any) -> bool:
    """True for what a person wrote. Notes of GitLab itself are left out."""
    return isinstance(note, dict) and note.get("system") is not True and bool(text_member(note, "body", ""))


async def fetch_issue(service: Service, wanted: ForgeItem, now: str) -> dict[str, Any]:
    """An issue and what people say about it: a document of `gitlab-issue/v1`."""
    found = await service.get_object(_path(wanted), "an issue")
    notes = await service.get_objects(f"{_path(wanted)}/notes", sort="asc", order_by="created_at")
    comments = [_issue_comment(note) for note in notes if _is_said(note)]
    title = text_member(found, "title", f"Issue #{wanted.number}")
    return {
        "summary": f"{wanted.name} {title}: {counted(len(comments), 'comment')}",
        **_head(wanted, "issue", now),
        "issue": {
            "title": title,
            "body": text_member(found, "description", ""),
            "state": _state(found),
            "author": _author(found),
            "labels": names_in(found, "labels", "name"),
            "assignees": names_in(found, "assignees", "username"),
            "milestone": text_member(object_member(found, "milestone"), "title", "") or None,
            "created_at": text_member(found, "created_at"),
            "updated_at": text_member(found, "updated_at"),
        },
        "comments": comments,
    }


def _issue_comment(note: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(note.get("id") or UNKNOWN),
        "author": _author(note),
        "created_at": text_member(note, "created_at"),
        "body": note["body"],
        "is_own": is_marked(note["body"]),
    }


async def fetch_changes(service: Service, wanted: ForgeItem, now: str) -> dict[str, Any]:
    """A merge request and its changed files: a document of `gitlab-mr-diff/v1`."""
    details = await service.get_object(_path(wanted), "a merge request")
    files = [_changed_file(item) for item in await service.get_objects(f"{_path(wanted)}/diffs")]
    names = ("state", "source_branch", "target_branch", "sha", "created_at", "updated_at")
    about = {
        "title": text_member(details, "title", f"MR !{wanted.number}"),
        "description": raw_text_member(details, "description"),
        "draft": details.get("draft") is True or details.get("work_in_progress") is True,
        **{name: text_member(details, name) for name in names},
        "author": _author(details),
    }
    return {
        "summary": f"{wanted.name} {about['title']}: {counted(len(files), 'changed file')}",
        **_head(wanted, "merge_request", now),
        "merge_request": about,
        "files": files,
    }


async def fetch_reviews(service: Service, wanted: ForgeItem, now: str) -> dict[str, Any]:
    """The comments of a merge request: a document of `gitlab-review/v1`."""
    comments = []
    for discussion in await service.get_objects(f"{_path(wanted)}/discussions"):
        notes = discussion["notes"] if isinstance(discussion.get("notes"), list) else []
        comments += [_review_comment(note, discussion) for note in notes if _is_said(note)]
    return {
        "summary": f"{wanted.name}: {counted(len(comments), 'comment')}",
        **_head(wanted, "merge_request", now),
        "comments": comments,
    }


def _changed_file(item: dict[str, Any]) -> dict[str, Any]:
    new_path = text_member(item, "new_path", text_member(item, "old_path"))
    flags = ("new_file", "renamed_file", "deleted_file", "generated_file", "too_large", "collapsed")
    found: dict[str, Any] = {name: item.get(name) is True for name in flags}
    kinds = {"new_file": "added", "deleted_file": "deleted", "renamed_file": "renamed"}
    why = "too large" if found["too_large"] else "collapsed" if found["collapsed"] else ""
    note = f"GitLab does not show this diff: it is {why}." if why else "The diff is empty."
    return {
        "old_path": text_member(item, "old_path", new_path),
        "new_path": new_path,
        "change_type": next((word for flag, word in kinds.items() if found[flag]), "modified"),
        **found,
        "diff": text_member(item, "diff", note),
    }


def _review_comment(note: dict[str, Any], discussion: dict[str, Any]) -> dict[str, Any]:
    place = object_member(note, "position")
    return {
        "id": str(note.get("id") or UNKNOWN),
        "discussion_id": str(discussion.get("id") or UNKNOWN),
        "body": note["body"],
        "author": _author(note),
        "created_at": text_member(note, "created_at"),
        "system": False,
        "resolvable": note.get("resolvable") is True,
        "resolved": note.get("resolved") is True,
        "file_path": text_member(place, "new_path", text_member(place, "old_path", "")) or None,
        "new_line": number_member(place, "new_line"),
        "old_line": number_member(place, "old_line"),
    }


_CHECK_STATES = {"success": "passed", "skipped": "passed", "manual": "passed", "failed": "failed", "canceled": "failed"}
"""What a result means. Every other one, such as `running`, is not done."""


async def fetch_checks(service: Service, wanted: ForgeItem, commit: str | None, now: str) -> dict[str, Any]:
    """The checks of a merge request's last commit, or of one of its commits: a document of `gitlab-checks/v1`."""
    details = await service.get_object(_path(wanted), "a merge request")
    latest = text_member(details, "sha", "")
    sha = commit or latest
    if not sha:
        raise LastingError("service-json", f"{GITLAB}: the merge request has no commit")
    project = _project_path(wanted.project)
    listed = await service.get_objects(f"{project}/repository/commits/{quote(sha, safe='')}/statuses")
    checks = [_check(item) for item in listed]
    await explain_failures(listed, checks, lambda item: _failure_text(service, project, item))
    about = {
        "commit": sha,
        "is_head": sha == latest,
        "merge_request_state": _state(details),
        "branch": text_member(details, "source_branch"),
    }
    return checks_document(wanted, _head(wanted, "merge_request", now), about, checks)


def _check(item: dict[str, Any]) -> dict[str, Any]:
    """A job that may fail never fails the pipeline."""
    result = text_member(item, "status")
    state = _CHECK_STATES.get(result, "pending")
    return {
        "name": text_member(item, "name"),
        "state": "passed" if state == "failed" and item.get("allow_failure") is True else state,
        "result": result,
        "url": text_member(item, "target_url", "") or None,
        "text": "",
    }


async def _failure_text(service: Service, project: str, item: dict[str, Any]) -> str:
    """What a failed check says: its description, and the end of its log if it is a job."""
    parts, id_ = [cut_summary(clean_log(text_member(item, "description", "")))], number_member(item, "id")
    if id_ is not None:
        log = fetch_log_end(service, f"{project}/jobs/{id_}/trace", LONGEST_TEXT // 2)
        parts.append(await text_or_reason("log", log))
    return "\n\n".join(part for part in parts if part)


LONGEST_BODY = 500_000


async def comment_once(service: Service, wanted: ForgeItem, body: str, mark: str) -> ForgeComment:
    content, last_first = with_mark(body, mark, LONGEST_BODY), {"sort": "desc", "order_by": "created_at"}
    found = await find_or_comment(service, f"{_path(wanted)}/notes", content, mark, **last_first)
    return ForgeComment(str(found["id"]), f"{wanted.page.partition('#')[0]}#note_{found['id']}")


async def open_once(service: Service, project: str, wanted: Proposal) -> OpenedProposal:
    at = _project_path(project)
    base = wanted.base or await default_branch(service, at, "project")
    branches = {"source_branch": wanted.head, "target_branch": base}

    async def listed() -> list[OpenedProposal]:
        found = await service.get_objects(f"{at}/merge_requests", None, **branches, state="all")
        same = [item for item in found if all(item.get(name) == value for name, value in branches.items())]
        return [_opened(item, is_marked(text_member(item, "description", ""), wanted.mark)) for item in same]

    async def create() -> OpenedProposal:
        title = f"Draft: {wanted.title}" if wanted.draft else wanted.title
        description = with_mark(wanted.body, wanted.mark, LONGEST_BODY)
        content = {**branches, "title": title, "description": description}
        return _opened(await service.post(f"{at}/merge_requests", content), is_new=True)

    return await find_or_open(listed, create)


def _opened(item: Any, is_new: bool) -> OpenedProposal:
    number = number_member(item, "iid") if isinstance(item, dict) else None
    if number is None:
        raise LastingError("service-json", f"{GITLAB}: its answer is not a merge request")
    return OpenedProposal(
        url=text_member(item, "web_url", ""),
        number=number,
        state=_state({"state": "opened", **item}),
        head=text_member(item, "source_branch"),
        base=text_member(item, "target_branch"),
        is_new=is_new,
    )
