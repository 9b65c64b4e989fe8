"""The configured GitHub, and how its answers are read. The token is sent to GITHUB_API_URL only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import NodeError
from handrail.services.forges import token
from handrail.services.http import Limits, Service
from handrail.services.numbered import GITHUB, Numbered, github_api

LIMITS = Limits()
PAGE = 100
UNKNOWN = "unknown"


def github(env: Mapping[str, str]) -> Service:
    """The configured GitHub. Raises `NodeError` if the token is missing."""
    secret = token("github", env)
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


def head(wanted: Numbered, name: str, now: str) -> dict[str, Any]:
    """How each document begins. `name` is `issue` or `pull_request`."""
    return {
        f"{name}_url": wanted.page,
        "repository": wanted.repository.full_name,
        "number": wanted.number,
        "fetched_at": now,
    }


def text(item: Mapping[str, Any], name: str, default: str = UNKNOWN) -> str:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else default


def raw_text(item: Mapping[str, Any], name: str) -> str:
    """The text of a member; empty if it is missing or null."""
    value = item.get(name)
    return value if isinstance(value, str) else ""


def inner(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object of a member; empty if it is missing or null."""
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def author(item: Mapping[str, Any]) -> str:
    """The login of a user. The account of a person who has left is null."""
    return text(inner(item, "user"), "login")


def is_bot(item: Mapping[str, Any]) -> bool:
    return inner(item, "user").get("type") == "Bot"


def number(item: Mapping[str, Any], name: str) -> int | None:
    value = item.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
