"""What people write to name a Jira issue or a merge request of GitLab, and the addresses that this means. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from handrail.contracts import NodeError
from handrail.services.addresses import address_of, base_address, host_of, is_same_host
from handrail.source.values import shown

JIRA, GITLAB = "Jira", "GitLab"
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*-[0-9]+")
_PAGE = re.compile(r"(?P<root>.*?)/(?:browse|issues)/(?P<key>[^/]+)/?")
_MERGE_REQUEST = re.compile(
    r"/(?P<project>[^/]+(?:/(?!-/)[^/]+)+?)(?:/-)?/merge_requests/(?P<number>[0-9]{1,12})(?:/.*)?"
)
_PUBLIC_GITLAB = "https://gitlab.com"


class Issue(NamedTuple):
    """An issue of the Jira at `base`, which ends with a slash."""

    key: str
    base: str

    @property
    def page(self) -> str:
        return f"{self.base}browse/{self.key}"

    @property
    def api(self) -> str:
        return f"{self.base}rest/api/2/issue/{self.key}"


class MergeRequest(NamedTuple):
    """A merge request of the GitLab at `base`, which ends with a slash."""

    base: str
    project: str
    number: int

    @property
    def path(self) -> str:
        """Its path below `base`, in the API."""
        return f"api/v4/projects/{quote(self.project, safe='')}/merge_requests/{self.number}"


def jira_base(env: Mapping[str, str]) -> str | None:
    """The configured address of Jira, checked. None if there is none."""
    given = env.get("JIRA_BASE_URL", "").strip()
    return base_address(JIRA, "JIRA_BASE_URL", given) if given else None


def is_issue_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def issue(reference: str, env: Mapping[str, str]) -> Issue:
    """The issue that a key or the address of a page means. Raises `NodeError`."""
    given, configured = reference.strip(), jira_base(env)
    if is_issue_key(given):
        if configured is None:
            message = f"{JIRA}: JIRA_BASE_URL is not set; set it to the address of your Jira"
            raise NodeError("service-config", message, transient=False)
        return Issue(given.upper(), configured)
    try:
        key, root = _page(given)
    except ValueError:
        message = f"{JIRA}: `{shown(given, 80)}` is neither the key of an issue, such as ABC-12, nor the address of one"
        raise NodeError("issue-reference", message, transient=False) from None
    if configured is not None and not is_same_host(root, configured):
        message = f"{JIRA}: the issue is on `{host_of(root)}`, but JIRA_BASE_URL is on `{host_of(configured)}`"
        raise NodeError("service-host", message, transient=False)
    return Issue(key.upper(), configured or base_address(JIRA, "the address of the issue", root))


def _page(url: str) -> tuple[str, str]:
    """The key in the address of a page, and the address of its Jira. Raises `ValueError`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError
    page = _PAGE.fullmatch(parts.path)
    chosen = parse_qs(parts.query).get("selectedIssue", [""])[-1]
    if page is not None and is_issue_key(page["key"]):
        return page["key"], f"{parts.scheme}://{parts.netloc}{page['root']}"
    if is_issue_key(chosen):
        return chosen, f"{parts.scheme}://{parts.netloc}"
    raise ValueError


def gitlab_base(env: Mapping[str, str]) -> str:
    """The configured address of GitLab, checked: GITLAB_BASE_URL, GITLAB_HOST (maybe without https://), gitlab.com."""
    for name in ("GITLAB_BASE_URL", "GITLAB_HOST"):
        given = env.get(name, "").strip()
        if given:
            return base_address(GITLAB, name, given if "://" in given else f"https://{given}")
    return f"{_PUBLIC_GITLAB}/"


def merge_request(url: str, env: Mapping[str, str]) -> MergeRequest:
    """The merge request at an address, if it is on the configured GitLab. Raises `NodeError`."""
    given, base = url.strip(), gitlab_base(env)
    try:
        parts = urlsplit(given)
        root = urlsplit(base).path.rstrip("/")
        found = _MERGE_REQUEST.fullmatch(parts.path.removeprefix(root))
        if parts.scheme not in ("http", "https") or not parts.netloc or found is None:
            raise ValueError
    except ValueError:
        example = "https://gitlab.com/GROUP/PROJECT/-/merge_requests/7"
        message = f"{GITLAB}: `{shown(given, 120)}` is not the address of a merge request, such as {example}"
        raise NodeError("merge-request-reference", message, transient=False) from None
    if not is_same_host(given, base):
        message = (
            f"{GITLAB}: the merge request is on `{address_of(given)}`, but GITLAB_TOKEN is only sent to "
            f"`{address_of(base)}`; if the token is for the former, set GITLAB_BASE_URL to {address_of(given)}"
        )
        raise NodeError("service-host", message, transient=False)
    return MergeRequest(base, found["project"], int(found["number"]))
