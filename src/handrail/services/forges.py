"""Which configured forge a git remote belongs to, and the login with which git may push to it. Pure.

A token is for the scheme, host and port of the configured forge only.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from handrail.contracts import NodeError
from handrail.services.addresses import host_of, is_same_host
from handrail.services.numbered import github_web
from handrail.services.references import gitlab_base
from handrail.services.remotes import Remote

Kind = Literal["github", "gitlab"]
_USERS: dict[Kind, str] = {"github": "x-access-token", "gitlab": "oauth2"}
"""The user with which each forge takes a token as a password."""
_TOKENS: dict[Kind, tuple[str, ...]] = {"github": ("GH_TOKEN", "GITHUB_TOKEN"), "gitlab": ("GITLAB_TOKEN",)}


class Login(NamedTuple):
    """The header for the forge at `site`, and the texts that no message may contain."""

    site: str
    header: str
    secrets: tuple[str, ...]


def site(kind: Kind, env: Mapping[str, str]) -> str:
    """The address of a configured forge's pages, which ends with a slash."""
    return github_web(env) if kind == "github" else gitlab_base(env)


def token(kind: Kind, env: Mapping[str, str]) -> str | None:
    """The configured token of a forge. Raises `NodeError` if it cannot be one."""
    for name in _TOKENS[kind]:
        found = env.get(name, "").strip()
        if found:
            if not found.isascii() or not found.isprintable() or " " in found:
                message = f"{name} contains a character that no token has"
                raise NodeError("service-config", message, transient=False)
            return found
    return None


def forge(found: Remote, env: Mapping[str, str]) -> Kind:
    """The forge that a remote is on. Raises `NodeError` if none is configured there."""
    kind = _kind(found, env)
    if kind is None:
        known = " or ".join(f"`{host_of(site(kind, env))}`" for kind in _USERS)
        message = (
            f"the remote is on `{found.host}`, not on {known}; set GITHUB_API_URL or GITLAB_BASE_URL, or say `forge` "
            "if the name of the host is an alias"
        )
        raise NodeError("remote-address", message, transient=False)
    return kind


def _kind(found: Remote, env: Mapping[str, str]) -> Kind | None:
    for kind in _USERS:
        at = site(kind, env)
        if is_same_host(found.site, at) if found.is_http else found.host == urlsplit(at).hostname:
            return kind
    return None


def project_path(found: Remote, kind: Kind, env: Mapping[str, str]) -> str:
    """The path of a repository on its forge, without the folder that the forge itself may be in."""
    root = urlsplit(site(kind, env)).path.strip("/")
    return found.path.removeprefix(f"{root}/") if root and found.is_http else found.path


def login(found: Remote | None, env: Mapping[str, str]) -> Login | None:
    """The login for a remote over HTTP. None if it is on no configured forge, or if there is no token."""
    kind = _kind(found, env) if found is not None and found.is_http else None
    secret = token(kind, env) if kind is not None else None
    if found is None or kind is None or secret is None:
        return None
    pair = base64.b64encode(f"{_USERS[kind]}:{secret}".encode()).decode()
    return Login(found.site, f"Authorization: Basic {pair}", (secret, pair))
