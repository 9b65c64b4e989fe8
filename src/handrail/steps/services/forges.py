"""What GitHub and GitLab have in common: logins, marks, changes opened for review, results of checks. Pure.

A token is for the scheme, host and port of the configured forge only. A mark is a hidden line by which a step finds
again what it has written. It does not import the HTTP library: declarations of nodes import it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from handrail.extensions.contracts import NodeError
from handrail.source.plain_text import counted
from handrail.steps.services.addresses import Remote, github_web, gitlab_base, host_of, is_same_host

ForgeName = Literal["github", "gitlab"]
_USERS: dict[ForgeName, str] = {"github": "x-access-token", "gitlab": "oauth2"}
"""The user with which each forge takes a token as a password."""
_TOKENS: dict[ForgeName, tuple[str, ...]] = {"github": ("GH_TOKEN", "GITHUB_TOKEN"), "gitlab": ("GITLAB_TOKEN",)}


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
    for name in _TOKENS[kind]:
        found = env.get(name, "").strip()
        if found:
            if not found.isascii() or not found.isprintable() or " " in found:
                message = f"{name} contains a character that no token has"
                raise NodeError("service-config", message, transient=False)
            return found
    return None


def forge_of_remote(found: Remote, env: Mapping[str, str]) -> ForgeName:
    """The forge that a remote is on. Raises `NodeError` if none is configured there."""
    kind = _forge_name(found, env)
    if kind is None:
        known = " or ".join(f"`{host_of(forge_site(kind, env))}`" for kind in _USERS)
        message = (
            f"the remote is on `{found.host}`, not on {known}; set GITHUB_API_URL or GITLAB_BASE_URL, or say `forge` "
            "if the name of the host is an alias"
        )
        raise NodeError("remote-address", message, transient=False)
    return kind


def _forge_name(found: Remote, env: Mapping[str, str]) -> ForgeName | None:
    for kind in _USERS:
        at = forge_site(kind, env)
        if is_same_host(found.site, at) if found.is_http else found.host == urlsplit(at).hostname:
            return kind
    return None


def project_path(found: Remote, kind: ForgeName, env: Mapping[str, str]) -> str:
    """The path of a repository on its forge, without the folder that the forge itself may be in."""
    root = urlsplit(forge_site(kind, env)).path.strip("/")
    return found.path.removeprefix(f"{root}/") if root and found.is_http else found.path


def git_login(found: Remote | None, env: Mapping[str, str]) -> GitLogin | None:
    """The login for a remote over HTTP. None if it is on no configured forge, or if there is no token."""
    kind = _forge_name(found, env) if found is not None and found.is_http else None
    secret = forge_token(kind, env) if kind is not None else None
    if found is None or kind is None or secret is None:
        return None
    pair = base64.b64encode(f"{_USERS[kind]}:{secret}".encode()).decode()
    return GitLogin(found.site, f"Authorization: Basic {pair}", (secret, pair))


_MARK = re.compile(r"<!-- handrail:[0-9a-f]{24} -->")


def mark(key: str) -> str:
    """The mark of a piece of work. It shows nothing of the key."""
    return f"<!-- handrail:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:24]} -->"


def with_mark(text: str, own: str, most: int) -> str:
    """A text of at most `most` characters that ends with the mark. A mark inside of the text is removed."""
    clean = _MARK.sub("", text.encode("utf-8", "replace").decode()).strip()
    room = most - len(own) - 2
    if len(clean) > room:
        clean = f"{clean[: room - 1].rstrip()}…"
    return f"{clean}\n\n{own}" if clean else own


def is_marked(text: str, own: str | None = None) -> bool:
    """True if a text has this mark, or any mark."""
    return _MARK.search(text) is not None if own is None else own in text


Created = TypeVar("Created")
_PERHAPS_DONE = ("service-broken", "service-slow", "service-failed", "service-busy", "service-json")
"""After these failures of a request that creates something, it may have been created all the same."""


class Proposal(NamedTuple):
    """A pull or merge request to open. `base` is None for the default branch. `mark` is hidden in its description."""

    head: str
    base: str | None
    title: str
    body: str
    draft: bool
    mark: str


class OpenedProposal(NamedTuple):
    """A pull or merge request. `is_new`: it was opened by this step. `state` is `open`, `closed` or `merged`."""

    url: str
    number: int
    state: str
    head: str
    base: str
    is_new: bool


async def create_once(
    look: Callable[[], Awaitable[Created | None]], create: Callable[[], Awaitable[Created]]
) -> Created:
    """What `look` finds, else what `create` makes. If that fails, `look` says whether it was made all the same."""
    found = await look()
    if found is not None:
        return found
    try:
        return await create()
    except NodeError as error:
        if error.code not in _PERHAPS_DONE:
            raise
        found = await look()
        if found is not None:
            return found
        raise


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


def overall_state(checks: list[dict[str, Any]]) -> str:
    """`failed` if one failed, else `pending` if one is not done, else `passed`; `none` if there are no checks."""
    states = {check["state"] for check in checks}
    return next((state for state in ("failed", "pending", "passed") if state in states), "none")


def checks_summary(name: str, checks: list[dict[str, Any]]) -> str:
    """One line about the checks of a change, which is called `name`."""
    if not checks:
        return f"{name}: no checks"
    parts = []
    for state in ("passed", "failed", "pending"):
        count = sum(check["state"] == state for check in checks)
        parts += [f"{count} {state}"] if count else []
    return f"{name}: {counted(len(checks), 'check')}: {', '.join(parts)}"


def clean_log(said: str) -> str:
    """A text without times at the beginning of lines, colours and control characters."""
    lines = _TIME.sub("", said.replace("\r\n", "\n"))
    return _CONTROL.sub("", _COLOUR.sub("", lines)).strip()


def cut_summary(said: str) -> str:
    return said if len(said) <= LONGEST_SUMMARY else f"{said[:LONGEST_SUMMARY]}…"


def text_end(said: str, most: int = LONGEST_TEXT) -> str:
    """The end of a text; the first line says how much was left out."""
    left = len(said) - most
    return said if left <= 0 else f"… {left} characters before this were left out\n{said[left:]}"
