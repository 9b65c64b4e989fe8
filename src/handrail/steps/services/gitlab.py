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
    text_or_reason,
    with_mark,
)
from handrail.steps.services.http import UNKNOWN, JsonObject, Service

_PAGE = re.compile(
    r"/(?P<project>[^/]+(?:/(?!-/)[^/]+)+?)(?:/-)?/(?P<kind>merge_requests|issues|work_items)/(?P<number>[0-9]{1,12})"
    r"(?:/.*)?"
)
_LISTS = {"#": "issues", "!": "merge_requests"}
_SUBJECTS = {"read_api": "issue or merge request", "api": "project"}


def issue(reference: str, env: Mapping[str, str]) -> ForgeItem:
    """The issue at an address, if it is on the configured GitLab."""
    item = _item(reference, ("issues", "work_items"), env, "issue")
    if item is None:
        raise LastingError("issue-reference", _wrong(reference, "an issue", "issues"))
    return item


def change(reference: str, env: Mapping[str, str]) -> ForgeItem:
    """The merge request at an address, if it is on the configured GitLab."""
    item = _item(reference, ("merge_requests",), env, "merge request")
    if item is None:
        raise LastingError("merge-request-reference", _wrong(reference, "a merge request", "merge_requests"))
    return item


def issue_or_change(reference: str, env: Mapping[str, str]) -> ForgeItem:
    return change(reference, env) if "/merge_requests/" in reference else issue(reference, env)


def _wrong(reference: str, what: str, kind: str) -> str:
    example = f"https://gitlab.com/GROUP/PROJECT/-/{kind}/7"
    return f"{GITLAB}: `{shown(reference.strip(), 120)}` is not the address of {what}, such as {example}"


def _item(reference: str, kinds: tuple[str, ...], env: Mapping[str, str], what: str) -> ForgeItem | None:
    """What an address means. None if it is something else."""
    url, base = reference.strip(), gitlab_base(env)
    found = match_page(url, base, _PAGE, kinds)
    if found is None:
        return None
    if not is_same_host(url, base):
        message = (
            f"{GITLAB}: the {what} is on `{address_of(url)}`, but GITLAB_TOKEN is only sent to "
            f"`{address_of(base)}`; if the token is for the former, set GITLAB_BASE_URL to {address_of(url)}"
        )
        raise LastingError("service-host", message)
    return ForgeItem(found["project"], int(found["number"]), url, "!" if kinds == ("merge_requests",) else "#")


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
        reason=lambda said: next(filter(None, map(said.data.get, ("message", "error_description", "error"))), None),
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


def _author(item: JsonObject) -> str:
    who = item.child("author")
    return who.text("username", who.text("name"))


def _state(item: JsonObject, default: str = UNKNOWN) -> str:
    """`open`, `closed` or `merged`. GitLab also calls a change open if it is just being merged."""
    state = item.text("state", default)
    return "open" if state in ("opened", "locked") else state


def _is_said(note: JsonObject) -> bool:
    """True for what a person wrote. Notes of GitLab itself are left out."""
    return not note.flag("system") and bool(note.text("body", ""))


async def fetch_issue(service: Service, wanted: ForgeItem, now: str) -> dict[str, Any]:
    """An issue and what people say about it: a document of `gitlab-issue/v1`."""
    found = await service.get_object(_path(wanted), "an issue")
    notes = await service.get_objects(f"{_path(wanted)}/notes", sort="asc", order_by="created_at")
    comments = [_issue_comment(note) for note in notes if _is_said(note)]
    title = found.text("title", f"Issue #{wanted.number}")
    return {
        "summary": f"{wanted.name} {title}: {counted(len(comments), 'comment')}",
        **_head(wanted, "issue", now),
        "issue": {
            "title": title,
            "body": found.text("description", ""),
            "state": _state(found),
            "author": _author(found),
            "labels": found.names("labels", "name"),
            "assignees": found.names("assignees", "username"),
            "milestone": found.child("milestone").text("title", "") or None,
            "created_at": found.text("created_at"),
            "updated_at": found.text("updated_at"),
        },
        "comments": comments,
    }


def _issue_comment(note: JsonObject) -> dict[str, Any]:
    return {
        "id": note.id(default=UNKNOWN),
        "author": _author(note),
        "created_at": note.text("created_at"),
        "body": note.raw("body"),
        "is_own": is_marked(note.raw("body")),
    }


async def fetch_changes(service: Service, wanted: ForgeItem, now: str) -> dict[str, Any]:
    """A merge request and its changed files: a document of `gitlab-mr-diff/v1`."""
    details = await service.get_object(_path(wanted), "a merge request")
    files = [_changed_file(item) for item in await service.get_objects(f"{_path(wanted)}/diffs")]
    names = ("state", "source_branch", "target_branch", "sha", "created_at", "updated_at")
    about = {
        "title": details.text("title", f"MR !{wanted.number}"),
        "description": details.raw("description"),
        "draft": details.flag("draft") or details.flag("work_in_progress"),
        **{name: details.text(name) for name in names},
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
        comments += [_review_comment(note, discussion) for note in discussion.children("notes") if _is_said(note)]
    return {
        "summary": f"{wanted.name}: {counted(len(comments), 'comment')}",
        **_head(wanted, "merge_request", now),
        "comments": comments,
    }


def _changed_file(item: JsonObject) -> dict[str, Any]:
    new_path = item.text("new_path", item.text("old_path"))
    flags = ("new_file", "renamed_file", "deleted_file", "generated_file", "too_large", "collapsed")
    found = {name: item.flag(name) for name in flags}
    kinds = {"new_file": "added", "deleted_file": "deleted", "renamed_file": "renamed"}
    why = "too large" if found["too_large"] else "collapsed" if found["collapsed"] else ""
    note = f"GitLab does not show this diff: it is {why}." if why else "The diff is empty."
    return {
        "old_path": item.text("old_path", new_path),
        "new_path": new_path,
        "change_type": next((word for flag, word in kinds.items() if found[flag]), "modified"),
        **found,
        "diff": item.text("diff", note),
    }


def _review_comment(note: JsonObject, discussion: JsonObject) -> dict[str, Any]:
    place = note.child("position")
    return {
        "id": note.id(default=UNKNOWN),
        "discussion_id": discussion.id(default=UNKNOWN),
        "body": note.raw("body"),
        "author": _author(note),
        "created_at": note.text("created_at"),
        "system": False,
        "resolvable": note.flag("resolvable"),
        "resolved": note.flag("resolved"),
        "file_path": place.text("new_path", place.text("old_path", "")) or None,
        "new_line": place.number("new_line"),
        "old_line": place.number("old_line"),
    }


_CHECK_STATES = {"success": "passed", "skipped": "passed", "manual": "passed", "failed": "failed", "canceled": "failed"}
"""What a result means. Every other one, such as `running`, is not done."""


async def fetch_checks(service: Service, wanted: ForgeItem, commit: str | None, now: str) -> dict[str, Any]:
    """The checks of a merge request's last commit, or of one of its commits: a document of `gitlab-checks/v1`."""
    details = await service.get_object(_path(wanted), "a merge request")
    latest = details.text("sha", "")
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
        "branch": details.text("source_branch"),
    }
    return checks_document(wanted, _head(wanted, "merge_request", now), about, checks)


def _check(item: JsonObject) -> dict[str, Any]:
    """A job that may fail never fails the pipeline."""
    result = item.text("status")
    state = _CHECK_STATES.get(result, "pending")
    return {
        "name": item.text("name"),
        "state": "passed" if state == "failed" and item.flag("allow_failure") else state,
        "result": result,
        "url": item.text("target_url", "") or None,
        "text": "",
    }


async def _failure_text(service: Service, project: str, item: JsonObject) -> str:
    """What a failed check says: its description, and the end of its log if it is a job."""
    parts, id_ = [cut_summary(clean_log(item.text("description", "")))], item.number("id")
    if id_ is not None:
        log = fetch_log_end(service, f"{project}/jobs/{id_}/trace", LONGEST_TEXT // 2)
        parts.append(await text_or_reason("log", log))
    return "\n\n".join(part for part in parts if part)


LONGEST_BODY = 500_000


async def comment_once(service: Service, wanted: ForgeItem, body: str, mark: str) -> ForgeComment:
    content, last_first = with_mark(body, mark, LONGEST_BODY), {"sort": "desc", "order_by": "created_at"}
    found = await find_or_comment(service, f"{_path(wanted)}/notes", content, mark, **last_first)
    return ForgeComment(found.id(), f"{wanted.page.partition('#')[0]}#note_{found.id()}")


async def open_once(service: Service, project: str, wanted: Proposal) -> OpenedProposal:
    at = _project_path(project)
    base = wanted.base or await default_branch(service, at, "project")
    branches = {"source_branch": wanted.head, "target_branch": base}

    async def listed() -> list[OpenedProposal]:
        found = await service.get_objects(f"{at}/merge_requests", None, **branches, state="all")
        same = [item for item in found if all(item.data.get(name) == value for name, value in branches.items())]
        return [_opened(item, is_marked(item.text("description", ""), wanted.mark)) for item in same]

    async def create() -> OpenedProposal:
        title = f"Draft: {wanted.title}" if wanted.draft else wanted.title
        description = with_mark(wanted.body, wanted.mark, LONGEST_BODY)
        content = {**branches, "title": title, "description": description}
        return _opened(await service.post(f"{at}/merge_requests", content), is_new=True)

    return await find_or_open(listed, create)


def _opened(item: JsonObject, is_new: bool) -> OpenedProposal:
    number = item.number("iid")
    if number is None:
        raise LastingError("service-json", f"{GITLAB}: its answer is not a merge request")
    return OpenedProposal(
        url=item.text("web_url", ""),
        number=number,
        state=_state(item, "opened"),
        head=item.text("source_branch"),
        base=item.text("target_branch"),
        is_new=is_new,
    )
