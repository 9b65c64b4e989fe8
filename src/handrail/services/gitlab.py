"""GitLab: the changes and the discussions of a merge request, as documents of AgentWeaver.

GITLAB_TOKEN is sent to the configured GitLab only. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import NodeError
from handrail.services.http import Limits, Service
from handrail.services.references import GITLAB, MergeRequest
from handrail.source.plain import counted

LIMITS = Limits()
PAGE = 100
_UNKNOWN = "unknown"


def gitlab(wanted: MergeRequest, env: Mapping[str, str]) -> Service:
    """The GitLab of a merge request. Raises `NodeError` if the token is missing."""
    token = env.get("GITLAB_TOKEN", "").strip()
    if not token:
        message = f"{GITLAB}: set GITLAB_TOKEN to an access token with the scope `read_api`"
        raise NodeError("service-config", message, transient=False)
    if not token.isascii() or not token.isprintable():
        message = f"{GITLAB}: GITLAB_TOKEN contains a character that no token has"
        raise NodeError("service-config", message, transient=False)
    return Service(
        name=GITLAB,
        base=wanted.base,
        headers={"PRIVATE-TOKEN": token},
        secrets=(token,),
        limits=LIMITS,
        reason=lambda said: said.get("message") or said.get("error_description") or said.get("error"),
        advice={
            401: "check GITLAB_TOKEN",
            403: "GITLAB_TOKEN needs the scope `read_api`",
            404: "does the merge request exist, and may GITLAB_TOKEN see it?",
        },
    )


async def fetch_diff(service: Service, wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    """A merge request and its changed files: a document of `gitlab-mr-diff/v1`."""
    details = await service.get_json(wanted.path)
    if not isinstance(details, dict):
        raise NodeError("service-json", f"{GITLAB}: its answer is not a merge request", transient=False)
    listed = [item async for page in service.pages(f"{wanted.path}/diffs", PAGE) for item in page]
    files = [_file(item) for item in listed if isinstance(item, dict)]
    about = _about(details, wanted)
    return {
        "summary": f"!{wanted.number} {about['title']}: {counted(len(files), 'changed file')}",
        **_head(wanted, url, now),
        "merge_request": about,
        "files": files,
    }


async def fetch_review(service: Service, wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    """The comments of a merge request: a document of `gitlab-review/v1`. Notes of GitLab itself are left out."""
    listed = [item async for page in service.pages(f"{wanted.path}/discussions", PAGE) for item in page]
    comments = [
        _comment(note, discussion)
        for discussion in listed
        if isinstance(discussion, dict) and isinstance(discussion.get("notes"), list)
        for note in discussion["notes"]
        if isinstance(note, dict) and note.get("system") is not True and _text(note, "body", "").strip()
    ]
    return {
        "summary": f"!{wanted.number}: {counted(len(comments), 'comment')}",
        **_head(wanted, url, now),
        "comments": comments,
    }


def _head(wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    return {
        "merge_request_url": url,
        "project_path": wanted.project,
        "merge_request_iid": wanted.number,
        "fetched_at": now,
    }


def _about(details: dict[str, Any], wanted: MergeRequest) -> dict[str, Any]:
    names = ("state", "source_branch", "target_branch", "sha", "created_at", "updated_at")
    return {
        "title": _text(details, "title", f"MR !{wanted.number}"),
        "description": details["description"] if isinstance(details.get("description"), str) else "",
        "draft": details.get("draft") is True or details.get("work_in_progress") is True,
        **{name: _text(details, name, _UNKNOWN) for name in names},
        "author": _author(details),
    }


def _file(item: dict[str, Any]) -> dict[str, Any]:
    new_path = _text(item, "new_path", _text(item, "old_path", _UNKNOWN))
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
        "old_path": _text(item, "old_path", new_path),
        "new_path": new_path,
        "change_type": next((word for flag, word in kinds.items() if found[flag]), "modified"),
        **found,
        "diff": diff if isinstance(diff, str) and diff.strip() else note[why],
    }


def _comment(note: dict[str, Any], discussion: dict[str, Any]) -> dict[str, Any]:
    place = note["position"] if isinstance(note.get("position"), dict) else {}
    return {
        "id": str(note.get("id") or _UNKNOWN),
        "discussion_id": str(discussion.get("id") or _UNKNOWN),
        "body": note["body"],
        "author": _author(note),
        "created_at": _text(note, "created_at", _UNKNOWN),
        "system": False,
        "resolvable": note.get("resolvable") is True,
        "resolved": note.get("resolved") is True,
        "file_path": _text(place, "new_path", _text(place, "old_path", "")) or None,
        "new_line": _line(place, "new_line"),
        "old_line": _line(place, "old_line"),
    }


def _author(item: dict[str, Any]) -> str:
    author = item["author"] if isinstance(item.get("author"), dict) else {}
    return _text(author, "username", _text(author, "name", _UNKNOWN))


def _text(item: Mapping[str, Any], name: str, default: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else default


def _line(place: Mapping[str, Any], name: str) -> int | None:
    value = place.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
