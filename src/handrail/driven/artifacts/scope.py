"""The default scope of a run: its issue or the checked-out branch, and a hash of its folder."""

from __future__ import annotations

import hashlib
import os
import re
from urllib.parse import urlsplit

from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL, scope_name
from handrail.settings.folders import checkout
from handrail.source.values import Unresolved

NO_BRANCH = "no-branch"
"""In place of the branch, in a folder without Git."""
_KEY = re.compile(r"(?:[A-Za-z][A-Za-z0-9_]*)-[0-9]+")
_SHORT = re.compile(r"[A-Za-z0-9._-]+/(?P<name>[A-Za-z0-9._-]+)#(?P<number>[0-9]{1,12})")
_NUMBERED = re.compile(
    r".*/(?P<name>(?!-/)[^/]+)(?:/-)?/(?:issues|work_items|pull|merge_requests)/(?P<number>[0-9]{1,12})(?:/.*)?"
)


def issue_key(reference: str) -> str | None:
    """The key of a Jira issue, from the key itself or the address of its page. None if it is neither."""
    try:
        key = urlsplit(reference).path.rstrip("/").rpartition("/")[2] if "://" in reference else reference.strip()
    except ValueError:
        return None
    return key.upper() if _KEY.fullmatch(key) else None


def ticket_key(reference: str) -> str | None:
    """A short name for the ticket that a task names: the key of a Jira issue, or the repository and the number.

    None if the task names no ticket.
    """
    text = reference.strip()
    try:
        path = urlsplit(text).path if "://" in text else text
    except ValueError:
        return None
    match = _NUMBERED.fullmatch(path.rstrip("/")) if "://" in text else _SHORT.fullmatch(path)
    return f"{match['name']}-{match['number']}" if match else issue_key(text)


def default_scope(project: str, name: str | None = None) -> str:
    """`branch@hash`, or `name@hash`. The hash distinguishes two worktrees with the same branch name."""
    place = checkout(project)
    if place is None:
        return scope_at(project, name or NO_BRANCH)
    return scope_at(place.top, name or _branch(os.path.join(place.top, ".git")))


def scope_at(top: str, head: str) -> str:
    """`head@hash` for a checkout, also if it does not exist yet."""
    mark = hashlib.sha1(top.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:8]
    try:
        return scope_name(f"{head}@{mark}")
    except Unresolved:
        return scope_name(f"scope@{mark}")


def scope_from_name(project: str, name: str) -> str:
    """The scope that a person names. An issue means its own scope, if that exists and no scope has the name itself."""
    scope, issue = scope_name(name), issue_key(name)
    if issue is None or _exists(project, scope):
        return scope
    of_issue = default_scope(project, issue)
    return of_issue if _exists(project, of_issue) else scope


def _exists(project: str, scope: str) -> bool:
    return any(os.path.isdir(os.path.join(project, root, scope)) for root in (AGENTWEAVER, HANDRAIL))


def _branch(git: str) -> str:
    """The branch that is checked out, from git's files. `git` is the `.git` of the checkout."""
    try:
        if os.path.isfile(git):
            with open(git, encoding="utf-8") as file:
                target = file.read(4096).removeprefix("gitdir:").strip()
            git = os.path.join(os.path.dirname(git), target)
        with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
            head = file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return NO_BRANCH
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else "detached-head"
