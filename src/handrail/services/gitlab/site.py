"""The configured GitLab, and what its answers have in common. GITLAB_TOKEN is sent to it only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from handrail.contracts import NodeError
from handrail.services.forges import token
from handrail.services.http import Limits, Service
from handrail.services.references import GITLAB

LIMITS = Limits()
PAGE = 100
UNKNOWN = "unknown"
_SUBJECTS = {"read_api": "issue or merge request", "api": "project"}


def gitlab(base: str, env: Mapping[str, str], scope: Literal["read_api", "api"] = "read_api") -> Service:
    """The GitLab at this address. Raises `NodeError` if the token is missing."""
    secret = token("gitlab", env)
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
    return text(who, "username", text(who, "name", UNKNOWN))


def text(item: Mapping[str, Any], name: str, default: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else default


def line(place: Mapping[str, Any], name: str) -> int | None:
    value = place.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
