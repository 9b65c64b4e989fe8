"""Addresses of services, of Jira's issues as people write them, and of git remotes. Pure.

Services are compared by scheme, host and port. Nothing here repeats the user or the password that the address of a
remote may contain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from handrail.extensions.contracts import LastingError
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
        site = origin(url)
    except ValueError:
        return "an address that is not HTTP"
    return site.host if site.port in (80, 443) else f"{site.host}:{site.port}"


def address_of(url: str) -> str:
    return f"{urlsplit(url).scheme}://{host_of(url)}"


def match_page(url: str, base: str, pattern: re.Pattern[str], kinds: tuple[str, ...]) -> re.Match[str] | None:
    """The parts of a page's address, whose path is below that of `base`, on any host. None if it is no such page."""
    try:
        parts = urlsplit(url)
        match = pattern.fullmatch(parts.path.removeprefix(urlsplit(base).path.rstrip("/")))
    except ValueError:
        return None
    is_page = parts.scheme in ("http", "https") and parts.netloc and match is not None and match["kind"] in kinds
    return match if is_page else None


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
        raise LastingError("service-address", f"{name}: {variable}: {error}") from None
    return url.rstrip("/") + "/"


GITHUB = "GitHub"
PUBLIC_API = "https://api.github.com/"
ENTERPRISE = "/api/v3"


def github_api(env: Mapping[str, str]) -> str:
    """The configured address of GitHub's API, checked: GITHUB_API_URL, else that of github.com."""
    address = env.get("GITHUB_API_URL", "").strip()
    return base_address(GITHUB, "GITHUB_API_URL", address) if address else PUBLIC_API


def github_web(env: Mapping[str, str]) -> str:
    """The address of GitHub's pages, which the address of its API says: `HOST/api/v3` or `api.HOST`."""
    parts = urlsplit(github_api(env))
    path = parts.path.rstrip("/")
    if path.endswith(ENTERPRISE):
        return parts._replace(path=path.removesuffix(ENTERPRISE) + "/").geturl()
    return parts._replace(netloc=parts.netloc.removeprefix("api.")).geturl()


JIRA, GITLAB = "Jira", "GitLab"
_JIRA_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*-[0-9]+")
_JIRA_PAGE = re.compile(r"(?P<root>.*?)/(?:browse|issues)/(?P<key>[^/]+)/?")
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


def jira_base(env: Mapping[str, str]) -> str | None:
    """The configured address of Jira, checked. None if there is none."""
    address = env.get("JIRA_BASE_URL", "").strip()
    return base_address(JIRA, "JIRA_BASE_URL", address) if address else None


def is_issue_key(text: str) -> bool:
    return _JIRA_KEY.fullmatch(text) is not None


def jira_issue(reference: str, env: Mapping[str, str]) -> JiraIssue:
    """The issue that a key or the address of a page means. Raises `NodeError`."""
    text, configured = reference.strip(), jira_base(env)
    if is_issue_key(text):
        if configured is None:
            message = f"{JIRA}: JIRA_BASE_URL is not set; set it to the address of your Jira"
            raise LastingError("service-config", message)
        return JiraIssue(text.upper(), configured)
    try:
        key, root = _jira_page(text)
    except ValueError:
        message = f"{JIRA}: `{shown(text, 80)}` is neither the key of an issue, such as ABC-12, nor the address of one"
        raise LastingError("issue-reference", message) from None
    if configured is not None and not is_same_host(root, configured):
        message = f"{JIRA}: the issue is on `{host_of(root)}`, but JIRA_BASE_URL is on `{host_of(configured)}`"
        raise LastingError("service-host", message)
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
        if address := env.get(name, "").strip():
            return base_address(GITLAB, name, address if "://" in address else f"https://{address}")
    return f"{_PUBLIC_GITLAB}/"


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
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme if self.is_http else 'https'}://{host}{port}/"


def parse_remote(address: str) -> Remote | None:
    """The repository at an address. None if it is on no host: a folder, a helper program, or no address at all."""
    text = address.strip()
    try:
        remote = _url_remote(text) if "://" in text else _short_remote(text)
    except ValueError:
        return None
    return None if remote is None or not _is_path(remote.path) else remote


def public_address(address: str) -> str:
    """An address for people: without the user and the password, if it has any."""
    text = address.strip()
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
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
    return _remote(scheme, parts.hostname, port, unquote(parts.path))


def _short_remote(address: str) -> Remote | None:
    match = _SHORT_REMOTE.fullmatch(address)
    if match is None or (len(match["host"] or "") == 1 and address[1:2] == ":"):  # `C:\folder` of Windows
        return None
    host, port = match["host"] or match["boxed"], None
    if (boxed := _BRACKETED_HOST.fullmatch(match["boxed"] or "")) is not None:
        host, port = boxed["host"], int(boxed["port"])
    return _remote("ssh", host, None if port == 22 else port, match["path"])


def _remote(scheme: str, host: str, port: int | None, path: str) -> Remote:
    host = host.lower().rstrip(".")
    other = _OTHER_NAMES.get(host) if scheme == "ssh" else None
    cut = path.strip("/").removesuffix(".git").rstrip("/")
    return Remote(scheme, other or host, None if other else port, cut)


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return all(_PART.fullmatch(part) and part not in (".", "..") for part in parts) and not path.startswith("~")
