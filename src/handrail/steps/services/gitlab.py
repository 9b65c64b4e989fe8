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
from handrail.steps.services import forges
from handrail.steps.services.addresses import GITLAB, address_of, gitlab_base, is_same_host, match_page
from handrail.steps.services.http import UNKNOWN, JsonObject, Service

_PAGE = re.compile(
    r"/(?P<project>[^/]+(?:/(?!-/)[^/]+)+?)(?:/-)?/(?P<kind>merge_requests|issues|work_items)/(?P<number>[0-9]{1,12})"
    r"(?:/.*)?"
)
_LISTS = {"#": "issues", "!": "merge_requests"}
_SUBJECTS = {"read_api": "issue or merge request", "api": "project"}


def issue(reference: str, env: Mapping[str, str]) -> forges.ForgeItem:
    """The issue at an address, if it is on the configured GitLab."""
    item = _item(reference, ("issues", "work_items"), env, "issue")
    if item is None:
        raise LastingError("issue-reference", _wrong(reference, "an issue", "issues"))
    return item


def change(reference: str, env: Mapping[str, str]) -> forges.ForgeItem:
    """The merge request at an address, if it is on the configured GitLab."""
    item = _item(reference, ("merge_requests",), env, "merge request")
    if item is None:
        raise LastingError("merge-request-reference", _wrong(reference, "a merge request", "merge_requests"))
    return item


def issue_or_change(reference: str, env: Mapping[str, str]) -> forges.ForgeItem:
    return change(reference, env) if "/merge_requests/" in reference else issue(reference, env)


def _wrong(reference: str, what: str, kind: str) -> str:
    example = f"https://gitlab.com/GROUP/PROJECT/-/{kind}/7"
    return f"{GITLAB}: `{shown(reference.strip(), 120)}` is not the address of {what}, such as {example}"


def _item(reference: str, kinds: tuple[str, ...], env: Mapping[str, str], what: str) -> forges.ForgeItem | None:
    """The issue or merge request at an address. None if the address is of something else."""
    url, base = reference.strip(), gitlab_base(env)
    match = match_page(url, base, _PAGE, kinds)
    if match is None:
        return None
    if not is_same_host(url, base):
        message = (
            f"{GITLAB}: the {what} is on `{address_of(url)}`, but GITLAB_TOKEN is only sent to "
            f"`{address_of(base)}`; if the token is for the former, set GITLAB_BASE_URL to {address_of(url)}"
        )
        raise LastingError("service-host", message)
    return forges.ForgeItem(match["project"], int(match["number"]), url, "!" if kinds == ("merge_requests",) else "#")


def checked_project(path: str) -> str:
    return path


def open_service(env: Mapping[str, str], writes: bool = False, /) -> Service:
    """The configured GitLab. Raises `NodeError` if the token is missing."""
    base, secret, scope = gitlab_base(env), forges.forge_token("gitlab", env), "api" if writes else "read_api"
    if secret is None:
        raise LastingError("service-config", f"{GITLAB}: set GITLAB_TOKEN to an access token with the scope `{scope}`")
    return Service(
        name=GITLAB,
        base=base,
        headers={"PRIVATE-TOKEN": secret},
        secrets=(secret,),
        reason=lambda answer: next(filter(None, map(answer.data.get, ("message", "error_description", "error"))), None),
        advice={
            401: "check GITLAB_TOKEN",
            403: f"GITLAB_TOKEN needs the scope `{scope}`",
            404: f"does the {_SUBJECTS[scope]} exist, and may GITLAB_TOKEN see it?",
        },
    )


def _project_path(project: str) -> str:
    return f"api/v4/projects/{quote(project, safe='')}"


def _path(target: forges.ForgeItem) -> str:
    return f"{_project_path(target.project)}/{_LISTS[target.sign]}/{target.number}"


def _head(target: forges.ForgeItem, name: str, now: str) -> dict[str, Any]:
    """How each document begins. `name` is `issue` or `merge_request`."""
    number = {f"{name}_iid": target.number}
    return {f"{name}_url": target.page, "project_path": target.project, **number, "fetched_at": now}


def _author(item: JsonObject) -> str:
    who = item.child("author")
    return who.text("username", who.text("name"))


def _state(item: JsonObject, default: str = UNKNOWN) -> str:
    """`open`, `closed` or `merged`. GitLab also calls a change open if it is just being merged."""
    state = item.text("state", default)
    return "open" if state in ("opened", "locked") else state


def _is_by_person(note: JsonObject) -> bool:
    """True if a person wrote this note, and not GitLab itself."""
    return not note.flag("system") and bool(note.text("body", ""))


async def fetch_issue(service: Service, target: forges.ForgeItem, now: str) -> dict[str, Any]:
    """An issue and what people say about it: a document of `gitlab-issue/v1`."""
    issue = await service.get_object(_path(target), "an issue")
    notes = await service.get_objects(f"{_path(target)}/notes", sort="asc", order_by="created_at")
    comments = [_issue_comment(note) for note in notes if _is_by_person(note)]
    title = issue.text("title", f"Issue #{target.number}")
    return {
        "summary": f"{target.name} {title}: {counted(len(comments), 'comment')}",
        **_head(target, "issue", now),
        "issue": {
            "title": title,
            "body": issue.text("description", ""),
            "state": _state(issue),
            "author": _author(issue),
            "labels": issue.names("labels", "name"),
            "assignees": issue.names("assignees", "username"),
            "milestone": issue.child("milestone").text("title", "") or None,
            "created_at": issue.text("created_at"),
            "updated_at": issue.text("updated_at"),
        },
        "comments": comments,
    }


def _issue_comment(note: JsonObject) -> dict[str, Any]:
    return {
        "id": note.id(default=UNKNOWN),
        "author": _author(note),
        "created_at": note.text("created_at"),
        "body": note.raw("body"),
        "is_own": forges.is_marked(note.raw("body")),
    }


async def fetch_changes(service: Service, target: forges.ForgeItem, now: str) -> dict[str, Any]:
    """A merge request and its changed files: a document of `gitlab-mr-diff/v1`."""
    details = await service.get_object(_path(target), "a merge request")
    files = [_changed_file(item) for item in await service.get_objects(f"{_path(target)}/diffs")]
    names = ("state", "source_branch", "target_branch", "sha", "created_at", "updated_at")
    about = {
        "title": details.text("title", f"MR !{target.number}"),
        "description": details.raw("description"),
        "draft": details.flag("draft") or details.flag("work_in_progress"),
        **{name: details.text(name) for name in names},
        "author": _author(details),
    }
    return {
        "summary": f"{target.name} {about['title']}: {counted(len(files), 'changed file')}",
        **_head(target, "merge_request", now),
        "merge_request": about,
        "files": files,
    }


async def fetch_reviews(service: Service, target: forges.ForgeItem, now: str) -> dict[str, Any]:
    """The comments of a merge request: a document of `gitlab-review/v1`."""
    comments = []
    for discussion in await service.get_objects(f"{_path(target)}/discussions"):
        comments += [_review_comment(note, discussion) for note in discussion.children("notes") if _is_by_person(note)]
    return {
        "summary": f"{target.name}: {counted(len(comments), 'comment')}",
        **_head(target, "merge_request", now),
        "comments": comments,
    }


def _changed_file(item: JsonObject) -> dict[str, Any]:
    new_path = item.text("new_path", item.text("old_path"))
    flags = ("new_file", "renamed_file", "deleted_file", "generated_file", "too_large", "collapsed")
    values = {name: item.flag(name) for name in flags}
    kinds = {"new_file": "added", "deleted_file": "deleted", "renamed_file": "renamed"}
    why = "too large" if values["too_large"] else "collapsed" if values["collapsed"] else ""
    note = f"GitLab does not show this diff: it is {why}." if why else "The diff is empty."
    return {
        "old_path": item.text("old_path", new_path),
        "new_path": new_path,
        "change_type": next((word for flag, word in kinds.items() if values[flag]), "modified"),
        **values,
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


async def fetch_checks(service: Service, target: forges.ForgeItem, commit: str | None, now: str) -> dict[str, Any]:
    """The checks of a merge request's last commit, or of one of its commits: a document of `gitlab-checks/v1`."""
    details = await service.get_object(_path(target), "a merge request")
    latest = details.text("sha", "")
    sha = commit or latest
    if not sha:
        raise LastingError("service-json", f"{GITLAB}: the merge request has no commit")
    project = _project_path(target.project)
    statuses = await service.get_objects(f"{project}/repository/commits/{quote(sha, safe='')}/statuses")
    checks = [_check(item) for item in statuses]
    await forges.explain_failures(statuses, checks, lambda item: _failure_text(service, project, item))
    about = {
        "commit": sha,
        "is_head": sha == latest,
        "merge_request_state": _state(details),
        "branch": details.text("source_branch"),
    }
    return forges.checks_document(target, _head(target, "merge_request", now), about, checks)


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
    parts, id_ = [forges.cut_summary(forges.clean_log(item.text("description", "")))], item.number("id")
    if id_ is not None:
        log = forges.fetch_log_end(service, f"{project}/jobs/{id_}/trace", forges.LONGEST_TEXT // 2)
        parts.append(await forges.text_or_reason("log", log))
    return "\n\n".join(part for part in parts if part)


LONGEST_BODY = 500_000


async def comment_once(service: Service, target: forges.ForgeItem, body: str, mark: str) -> forges.ForgeComment:
    content, last_first = forges.with_mark(body, mark, LONGEST_BODY), {"sort": "desc", "order_by": "created_at"}
    comment = await forges.find_or_comment(service, f"{_path(target)}/notes", content, mark, **last_first)
    return forges.ForgeComment(comment.id(), f"{target.page.partition('#')[0]}#note_{comment.id()}")


async def open_once(service: Service, project: str, proposal: forges.Proposal) -> forges.OpenedProposal:
    at = _project_path(project)
    base = proposal.base or await forges.default_branch(service, at, "project")
    branches = {"source_branch": proposal.head, "target_branch": base}

    async def list_changes() -> list[forges.OpenedProposal]:
        items = await service.get_objects(f"{at}/merge_requests", None, **branches, state="all")
        same = [item for item in items if all(item.data.get(name) == value for name, value in branches.items())]
        marked = [(item, forges.is_marked(item.text("description", ""), proposal.mark)) for item in same]
        return [_opened_change(item, is_new) for item, is_new in marked if is_new or item.text("state", "") != "locked"]

    async def create() -> forges.OpenedProposal:
        title = f"Draft: {proposal.title}" if proposal.draft else proposal.title
        description = forges.with_mark(proposal.body, proposal.mark, LONGEST_BODY)
        content = {**branches, "title": title, "description": description}
        return _opened_change(await service.post(f"{at}/merge_requests", content), is_new=True)

    return await forges.find_or_open(list_changes, create)


def _opened_change(item: JsonObject, is_new: bool) -> forges.OpenedProposal:
    number = item.number("iid")
    if number is None:
        raise LastingError("service-json", f"{GITLAB}: its answer is not a merge request")
    return forges.OpenedProposal(
        url=item.text("web_url", ""),
        number=number,
        state=_state(item, "opened"),
        head=item.text("source_branch"),
        base=item.text("target_branch"),
        is_new=is_new,
    )
