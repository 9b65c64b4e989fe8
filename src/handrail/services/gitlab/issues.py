"""An issue of GitLab with its comments, as a document; and a comment below an issue or merge request, written once."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.contracts import NodeError
from handrail.services.gitlab.site import PAGE, UNKNOWN, author, text
from handrail.services.http import Service
from handrail.services.marks import is_marked, with_mark
from handrail.services.proposals import once
from handrail.services.references import GITLAB, GitLabIssue, MergeRequest
from handrail.source.plain import counted

LONGEST_NOTE = 500_000
_STATES = {"opened": "open"}


class Note(NamedTuple):
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
    comments = [_comment(note) for note in notes if note.get("system") is not True and text(note, "body", "")]
    title = text(found, "title", f"Issue #{wanted.number}")
    return {
        "summary": f"#{wanted.number} {title}: {counted(len(comments), 'comment')}",
        "issue_url": url,
        "project_path": wanted.project,
        "issue_iid": wanted.number,
        "fetched_at": now,
        "issue": _about(found, title),
        "comments": comments,
    }


def _about(found: dict[str, Any], title: str) -> dict[str, Any]:
    milestone = found["milestone"] if isinstance(found.get("milestone"), dict) else {}
    state = text(found, "state", UNKNOWN)
    return {
        "title": title,
        "body": text(found, "description", ""),
        "state": _STATES.get(state, state),
        "author": author(found),
        "labels": [item for item in _items(found, "labels") if isinstance(item, str) and item.strip()],
        "assignees": [text(item, "username", UNKNOWN) for item in _items(found, "assignees") if isinstance(item, dict)],
        "milestone": text(milestone, "title", "") or None,
        "created_at": text(found, "created_at", UNKNOWN),
        "updated_at": text(found, "updated_at", UNKNOWN),
    }


def _items(found: dict[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _comment(note: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(note.get("id") or UNKNOWN),
        "author": author(note),
        "created_at": text(note, "created_at", UNKNOWN),
        "body": note["body"],
        "is_own": is_marked(note["body"]),
    }


async def comment_once(service: Service, wanted: GitLabIssue | MergeRequest, url: str, body: str, mark: str) -> Note:
    """Write a comment below an issue or a merge request, unless there is one with the same mark."""
    path = f"{wanted.path}/notes"
    page = url.partition("#")[0]

    async def look() -> Note | None:
        pages = service.pages(path, PAGE, None, sort="desc", order_by="created_at")
        notes = [note async for page in pages for note in page if isinstance(note, dict)]
        found = next((note for note in notes if is_marked(text(note, "body", ""), mark)), None)
        return None if found is None else _note(found, page)

    async def create() -> Note:
        return _note(await service.post(path, {"body": with_mark(body, mark, LONGEST_NOTE)}), page)

    return await once(look, create)


def _note(item: Any, page: str) -> Note:
    if not isinstance(item, dict) or not isinstance(item.get("id"), int):
        raise NodeError("service-json", f"{GITLAB}: its answer is not a comment", transient=False)
    return Note(str(item["id"]), f"{page}#note_{item['id']}")
