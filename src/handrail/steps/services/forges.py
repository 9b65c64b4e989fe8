"""What GitHub and GitLab have in common: the protocol `Forge`, logins, marks, changes opened once, results of checks.

A token is for the scheme, host and port of the configured forge only. A mark is a hidden line by which a step finds
again what it has written.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from handrail.extensions.contracts import LastingError, NodeError
from handrail.source.plain_text import counted
from handrail.steps.services.addresses import GITHUB, GITLAB, Remote, github_web, gitlab_base, host_of, is_same_host
from handrail.steps.services.http import JsonObject, Service

ForgeName = Literal["github", "gitlab"]


class ForgeWords(NamedTuple):
    """What a forge calls its things. `user` is the one with which it takes a token as a password."""

    title: str
    change: str
    project: str
    thread: str
    user: str
    tokens: tuple[str, ...]

    @property
    def token(self) -> str:
        return self.tokens[-1]

    @property
    def member(self) -> str:
        """The change in JSON: `pull_request`."""
        return self.change.replace(" ", "_")

    @property
    def param(self) -> str:
        """The change in names of params and outputs: `pullRequest`."""
        first, second = self.change.split()
        return f"{first}{second.capitalize()}"


FORGES: dict[ForgeName, ForgeWords] = {
    "github": ForgeWords(
        GITHUB, "pull request", "repository", "thread", "x-access-token", ("GH_TOKEN", "GITHUB_TOKEN")
    ),
    "gitlab": ForgeWords(GITLAB, "merge request", "project", "discussion", "oauth2", ("GITLAB_TOKEN",)),
}


class ForgeItem(NamedTuple):
    """An issue or a change. `page` is its address for people, `sign` what the forge writes before its number."""

    project: str
    number: int
    page: str
    sign: str = "#"

    @property
    def name(self) -> str:
        return f"{self.sign}{self.number}"


class Proposal(NamedTuple):
    """A change to open. `base` is None for the default branch. `mark` is hidden in its description.

    `owner` has the fork with the branch `head`. It is None if the repository itself has it.
    """

    head: str
    base: str | None
    title: str
    body: str
    draft: bool
    mark: str
    owner: str | None = None


class OpenedProposal(NamedTuple):
    """A change. `is_new`: it was opened by this step. `state` is `open`, `closed` or `merged`."""

    url: str
    number: int
    state: str
    head: str
    base: str
    is_new: bool


class ForgeComment(NamedTuple):
    """A comment, and the address of its page."""

    id: str
    url: str


class Forge(Protocol):
    """A module for one forge. A change is a pull request or a merge request. Every function may raise `NodeError`.

    What is fetched is a document with the time `now`, of the schema that the forge's node names.
    """

    def issue(self, reference: str, env: Mapping[str, str]) -> ForgeItem:
        """The issue that people mean with this text."""

    def change(self, reference: str, env: Mapping[str, str]) -> ForgeItem: ...

    def issue_or_change(self, reference: str, env: Mapping[str, str]) -> ForgeItem: ...

    def checked_project(self, path: str) -> str:
        """The path of a repository, if the forge can have such a one."""

    def open_service(self, env: Mapping[str, str], writes: bool = False, /) -> Service:
        """The configured forge, to read from it or also to write."""

    async def fetch_issue(self, service: Service, target: ForgeItem, now: str) -> dict[str, Any]: ...

    async def fetch_changes(self, service: Service, target: ForgeItem, now: str) -> dict[str, Any]: ...

    async def fetch_reviews(self, service: Service, target: ForgeItem, now: str) -> dict[str, Any]:
        """What people say about a change."""

    async def fetch_checks(self, service: Service, target: ForgeItem, commit: str | None, now: str) -> dict[str, Any]:
        """The checks of the last commit of a change, or of one of its commits."""

    async def comment_once(self, service: Service, target: ForgeItem, body: str, mark: str) -> ForgeComment:
        """Write a comment, unless there is one with the same mark."""

    async def open_once(self, service: Service, project: str, proposal: Proposal) -> OpenedProposal:
        """Open a change, unless there is an open one from the same branch, or one with the same mark."""


class GitLogin(NamedTuple):
    """The header for the forge at `site`, and the texts that no message may contain."""

    site: str
    header: str
    secrets: tuple[str, ...]


def forge_site(kind: ForgeName, env: Mapping[str, str]) -> str:
    """The address of a configured forge's pages, which ends with a slash."""
    return github_web(env) if kind == "github" else gitlab_base(env)


def forge_token(kind: ForgeName, env: Mapping[str, str]) -> str | None:
    """The configured token of a forge. Raises `NodeError` if it cannot be one."""
    for name in FORGES[kind].tokens:
        if token := env.get(name, "").strip():
            if not token.isascii() or not token.isprintable() or " " in token:
                raise LastingError("service-config", f"{name} contains a character that no token has")
            return token
    return None


def forge_of_remote(remote: Remote, env: Mapping[str, str]) -> ForgeName:
    """The forge that a remote is on. Raises `NodeError` if none is configured there."""
    kind = _forge_name(remote, env)
    if kind is None:
        hosts = " or ".join(f"`{host_of(forge_site(kind, env))}`" for kind in FORGES)
        message = (
            f"the remote is on `{remote.host}`, not on {hosts}; set GITHUB_API_URL or GITLAB_BASE_URL, or say `forge` "
            "if the name of the host is an alias"
        )
        raise LastingError("remote-address", message)
    return kind


def _forge_name(remote: Remote, env: Mapping[str, str]) -> ForgeName | None:
    for kind in FORGES:
        at = forge_site(kind, env)
        if is_same_host(remote.site, at) if remote.is_http else remote.host == urlsplit(at).hostname:
            return kind
    return None


def project_path(remote: Remote, kind: ForgeName, env: Mapping[str, str]) -> str:
    """The path of a repository on its forge, without the folder that the forge itself may be in."""
    root = urlsplit(forge_site(kind, env)).path.strip("/")
    return remote.path.removeprefix(f"{root}/") if root and remote.is_http else remote.path


def git_login(remote: Remote | None, env: Mapping[str, str]) -> GitLogin | None:
    """The login for a remote over HTTP. None if it is on no configured forge, or if there is no token."""
    kind = _forge_name(remote, env) if remote is not None and remote.is_http else None
    secret = forge_token(kind, env) if kind is not None else None
    if remote is None or kind is None or secret is None:
        return None
    pair = base64.b64encode(f"{FORGES[kind].user}:{secret}".encode()).decode()
    return GitLogin(remote.site, f"Authorization: Basic {pair}", (secret, pair))


_MARK = re.compile(r"<!-- handrail:[0-9a-f]{24} -->")


def mark(key: str) -> str:
    """The mark of a piece of work. It shows nothing of the key."""
    return f"<!-- handrail:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:24]} -->"


def with_mark(text: str, mark: str, most: int) -> str:
    """A text of at most `most` characters that ends with the mark. A mark inside of the text is removed."""
    clean = _MARK.sub("", text.encode("utf-8", "replace").decode()).strip()
    room = most - len(mark) - 2
    if len(clean) > room:
        clean = f"{clean[: room - 1].rstrip()}…"
    return f"{clean}\n\n{mark}" if clean else mark


def is_marked(text: str, mark: str | None = None) -> bool:
    """True if a text has this mark, or any mark."""
    return _MARK.search(text) is not None if mark is None else mark in text


Created = TypeVar("Created")
_PERHAPS_DONE = ("service-broken", "service-slow", "service-failed", "service-busy", "service-json")
"""After these failures of a request that creates something, it may have been created all the same."""


async def create_once(
    look: Callable[[], Awaitable[Created | None]], create: Callable[[], Awaitable[Created]]
) -> Created:
    """What `look` finds, else what `create` makes. If that fails, `look` says whether it was made all the same."""
    result = await look()
    if result is not None:
        return result
    try:
        return await create()
    except NodeError as error:
        if error.code not in _PERHAPS_DONE:
            raise
        result = await look()
        if result is not None:
            return result
        raise


async def find_or_open(
    list_changes: Callable[[], Awaitable[list[OpenedProposal]]], create: Callable[[], Awaitable[OpenedProposal]]
) -> OpenedProposal:
    """The open one of the listed changes, else the one that this step opened before, else a new one."""

    async def look() -> OpenedProposal | None:
        changes = await list_changes()
        still_open = [change for change in changes if change.state == "open"]
        return next(iter((*still_open, *(change for change in changes if change.is_new))), None)

    return await create_once(look, create)


async def find_or_comment(service: Service, path: str, body: str, mark: str, **query: str) -> JsonObject:
    """The comment with this mark in the list at a path, else a new one."""

    async def look() -> JsonObject | None:
        comments = await service.get_objects(path, **query)
        return next((item for item in comments if is_marked(item.text("body", ""), mark)), None)

    async def create() -> JsonObject:
        comment = await service.post(path, {"body": body})
        if comment.number("id") is None:
            raise LastingError("service-json", f"{service.name}: its answer is not a comment")
        return comment

    return await create_once(look, create)


async def default_branch(service: Service, path: str, what: str) -> str:
    """The default branch of the repository at a path. `what` is the forge's word for it."""
    branch = (await service.get_object(path, f"a {what}")).text("default_branch", "")
    if not branch:
        raise LastingError("service-json", f"{service.name}: the {what} has no default branch")
    return branch


MOST_TEXTS = 20
LONGEST_TEXT = 20_000
LONGEST_SUMMARY = 4_000
LARGEST_LOG = 32 * 1024 * 1024
LEFT_OUT = ("service-missing", "service-forbidden", "service-failed", "service-large")
"""After these failures a text is left out, and the rest is fetched."""
TOO_MANY = f"The texts of more than {MOST_TEXTS} failed checks are not fetched."
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")


def checks_document(
    target: ForgeItem, head: dict[str, Any], about: dict[str, Any], checks: list[dict[str, Any]]
) -> dict[str, Any]:
    """A document of checks. Its `state` is `failed` if one failed, else `pending`, `passed`, or `none` without checks.

    `head` is how every document of this change begins, `about` says whose checks these are.
    """
    counts = {state: sum(check["state"] == state for check in checks) for state in ("failed", "pending", "passed")}
    parts = [f"{counts[state]} {state}" for state in ("passed", "failed", "pending") if counts[state]]
    text = f"{counted(len(checks), 'check')}: {', '.join(parts)}" if checks else "no checks"
    return {
        "summary": f"{target.name}: {text}",
        **head,
        **about,
        "state": next((state for state, count in counts.items() if count), "none"),
        "checks": checks,
    }


async def explain_failures(
    items: list[JsonObject], checks: list[dict[str, Any]], text_of: Callable[[JsonObject], Awaitable[str]]
) -> None:
    """Set the text of each failed check that has an item of the forge. Only the first ones get a text."""
    failed = [(item, check) for item, check in zip(items, checks, strict=False) if check["state"] == "failed"]
    for place, (item, check) in enumerate(failed):
        check["text"] = await text_of(item) if place < MOST_TEXTS else TOO_MANY


async def text_or_reason(what: str, text: Awaitable[str]) -> str:
    try:
        return await text
    except NodeError as error:
        if error.code not in LEFT_OUT:
            raise
        return f"The {what} cannot be fetched: {error.message}"


async def fetch_log_end(service: Service, path: str, most: int) -> str:
    log = await service.get_file(path, LARGEST_LOG)
    return text_end(clean_log(log.decode("utf-8", "replace")), most)


def clean_log(text: str) -> str:
    """A text without times at the beginning of lines, colours and control characters."""
    lines = _TIME.sub("", text.replace("\r\n", "\n"))
    return _CONTROL.sub("", _COLOUR.sub("", lines)).strip()


def cut_summary(text: str) -> str:
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}…"


def text_end(text: str, most: int = LONGEST_TEXT) -> str:
    """The end of a text; the first line says how much was left out."""
    left_out = len(text) - most
    return text if left_out <= 0 else f"… {left_out} characters before this were left out\n{text[left_out:]}"
