"""What people write to name an issue or a pull request of GitHub, and the addresses that this means. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from handrail.contracts import NodeError
from handrail.services.addresses import base_address, host_of, is_same_host
from handrail.source.values import shown

GITHUB = "GitHub"
PUBLIC_API = "https://api.github.com/"
_NAME = r"[A-Za-z0-9._-]{1,100}"
_REPOSITORY = re.compile(rf"(?P<owner>{_NAME})/(?P<name>{_NAME})")
_SHORT = re.compile(rf"(?P<repository>{_NAME}/{_NAME})#(?P<number>[0-9]{{1,12}})")
_PAGE = re.compile(rf"/(?P<repository>{_NAME}/{_NAME})/(?P<kind>issues|pull)/(?P<number>[0-9]{{1,12}})(?:/.*)?")
_ENTERPRISE = "/api/v3"


class Repository(NamedTuple):
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


class Numbered(NamedTuple):
    """An issue or a pull request."""

    repository: Repository
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


def repository(full_name: str, env: Mapping[str, str]) -> Repository | None:
    """The repository `OWNER/NAME` of the configured GitHub. None if the text is not such a name."""
    found = _REPOSITORY.fullmatch(full_name)
    if found is None or {found["owner"], found["name"]} & {".", ".."}:
        return None
    return Repository(github_api(env), github_web(env), found["owner"], found["name"])


def github_issue(reference: str, env: Mapping[str, str]) -> Numbered:
    """The issue that `OWNER/NAME#12` or the address of a page means. Raises `NodeError`."""
    given = reference.strip()
    found = _numbered(given, ("issues", "pull"), "issues", env)
    if found is None:
        example = "OWNER/NAME#12 or https://github.com/OWNER/NAME/issues/12"
        message = f"{GITHUB}: `{shown(given, 120)}` is not an issue, such as {example}"
        raise NodeError("issue-reference", message, transient=False)
    return found


def pull_request(reference: str, env: Mapping[str, str]) -> Numbered:
    """The pull request that `OWNER/NAME#12` or the address of a page means. Raises `NodeError`."""
    given = reference.strip()
    found = _numbered(given, ("pull",), "pull", env)
    if found is None:
        example = "OWNER/NAME#12 or https://github.com/OWNER/NAME/pull/12"
        message = f"{GITHUB}: `{shown(given, 120)}` is not a pull request, such as {example}"
        raise NodeError("pull-request-reference", message, transient=False)
    return found


def _numbered(given: str, kinds: tuple[str, ...], kind: str, env: Mapping[str, str]) -> Numbered | None:
    short, web = _SHORT.fullmatch(given), github_web(env)
    if short is None:
        short = _of_page(given, kinds, web)
    whole = None if short is None else repository(short["repository"], env)
    if short is None or whole is None:
        return None
    number = int(short["number"])
    return Numbered(whole, number, f"{web}{whole.full_name}/{kind}/{number}")


def _of_page(url: str, kinds: tuple[str, ...], web: str) -> re.Match[str] | None:
    """The parts of a page's address. Raises `NodeError` if it is on another host than the configured GitHub."""
    try:
        parts = urlsplit(url)
        root = urlsplit(web).path.rstrip("/")
        found = _PAGE.fullmatch(parts.path.removeprefix(root))
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
