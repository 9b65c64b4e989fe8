"""GitHub, github.com or Enterprise, as a `Forge`: issues, pull requests, their reviews and checks, and comments.

The token is sent to GITHUB_API_URL only. What is written is written once: what is there already is found first.
Texts of checks are bounded: for one check, for all together, and in the number of checks that have one.
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
from handrail.steps.services.addresses import (
    ENTERPRISE,
    GITHUB,
    address_of,
    github_api,
    github_web,
    host_of,
    is_same_host,
    match_page,
)
from handrail.steps.services.http import JsonObject, Service

_NAME = r"[A-Za-z0-9._-]{1,100}"
_REPOSITORY = re.compile(rf"(?!\.{{1,2}}/){_NAME}/(?!\.{{1,2}}$){_NAME}")
_SHORT = re.compile(rf"(?P<repository>{_NAME}/{_NAME})#(?P<number>[0-9]{{1,12}})")
_PAGE = re.compile(rf"/(?P<repository>{_NAME}/{_NAME})/(?P<kind>issues|pull)/(?P<number>[0-9]{{1,12}})(?:/.*)?")


def issue(reference: str, env: Mapping[str, str]) -> forges.ForgeItem:
    """The issue that `OWNER/NAME#12` or the address of a page means. It may also be a pull request."""
    item = _item(reference, ("issues", "pull"), env)
    if item is None:
        raise LastingError("issue-reference", _wrong(reference, "an issue", "issues"))
    return item


issue_or_change = issue


def change(reference: str, env: Mapping[str, str]) -> forges.ForgeItem:
    item = _item(reference, ("pull",), env)
    if item is None:
        raise LastingError("pull-request-reference", _wrong(reference, "a pull request", "pull"))
    return item


def _wrong(reference: str, what: str, kind: str) -> str:
    example = f"OWNER/NAME#12 or https://github.com/OWNER/NAME/{kind}/12"
    return f"{GITHUB}: `{shown(reference.strip(), 120)}` is not {what}, such as {example}"


def _item(reference: str, kinds: tuple[str, ...], env: Mapping[str, str]) -> forges.ForgeItem | None:
    """The issue or pull request that a text names. None if it names neither."""
    text, web = reference.strip(), github_web(env)
    match = _SHORT.fullmatch(text) or _page(text, kinds, web)
    if match is None or not _REPOSITORY.fullmatch(match["repository"]):
        return None
    repository, number = match["repository"], int(match["number"])
    return forges.ForgeItem(repository, number, f"{web}{repository}/{kinds[0]}/{number}")


def _page(url: str, kinds: tuple[str, ...], web: str) -> re.Match[str] | None:
    """The parts of a page's address. Raises `NodeError` if it is on another host than the configured GitHub."""
    match = match_page(url, web, _PAGE, kinds)
    if match is not None and not is_same_host(url, web):
        message = (
            f"{GITHUB}: `{shown(match['repository'], 120)}` is on `{host_of(url)}`, but the token is only sent to the "
            f"GitHub at `{host_of(web)}`; if the token is for `{host_of(url)}`, set GITHUB_API_URL to "
            f"{address_of(url)}{ENTERPRISE}"
        )
        raise LastingError("service-host", message)
    return match


def checked_project(path: str) -> str:
    if not _REPOSITORY.fullmatch(path):
        raise LastingError("remote-address", f"{GITHUB}: `{shown(path, 120)}` is not a repository such as OWNER/NAME")
    return path


def open_service(env: Mapping[str, str], _writes: bool = False, /) -> Service:
    """The configured GitHub. Raises `NodeError` if the token is missing."""
    secret = forges.forge_token("github", env)
    if secret is None:
        message = f"{GITHUB}: set GITHUB_TOKEN (or GH_TOKEN) to a token that may see the repository"
        raise LastingError("service-config", message)
    return Service(
        name=GITHUB,
        base=github_api(env),
        headers={
            "Authorization": f"Bearer {secret}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        secrets=(secret,),
        reason=_reason,
        advice={
            401: "check GITHUB_TOKEN",
            403: "may the account of GITHUB_TOKEN do this, and has the token the permission for it?",
            404: "does it exist, and may the account of GITHUB_TOKEN see it?",
        },
    )


def _reason(answer: JsonObject) -> object:
    """GitHub's own words in an error, with those about each wrong member."""
    words = [one.raw("message") for one in (answer, *answer.children("errors"))]
    return ": ".join(filter(None, words)) or None


def _head(target: forges.ForgeItem, name: str, now: str) -> dict[str, Any]:
    """How each document begins. `name` is `issue` or `pull_request`."""
    return {f"{name}_url": target.page, "repository": target.project, "number": target.number, "fetched_at": now}


def _author(item: JsonObject) -> str:
    """The login of a user. The account of a person who has left is null."""
    return item.child("user").text("login")


def _issue_path(target: forges.ForgeItem) -> str:
    return f"repos/{target.project}/issues/{target.number}"


def _pull_path(target: forges.ForgeItem) -> str:
    return f"repos/{target.project}/pulls/{target.number}"


async def fetch_issue(service: Service, target: forges.ForgeItem, now: str) -> dict[str, Any]:
    issue = await service.get_object(_issue_path(target), "an issue")
    comments = [_comment(item) for item in await service.get_objects(f"{_issue_path(target)}/comments")]
    title = issue.text("title", f"Issue #{target.number}")
    return {
        "summary": f"{target.name} {title}: {counted(len(comments), 'comment')}",
        **_head(target, "issue", now),
        "issue": {
            "title": title,
            "body": issue.raw("body"),
            "state": issue.text("state"),
            "author": _author(issue),
            "labels": issue.names("labels", "name"),
            "assignees": issue.names("assignees", "login"),
            "milestone": issue.child("milestone").text("title", "") or None,
            "is_pull_request": isinstance(issue.data.get("pull_request"), dict),
            "created_at": issue.text("created_at"),
            "updated_at": issue.text("updated_at"),
        },
        "comments": comments,
    }


def _comment(item: JsonObject) -> dict[str, Any]:
    """A comment below an issue or a pull request. `is_own`: a step of Handrail has written it."""
    return {
        "id": item.id(),
        "author": _author(item),
        "created_at": item.text("created_at"),
        "body": item.raw("body"),
        "is_bot": item.child("user").raw("type") == "Bot",
        "is_own": forges.is_marked(item.raw("body")),
    }


DIFF = "application/vnd.github.diff"
LARGEST_DIFF = 16 * 1024 * 1024
_KINDS = {"added": "added", "removed": "deleted", "renamed": "renamed"}
_JUDGEMENTS = ("approved", "changes_requested", "dismissed")


async def fetch_diff(service: Service, target: forges.ForgeItem) -> bytes:
    """The whole difference as text. GitHub refuses to make a very large one."""
    return await service.get_file(_pull_path(target), LARGEST_DIFF, DIFF)


async def fetch_changes(service: Service, target: forges.ForgeItem, now: str) -> dict[str, Any]:
    """A pull request and its changed files: a document of `github-pr-diff/v1`."""
    details = await service.get_object(_pull_path(target), "a pull request")
    files = [_changed_file(item) for item in await service.get_objects(f"{_pull_path(target)}/files")]
    about = _pull_about(details, target)
    return {
        "summary": f"{target.name} {about['title']}: {counted(len(files), 'changed file')}",
        **_head(target, "pull_request", now),
        "pull_request": about,
        "files": files,
    }


async def fetch_reviews(service: Service, target: forges.ForgeItem, now: str) -> dict[str, Any]:
    """Reviews, comments on lines and general comments: a document of `github-review/v1`."""
    details = await service.get_object(_pull_path(target), "a pull request")
    items = await service.get_objects(f"{_pull_path(target)}/reviews")
    reviews = [_review(item) for item in items if item.text("state") != "PENDING"]
    lines = [_line_comment(item) for item in await service.get_objects(f"{_pull_path(target)}/comments")]
    others = [_general_comment(item) for item in await service.get_objects(f"{_issue_path(target)}/comments")]
    comments = [comment for comment in (*lines, *others) if comment["body"].strip()]
    return {
        "summary": f"{target.name}: {counted(len(reviews), 'review')}, {counted(len(comments), 'comment')}",
        **_head(target, "pull_request", now),
        "commit": details.child("head").text("sha"),
        "author": _author(details),
        "reviews": _judged(reviews),
        "comments": sorted(comments, key=lambda comment: str(comment["created_at"])),
    }


def _state_of_pull(details: JsonObject) -> str:
    """`open`, `closed` or `merged`."""
    return "merged" if details.flag("merged") else details.text("state")


def _pull_about(details: JsonObject, wanted: forges.ForgeItem) -> dict[str, Any]:
    source, target = details.child("head"), details.child("base")
    return {
        "title": details.text("title", f"Pull request #{wanted.number}"),
        "description": details.raw("body"),
        "state": _state_of_pull(details),
        "draft": details.flag("draft"),
        "source_branch": source.text("ref"),
        "target_branch": target.text("ref"),
        "sha": source.text("sha"),
        "author": _author(details),
        "created_at": details.text("created_at"),
        "updated_at": details.text("updated_at"),
    }


def _changed_file(item: JsonObject) -> dict[str, Any]:
    new_path = item.text("filename")
    kind = _KINDS.get(item.text("status"), "modified")
    is_moved = kind == "renamed" and not item.number("changes")
    note = "The content is the same." if is_moved else "GitHub does not show this diff: it is too large, or not text."
    return {
        "old_path": item.text("previous_filename", new_path),
        "new_path": new_path,
        "change_type": kind,
        "additions": item.number("additions") or 0,
        "deletions": item.number("deletions") or 0,
        "diff": item.text("patch", note),
    }


def _review(item: JsonObject) -> dict[str, Any]:
    return {
        "id": item.id(),
        "author": _author(item),
        "state": item.text("state").lower(),
        "body": item.raw("body"),
        "submitted_at": item.text("submitted_at"),
        "commit": item.text("commit_id"),
        "is_own": forges.is_marked(item.raw("body")),
    }


def _judged(reviews: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reviews, each with `is_current`: no later review of the same person replaces its judgement."""
    judgements = [review for review in reviews if review["state"] in _JUDGEMENTS]
    last = {one["author"]: one["id"] for one in sorted(judgements, key=lambda review: str(review["submitted_at"]))}
    return [{**one, "is_current": one in judgements and last[one["author"]] == one["id"]} for one in reviews]


def _line_comment(item: JsonObject) -> dict[str, Any]:
    """A comment on a file. A thread has the id of its first comment. GitHub says no line if the code has changed."""
    comment, line, is_old = _comment(item), item.number("line"), item.raw("side") == "LEFT"
    return {
        **comment,
        "thread_id": item.id("in_reply_to_id", comment["id"]),
        "review_id": item.id("pull_request_review_id") or None,
        "kind": "line",
        "file_path": item.text("path", "") or None,
        "new_line": None if is_old else line,
        "old_line": (line if is_old else None) if line is not None else item.number("original_line"),
        "is_outdated": line is None and item.raw("subject_type") != "file",
    }


def _general_comment(item: JsonObject) -> dict[str, Any]:
    comment = _comment(item)
    place = dict.fromkeys(("file_path", "new_line", "old_line"))
    return {**comment, "thread_id": comment["id"], "review_id": None, "kind": "general", **place, "is_outdated": False}


MOST_ANNOTATIONS = 50
PASSED = ("success", "neutral", "skipped")
_RUNS_LOGS = "github-actions"
"""The app whose check runs have the ids of jobs, which have logs."""
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")


async def fetch_checks(service: Service, target: forges.ForgeItem, commit: str | None, now: str) -> dict[str, Any]:
    """The checks of a pull request's head, or of one of its commits: a document of `github-checks/v1`."""
    pull = await service.get_object(_pull_path(target), "a pull request")
    latest = pull.child("head").text("sha")
    sha = commit or latest
    if not _SHA.fullmatch(sha):
        raise LastingError("service-json", f"{GITHUB}: the pull request has no head commit")
    path = f"repos/{target.project}/commits/{quote(sha, safe='')}"
    runs = await service.get_objects(f"{path}/check-runs", "check_runs")
    statuses = await service.get_objects(f"{path}/status", "statuses")
    checks = [_run_check(item) for item in runs] + [_status_check(item) for item in statuses]
    await forges.explain_failures(runs, checks, lambda item: _failure_text(service, target, item))
    about = {
        "commit": sha,
        "is_head": latest == sha,
        "pull_request_state": _state_of_pull(pull),
        "branch": pull.child("head").text("ref"),
    }
    return forges.checks_document(target, _head(target, "pull_request", now), about, checks)


def _run_check(item: JsonObject) -> dict[str, Any]:
    result = item.raw("conclusion")
    is_done = item.text("status") == "completed"
    return {
        "name": item.text("name"),
        "kind": "check-run",
        "state": ("passed" if result in PASSED else "failed") if is_done else "pending",
        "result": (result or "unknown") if is_done else item.text("status"),
        "url": item.text("html_url", item.text("details_url", "")) or None,
        "text": "",
    }


def _status_check(item: JsonObject) -> dict[str, Any]:
    result = item.text("state")
    state = {"success": "passed", "pending": "pending"}.get(result, "failed")
    return {
        "name": item.text("context"),
        "kind": "status",
        "state": state,
        "result": result,
        "url": item.text("target_url", "") or None,
        "text": forges.clean_log(item.raw("description"))[: forges.LONGEST_SUMMARY] if state == "failed" else "",
    }


async def _failure_text(service: Service, target: forges.ForgeItem, item: JsonObject) -> str:
    """What a check run says about its failure: its own words, its annotations, and the end of its log."""
    output, id_ = item.child("output"), item.number("id")
    words = [forges.cut_summary(forges.clean_log(output.raw(name))) for name in ("title", "summary", "text")]
    parts, at = [part for part in words if part], f"repos/{target.project}"
    if id_ is not None and output.number("annotations_count") != 0:
        annotations = _annotations(service, f"{at}/check-runs/{id_}/annotations")
        parts.append(await forges.text_or_reason("annotations", annotations))
    if id_ is not None and item.child("app").text("slug") == _RUNS_LOGS:
        most = forges.LONGEST_TEXT - 2 * forges.LONGEST_SUMMARY
        log = forges.fetch_log_end(service, f"{at}/actions/jobs/{id_}/logs", most)
        parts.append(await forges.text_or_reason("log", log))
    return forges.text_end("\n\n".join(part for part in parts if part))


async def _annotations(service: Service, path: str) -> str:
    items = await service.get_objects(path)
    lines = [_annotation(item) for item in items[:MOST_ANNOTATIONS]]
    more = len(items) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more annotations"] if more else [])])


def _annotation(item: JsonObject) -> str:
    line = item.number("start_line")
    place = f"{item.text('path')}{'' if line is None else f':{line}'}"
    parts = (item.raw("title"), item.raw("message"))
    words = ": ".join(part for part in parts if part.strip())
    return f"{place}: {item.text('annotation_level')}: {forges.cut_summary(forges.clean_log(words))}"


LONGEST_BODY = 60_000
"""GitHub refuses more than 65536 characters."""


async def open_once(service: Service, project: str, proposal: forges.Proposal) -> forges.OpenedProposal:
    path = f"repos/{project}"
    base = proposal.base or await forges.default_branch(service, path, "repository")
    owner = proposal.owner or project.partition("/")[0]
    head = f"{owner}:{proposal.head}"

    async def list_changes() -> list[forges.OpenedProposal]:
        pulls = await service.get_objects(f"{path}/pulls", head=head, base=base, state="all")
        same = [item for item in pulls if _is_from_branch(item, owner, proposal.head, base)]
        return [_opened_pull(item, forges.is_marked(item.raw("body"), proposal.mark)) for item in same]

    async def create() -> forges.OpenedProposal:
        body = forges.with_mark(proposal.body, proposal.mark, LONGEST_BODY)
        content = {"title": proposal.title, "head": head, "base": base, "body": body, "draft": proposal.draft}
        return _opened_pull(await service.post(f"{path}/pulls", content), is_new=True)

    return await forges.find_or_open(list_changes, create)


def _is_from_branch(item: JsonObject, owner: str, branch: str, base: str) -> bool:
    """True if a pull request is from this branch. GitHub lists all of them if it does not understand the filter."""
    head = item.child("head")
    owner_of_fork = head.child("repo").child("owner").text("login", owner)
    login = head.child("user").text("login", owner_of_fork)
    return (
        head.text("ref") == branch and login.lower() == owner.lower() and item.child("base").text("ref", base) == base
    )


def _opened_pull(item: JsonObject, is_new: bool) -> forges.OpenedProposal:
    number = item.number("number")
    if number is None:
        raise LastingError("service-json", f"{GITHUB}: its answer is not a pull request")
    is_merged = item.data.get("merged_at") is not None or item.flag("merged")
    return forges.OpenedProposal(
        url=item.text("html_url", ""),
        number=number,
        state="merged" if is_merged else item.text("state", "open"),
        head=item.child("head").text("ref"),
        base=item.child("base").text("ref"),
        is_new=is_new,
    )


async def comment_once(service: Service, target: forges.ForgeItem, body: str, mark: str) -> forges.ForgeComment:
    path = f"{_issue_path(target)}/comments"
    comment = await forges.find_or_comment(service, path, forges.with_mark(body, mark, LONGEST_BODY), mark)
    return forges.ForgeComment(comment.id(), comment.text("html_url", ""))
