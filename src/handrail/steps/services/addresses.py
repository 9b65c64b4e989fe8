"""Addresses of services, of issues and pull requests as people write them, and of git remotes. Pure.

Services are compared by scheme, host and port. Nothing here repeats the user or the password that the address of a
remote may contain. It does not import the HTTP library: declarations of nodes import it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from handrail.extensions.contracts import NodeError
from handrail.source.values import shown


class HttpOrigin(NamedTuple):
    scheme: str
    host: str
    port: int


def origin(url: str) -> HttpOrigin:
    """The scheme, host and port of an address. Raises `ValueError` if it is not an HTTP address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"`{shown(url, 80)}` is not an address that begins with http:// or https://")
    return HttpOrigin(parts.scheme, parts.hostname.lower(), parts.port or (443 if parts.scheme == "https" else 80))


def is_same_host(url: str, base: str) -> bool:
    """True if an address has the scheme, host and port of the configured one."""
    try:
        return origin(url) == origin(base)
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of an address and its port, for messages."""
    try:
        found = origin(url)
    except ValueError:
        return "an address that is not HTTP"
    return found.host if found.port in (80, 443) else f"{found.host}:{found.port}"


def address_of(url: str) -> str:
    """The scheme, the host and the port of an address, for messages."""
    return f"{urlsplit(url).scheme}://{host_of(url)}"


def base_address(name: str, variable: str, url: str) -> str:
    """The configured address of a service, checked. It ends with a slash."""
    try:
        origin(url)
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            raise ValueError("an address must not contain a user or a password")
        if parts.query or parts.fragment:
            raise ValueError("an address must not contain `?` or `#`")
    except ValueError as error:
        raise NodeError("service-address", f"{name}: {variable}: {error}", transient=False) from None
    return url.rstrip("/") + "/"


GITHUB = "GitHub"
PUBLIC_API = "https://api.github.com/"
_GITHUB_NAME = r"[A-Za-z0-9._-]{1,100}"
_GITHUB_REPOSITORY = re.compile(rf"(?P<owner>{_GITHUB_NAME})/(?P<name>{_GITHUB_NAME})")
_GITHUB_SHORT = re.compile(rf"(?P<repository>{_GITHUB_NAME}/{_GITHUB_NAME})#(?P<number>[0-9]{{1,12}})")
_GITHUB_PAGE = re.compile(
    rf"/(?P<repository>{_GITHUB_NAME}/{_GITHUB_NAME})/(?P<kind>issues|pull)/(?P<number>[0-9]{{1,12}})(?:/.*)?"
)
_ENTERPRISE = "/api/v3"


class GitHubRepository(NamedTuple):
    """A repository of the GitHub at `api` and `web`, which end with a slash."""

    api: str
    web: str
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def path(self) -> str:
        """Its path below `api`."""
        return f"repos/{quote(self.owner, safe='')}/{quote(self.name, safe='')}"


class GitHubItem(NamedTuple):
    """An issue or a pull request."""

    repository: GitHubRepository
    number: int
    page: str


def github_api(env: Mapping[str, str]) -> str:
    """The configured address of GitHub's API, checked: GITHUB_API_URL, else that of github.com."""
    given = env.get("GITHUB_API_URL", "").strip()
    return base_address(GITHUB, "GITHUB_API_URL", given) if given else PUBLIC_API


def github_web(env: Mapping[str, str]) -> str:
    """The address of GitHub's pages, which the address of its API says: `HOST/api/v3` or `api.HOST`."""
    parts = urlsplit(github_api(env))
    path = parts.path.rstrip("/")
    if path.endswith(_ENTERPRISE):
        return parts._replace(path=path.removesuffix(_ENTERPRISE) + "/").geturl()
    return parts._replace(netloc=parts.netloc.removeprefix("api.")).geturl()


def github_repository(full_name: str, env: Mapping[str, str]) -> GitHubRepository | None:
    """The repository `OWNER/NAME` of the configured GitHub. None if the text is not such a name."""
    found = _GITHUB_REPOSITORY.fullmatch(full_name)
    if found is None or {found["owner"], found["name"]} & {".", ".."}:
        return None
    return GitHubRepository(github_api(env), github_web(env), found["owner"], found["name"])


def github_issue(reference: str, env: Mapping[str, str]) -> GitHubItem:
    """The issue that `OWNER/NAME#12` or the address of a page means. Raises `NodeError`."""
    given = reference.strip()
    found = _github_item(given, ("issues", "pull"), "issues", env)
    if found is None:
        example = "OWNER/NAME#12 or https://github.com/OWNER/NAME/issues/12"
        message = f"{GITHUB}: `{shown(given, 120)}` is not an issue, such as {example}"
        raise NodeError("issue-reference", message, transient=False)
    return found


def github_pull_request(reference: str, env: Mapping[str, str]) -> GitHubItem:
    """The pull request that `OWNER/NAME#12` or the address of a page means. Raises `NodeError`."""
    given = reference.strip()
    found = _github_item(given, ("pull",), "pull", env)
    if found is None:
        example = "OWNER/NAME#12 or https://github.com/OWNER/NAME/pull/12"
        message = f"{GITHUB}: `{shown(given, 120)}` is not a pull request, such as {example}"
        raise NodeError("pull-request-reference", message, transient=False)
    return found


def _github_item(given: str, kinds: tuple[str, ...], kind: str, env: Mapping[str, str]) -> GitHubItem | None:
    short, web = _GITHUB_SHORT.fullmatch(given), github_web(env)
    if short is None:
        short = _github_page(given, kinds, web)
    whole = None if short is None else github_repository(short["repository"], env)
    if short is None or whole is None:
        return None
    number = int(short["number"])
    return GitHubItem(whole, number, f"{web}{whole.full_name}/{kind}/{number}")


def _github_page(url: str, kinds: tuple[str, ...], web: str) -> re.Match[str] | None:
    """The parts of a page's address. Raises `NodeError` if it is on another host than the configured GitHub."""
    try:
        parts = urlsplit(url)
        root = urlsplit(web).path.rstrip("/")
        found = _GITHUB_PAGE.fullmatch(parts.path.removeprefix(root))
        if parts.scheme not in ("http", "https") or not parts.netloc or found is None or found["kind"] not in kinds:
            return None
    except ValueError:
        return None
    if not is_same_host(url, web):
        message = (
            f"{GITHUB}: `{shown(found['repository'], 120)}` is on `{host_of(url)}`, but the token is only sent to the "
            f"GitHub at `{host_of(web)}`; if the token is for `{host_of(url)}`, set GITHUB_API_URL to "
            f"{parts.scheme}://{host_of(url)}{_ENTERPRISE}"
        )
        raise NodeError("service-host", message, transient=False)
    return found


JIRA, GITLAB = "Jira", "GitLab"
_JIRA_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*-[0-9]+")
_JIRA_PAGE = re.compile(r"(?P<root>.*?)/(?:browse|issues)/(?P<key>[^/]+)/?")
_GITLAB_PAGE = re.compile(
    r"/(?P<project>[^/]+(?:/(?!-/)[^/]+)+?)(?:/-)?/(?P<kind>merge_requests|issues|work_items)/(?P<number>[0-9]{1,12})"
    r"(?:/.*)?"
)
_PUBLIC_GITLAB = "https://gitlab.com"


class JiraIssue(NamedTuple):
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
    return _JIRA_KEY.fullmatch(text) is not None


def jira_issue(reference: str, env: Mapping[str, str]) -> JiraIssue:
    """The issue that a key or the address of a page means. Raises `NodeError`."""
    given, configured = reference.strip(), jira_base(env)
    if is_issue_key(given):
        if configured is None:
            message = f"{JIRA}: JIRA_BASE_URL is not set; set it to the address of your Jira"
            raise NodeError("service-config", message, transient=False)
        return JiraIssue(given.upper(), configured)
    try:
        key, root = _jira_page(given)
    except ValueError:
        message = f"{JIRA}: `{shown(given, 80)}` is neither the key of an issue, such as ABC-12, nor the address of one"
        raise NodeError("issue-reference", message, transient=False) from None
    if configured is not None and not is_same_host(root, configured):
        message = f"{JIRA}: the issue is on `{host_of(root)}`, but JIRA_BASE_URL is on `{host_of(configured)}`"
        raise NodeError("service-host", message, transient=False)
    return JiraIssue(key.upper(), configured or base_address(JIRA, "the address of the issue", root))


def _jira_page(url: str) -> tuple[str, str]:
    """The key in the address of a page, and the address of its Jira. Raises `ValueError`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError
    page = _JIRA_PAGE.fullmatch(parts.path)
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
    found = _gitlab_page(url.strip(), ("merge_requests",), env)
    if found is None:
        example = "https://gitlab.com/GROUP/PROJECT/-/merge_requests/7"
        message = f"{GITLAB}: `{shown(url.strip(), 120)}` is not the address of a merge request, such as {example}"
        raise NodeError("merge-request-reference", message, transient=False)
    return MergeRequest(gitlab_base(env), found["project"], int(found["number"]))


def gitlab_issue(url: str, env: Mapping[str, str]) -> GitLabIssue:
    """The issue at an address, if it is on the configured GitLab. Raises `NodeError`."""
    found = _gitlab_page(url.strip(), ("issues", "work_items"), env)
    if found is None:
        example = "https://gitlab.com/GROUP/PROJECT/-/issues/7"
        message = f"{GITLAB}: `{shown(url.strip(), 120)}` is not the address of an issue, such as {example}"
        raise NodeError("issue-reference", message, transient=False)
    return GitLabIssue(gitlab_base(env), found["project"], int(found["number"]))


def gitlab_talk(url: str, env: Mapping[str, str]) -> GitLabIssue | MergeRequest:
    """The issue or the merge request at an address. Raises `NodeError`."""
    return merge_request(url, env) if "/merge_requests/" in url else gitlab_issue(url, env)


def _gitlab_page(url: str, kinds: tuple[str, ...], env: Mapping[str, str]) -> re.Match[str] | None:
    """The parts of a page's address, None if it is none. Raises `NodeError` if it is on another host than GitLab."""
    base = gitlab_base(env)
    try:
        parts = urlsplit(url)
        root = urlsplit(base).path.rstrip("/")
        found = _GITLAB_PAGE.fullmatch(parts.path.removeprefix(root))
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


SSH = ("ssh", "git+ssh", "ssh+git")
_SHORT_REMOTE = re.compile(
    r"(?:[^@/\s\[\]:]+@)?"
    r"(?:\[(?:[^@/\s\[\]]+@)?(?P<boxed>[^@\s\[\]]+)\]|(?P<host>[^@/\s\[\]:]+))"
    r":(?!:)(?P<path>.*)"
)
"""`git@host:path`. A host in brackets may have a port, or be an IPv6 address. `ext::x` names a helper program."""
_BRACKETED_HOST = re.compile(r"(?P<host>[^:]+):(?P<port>[0-9]{1,5})")
_PART = re.compile(r"[^/\0-\x20\x7f]+")
_OTHER_NAMES = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
"""Hosts that only answer SSH on the port of HTTPS, and the hosts that they stand for."""


class Remote(NamedTuple):
    """A repository on a host. `path` has neither a slash at its ends nor `.git`. `port` is None if it is the usual one.

    `scheme` is `http`, `https`, `ssh` or `git`.
    """

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def is_http(self) -> bool:
        return self.scheme in ("http", "https")

    @property
    def site(self) -> str:
        """The address of its host over HTTP, which ends with a slash."""
        return f"{self.scheme if self.is_http else 'https'}://{_bracketed(self.host)}{_port(self.port)}/"


def parse_remote(address: str) -> Remote | None:
    """The repository at an address. None if it is on no host: a folder, a helper program, or no address at all."""
    given = address.strip()
    try:
        found = _url_remote(given) if "://" in given else _short_remote(given)
    except ValueError:
        return None
    return None if found is None or not _is_path(found.path) else found


def public_address(address: str) -> str:
    """An address for people: without the user and the password, if it has any."""
    given = address.strip()
    scheme, mark, rest = given.partition("://")
    if not mark:
        return given
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def password_of(address: str) -> str | None:
    """The password in an address, as it is written there. None if there is none."""
    place = address.strip().partition("://")[2].partition("/")[0]
    user = place.rpartition("@")[0]
    return user.partition(":")[2] or None


def _url_remote(address: str) -> Remote | None:
    parts = urlsplit(address)
    scheme = "ssh" if parts.scheme in SSH else parts.scheme
    if scheme not in ("http", "https", "ssh", "git") or not parts.hostname or parts.query or parts.fragment:
        return None
    usual = {"http": 80, "https": 443, "ssh": 22, "git": 9418}[scheme]
    port = None if parts.port == usual else parts.port
    return _named(scheme, parts.hostname, port, unquote(parts.path))


def _short_remote(address: str) -> Remote | None:
    found = _SHORT_REMOTE.fullmatch(address)
    if found is None or (len(found["host"] or "") == 1 and address[1:2] == ":"):  # `C:\folder` of Windows
        return None
    host, port = found["host"] or found["boxed"], None
    boxed = _BRACKETED_HOST.fullmatch(found["boxed"] or "")
    if boxed is not None:
        host, port = boxed["host"], int(boxed["port"])
    return _named("ssh", host, None if port == 22 else port, found["path"])


def _named(scheme: str, host: str, port: int | None, path: str) -> Remote:
    host = host.lower().rstrip(".")
    other = _OTHER_NAMES.get(host) if scheme == "ssh" else None
    cut = path.strip("/").removesuffix(".git").rstrip("/")
    return Remote(scheme, other or host, None if other else port, cut)


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return all(_PART.fullmatch(part) and part not in (".", "..") for part in parts) and not path.startswith("~")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _port(port: int | None) -> str:
    return "" if port is None else f":{port}"
