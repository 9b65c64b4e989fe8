"""The changes and the discussions of a merge request of GitLab, as documents of AgentWeaver; and a new one."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from handrail.contracts import NodeError
from handrail.services.gitlab.site import PAGE, UNKNOWN, author, line, text
from handrail.services.http import Service
from handrail.services.marks import is_marked, with_mark
from handrail.services.proposals import Opened, Proposal, once
from handrail.services.references import GITLAB, MergeRequest
from handrail.source.plain import counted

LONGEST_DESCRIPTION = 500_000
STATES = {"opened": "open", "locked": "open"}
"""What GitLab calls a merge request that is not merged or closed."""


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
        **head(wanted, url, now),
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
        if isinstance(note, dict) and note.get("system") is not True and text(note, "body", "").strip()
    ]
    return {
        "summary": f"!{wanted.number}: {counted(len(comments), 'comment')}",
        **head(wanted, url, now),
        "comments": comments,
    }


async def open_merge_request(service: Service, project: str, wanted: Proposal) -> Opened:
    """Open a merge request, unless there is an open one from the same branch, or one with the same mark."""
    at = f"api/v4/projects/{quote(project, safe='')}"
    base = wanted.base or await _default_branch(service, at)
    same_branches = {"source_branch": wanted.head, "target_branch": base}

    async def look() -> Opened | None:
        pages = service.pages(f"{at}/merge_requests", PAGE, None, **same_branches, state="all")
        listed = [item async for page in pages for item in page if isinstance(item, dict)]
        same = [item for item in listed if all(item.get(name) == value for name, value in same_branches.items())]
        still_open = [item for item in same if item.get("state") == "opened"]
        ours = [item for item in same if is_marked(text(item, "description", ""), wanted.mark)]
        found = next(iter((*still_open, *ours)), None)
        return None if found is None else _opened(found, is_marked(text(found, "description", ""), wanted.mark))

    async def create() -> Opened:
        title = f"Draft: {wanted.title}" if wanted.draft else wanted.title
        description = with_mark(wanted.body, wanted.mark, LONGEST_DESCRIPTION)
        said = await service.post(f"{at}/merge_requests", {**same_branches, "title": title, "description": description})
        return _opened(said, is_new=True)

    return await once(look, create)


async def _default_branch(service: Service, at: str) -> str:
    found = await service.get_json(at)
    branch = text(found, "default_branch", "") if isinstance(found, dict) else ""
    if not branch:
        raise NodeError("service-json", f"{GITLAB}: the project has no default branch", transient=False)
    return branch


def _opened(item: Any, is_new: bool) -> Opened:
    number = line(item, "iid") if isinstance(item, dict) else None
    if number is None:
        raise NodeError("service-json", f"{GITLAB}: its answer is not a merge request", transient=False)
    return Opened(
        url=text(item, "web_url", ""),
        number=number,
        state=STATES.get(text(item, "state", "opened"), text(item, "state", "opened")),
        head=text(item, "source_branch", UNKNOWN),
        base=text(item, "target_branch", UNKNOWN),
        is_new=is_new,
    )


def head(wanted: MergeRequest, url: str, now: str) -> dict[str, Any]:
    return {
        "merge_request_url": url,
        "project_path": wanted.project,
        "merge_request_iid": wanted.number,
        "fetched_at": now,
    }


def _about(details: dict[str, Any], wanted: MergeRequest) -> dict[str, Any]:
    names = ("state", "source_branch", "target_branch", "sha", "created_at", "updated_at")
    return {
        "title": text(details, "title", f"MR !{wanted.number}"),
        "description": details["description"] if isinstance(details.get("description"), str) else "",
        "draft": details.get("draft") is True or details.get("work_in_progress") is True,
        **{name: text(details, name, UNKNOWN) for name in names},
        "author": author(details),
    }


def _file(item: dict[str, Any]) -> dict[str, Any]:
    new_path = text(item, "new_path", text(item, "old_path", UNKNOWN))
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
        "old_path": text(item, "old_path", new_path),
        "new_path": new_path,
        "change_type": next((word for flag, word in kinds.items() if found[flag]), "modified"),
        **found,
        "diff": diff if isinstance(diff, str) and diff.strip() else note[why],
    }


def _comment(note: dict[str, Any], discussion: dict[str, Any]) -> dict[str, Any]:
    place = note["position"] if isinstance(note.get("position"), dict) else {}
    return {
        "id": str(note.get("id") or UNKNOWN),
        "discussion_id": str(discussion.get("id") or UNKNOWN),
        "body": note["body"],
        "author": author(note),
        "created_at": text(note, "created_at", UNKNOWN),
        "system": False,
        "resolvable": note.get("resolvable") is True,
        "resolved": note.get("resolved") is True,
        "file_path": text(place, "new_path", text(place, "old_path", "")) or None,
        "new_line": line(place, "new_line"),
        "old_line": line(place, "old_line"),
    }
