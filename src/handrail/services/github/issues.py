"""An issue of GitHub with its comments: a document of `github-issue/v1`. A pull request is an issue, too."""

from __future__ import annotations

from typing import Any

from handrail.services.github.site import author, fetch_list, fetch_object, head, inner, is_bot, raw_text, text
from handrail.services.http import Service
from handrail.services.marks import is_marked
from handrail.services.numbered import Numbered
from handrail.source.plain import counted


async def fetch_issue(service: Service, wanted: Numbered, now: str) -> dict[str, Any]:
    path = f"{wanted.repository.path}/issues/{wanted.number}"
    found = await fetch_object(service, path, "an issue")
    comments = [general_comment(item) for item in await fetch_list(service, f"{path}/comments")]
    title = text(found, "title", f"Issue #{wanted.number}")
    return {
        "summary": f"#{wanted.number} {title}: {counted(len(comments), 'comment')}",
        **head(wanted, "issue", now),
        "issue": {
            "title": title,
            "body": raw_text(found, "body"),
            "state": text(found, "state"),
            "author": author(found),
            "labels": _names(found, "labels", "name"),
            "assignees": _names(found, "assignees", "login"),
            "milestone": text(inner(found, "milestone"), "title", "") or None,
            "is_pull_request": isinstance(found.get("pull_request"), dict),
            "created_at": text(found, "created_at"),
            "updated_at": text(found, "updated_at"),
        },
        "comments": comments,
    }


def general_comment(item: dict[str, Any]) -> dict[str, Any]:
    """A comment below an issue or a pull request. `is_own`: a step of Handrail has written it."""
    body = raw_text(item, "body")
    return {
        "id": str(item.get("id") or ""),
        "author": author(item),
        "created_at": text(item, "created_at"),
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
