"""What people write to name a Jira issue, or an issue or merge request of GitLab, and the addresses of these. Pure."""

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
_NUMBERED = re.compile(
    r"/(?P<project>[^/]+(?:/(?!-/)[^/]+)+?)(?:/-)?/(?P<kind>merge_requests|issues|work_items)/(?P<number>[0-9]{1,12})"
    r"(?:/.*)?"
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


class GitLabIssue(NamedTuple):
    """An issue of the GitLab at `base`, which ends with a slash."""

    base: str
    project: str
    number: int

    @property
    def path(self) -> str:
        """Its path below `base`, in the API."""
        return f"api/v4/projects/{quote(self.project, safe='')}/issues/{self.number}"


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
    found = _numbered(url.strip(), ("merge_requests",), env)
    if found is None:
        example = "https://gitlab.com/GROUP/PROJECT/-/merge_requests/7"
        message = f"{GITLAB}: `{shown(url.strip(), 120)}` is not the address of a merge request, such as {example}"
        raise NodeError("merge-request-reference", message, transient=False)
    return MergeRequest(gitlab_base(env), found["project"], int(found["number"]))


def gitlab_issue(url: str, env: Mapping[str, str]) -> GitLabIssue:
    """The issue at an address, if it is on the configured GitLab. Raises `NodeError`."""
    found = _numbered(url.strip(), ("issues", "work_items"), env)
    if found is None:
        example = "https://gitlab.com/GROUP/PROJECT/-/issues/7"
        message = f"{GITLAB}: `{shown(url.strip(), 120)}` is not the address of an issue, such as {example}"
        raise NodeError("issue-reference", message, transient=False)
    return GitLabIssue(gitlab_base(env), found["project"], int(found["number"]))


def gitlab_talk(url: str, env: Mapping[str, str]) -> GitLabIssue | MergeRequest:
    """The issue or the merge request at an address. Raises `NodeError`."""
    return merge_request(url, env) if "/merge_requests/" in url else gitlab_issue(url, env)


def _numbered(url: str, kinds: tuple[str, ...], env: Mapping[str, str]) -> re.Match[str] | None:
    """The parts of a page's address, None if it is none. Raises `NodeError` if it is on another host than GitLab."""
    base = gitlab_base(env)
    try:
        parts = urlsplit(url)
        root = urlsplit(base).path.rstrip("/")
        found = _NUMBERED.fullmatch(parts.path.removeprefix(root))
        if parts.scheme not in ("http", "https") or not parts.netloc or found is None or found["kind"] not in kinds:
            return None
    except ValueError:
        return None
    if not is_same_host(url, base):
        what = "merge request" if found["kind"] == "merge_requests" else "issue"
        message = (
            f"{GITLAB}: the {what} is on `{address_of(url)}`, but GITLAB_TOKEN is only sent to "
            f"`{address_of(base)}`; if the token is for the former, set GITLAB_BASE_URL to {address_of(url)}"
        )
        raise NodeError("service-host", message, transient=False)
    return found
