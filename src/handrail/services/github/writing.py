"""What is written to GitHub, each thing once: a pull request, a comment. What is there already is found first."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.contracts import NodeError
from handrail.services.github.site import fetch_list, fetch_object, inner, number, raw_text, text
from handrail.services.http import Service
from handrail.services.marks import is_marked, with_mark
from handrail.services.numbered import GITHUB, Numbered, Repository
from handrail.services.proposals import Opened, Proposal, once

LONGEST_BODY = 60_000
"""GitHub refuses more than 65536 characters."""


class Comment(NamedTuple):
    """A comment, and the address of its page."""

    id: str
    url: str


async def open_pull_request(service: Service, at: Repository, wanted: Proposal, fork: str | None = None) -> Opened:
    """Open a pull request, unless there is an open one from the same branch, or one with the same mark.

    `fork` is the owner of the fork that has the branch.
    """
    base = wanted.base or await _default_branch(service, at)
    owner = fork or at.owner
    head = f"{owner}:{wanted.head}"
    body = with_mark(wanted.body, wanted.mark, LONGEST_BODY)

    async def look() -> Opened | None:
        listed = await fetch_list(service, f"{at.path}/pulls", head=head, base=base, state="all")
        same = [item for item in listed if _is_from(item, owner, wanted.head, base)]
        still_open = [item for item in same if text(item, "state") == "open"]
        ours = [item for item in same if is_marked(raw_text(item, "body"), wanted.mark)]
        found = next(iter((*still_open, *ours)), None)
        return None if found is None else _opened(found, is_marked(raw_text(found, "body"), wanted.mark))

    async def create() -> Opened:
        content = {"title": wanted.title, "head": head, "base": base, "body": body, "draft": wanted.draft}
        said = await service.post(f"{at.path}/pulls", content)
        return _opened(said, is_new=True)

    return await once(look, create)


async def _default_branch(service: Service, at: Repository) -> str:
    found = text(await fetch_object(service, at.path, "a repository"), "default_branch", "")
    if not found:
        raise NodeError("service-json", f"{GITHUB}: the repository has no default branch", transient=False)
    return found


def _is_from(item: dict[str, Any], owner: str, branch: str, base: str) -> bool:
    """True if a pull request is from this branch. GitHub lists all of them if it does not understand the filter."""
    head = inner(item, "head")
    login = text(inner(head, "user"), "login", text(inner(inner(head, "repo"), "owner"), "login", owner))
    return (
        text(head, "ref") == branch
        and login.lower() == owner.lower()
        and text(inner(item, "base"), "ref", base) == base
    )


def _opened(item: Any, is_new: bool) -> Opened:
    found = number(item, "number") if isinstance(item, dict) else None
    if found is None:
        raise NodeError("service-json", f"{GITHUB}: its answer is not a pull request", transient=False)
    is_merged = item.get("merged_at") is not None or item.get("merged") is True
    return Opened(
        url=text(item, "html_url", ""),
        number=found,
        state="merged" if is_merged else text(item, "state", "open"),
        head=text(inner(item, "head"), "ref"),
        base=text(inner(item, "base"), "ref"),
        is_new=is_new,
    )


async def comment_once(service: Service, wanted: Numbered, body: str, mark: str) -> Comment:
    """Write a comment below an issue or a pull request, unless there is one with the same mark."""
    path = f"{wanted.repository.path}/issues/{wanted.number}/comments"
    content = {"body": with_mark(body, mark, LONGEST_BODY)}

    async def look() -> Comment | None:
        listed = await fetch_list(service, path)
        found = next((item for item in listed if is_marked(raw_text(item, "body"), mark)), None)
        return None if found is None else _comment(found)

    async def create() -> Comment:
        return _comment(await service.post(path, content))

    return await once(look, create)


def _comment(item: Any) -> Comment:
    if not isinstance(item, dict) or number(item, "id") is None:
        raise NodeError("service-json", f"{GITHUB}: its answer is not a comment", transient=False)
    return Comment(str(item["id"]), text(item, "html_url", ""))
