"""Secrets of the environment: which variables hold one, who may have them, and how they are kept out of files. Pure.

A variable holds a secret when its name says so and its value is long enough to be one. What agents are given is a
list of names that is allowed, never the whole environment.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "[hidden]"
SHORTEST = 8
BASE = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "TMPDIR",
    "XDG_*", "PWD", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSH_AUTH_SOCK",
    "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_*", "GIT_SSH*", "CI", "HANDRAIL_*",
)  # fmt: skip
_SECRET = re.compile(
    r"(?:^|_)(?:api_?keys?|keys?|tokens?|secrets?|passwords?|passwd|passphrase|pass|credentials?|auth|cookies?|pat|dsn)"
    r"(?:_|$)|(?:api|access|secret|private|auth)_?(?:key|token)$|secret$|password$|.token$|.secretkey$",
    re.IGNORECASE,
)
_USER_AND_PASSWORD = re.compile(r"://[^/\s:@]+:[^/\s@]+@")
_NOT_SECRET = ("SSH_AUTH_SOCK", "XAUTHORITY", "HANDRAIL_KEY", "GIT_ASKPASS", "SSH_ASKPASS")


def is_secret(name: str) -> bool:
    """Does the name of a variable say that it holds a secret?"""
    return name not in _NOT_SECRET and _SECRET.search(name) is not None


def holds_secret(name: str, value: str) -> bool:
    """The same of a variable: an address with a password in it is a secret too."""
    return is_secret(name) or _USER_AND_PASSWORD.search(value) is not None


def allowed(env: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What a program may see: what every program needs, and what it asks for by name or pattern."""
    wanted = tuple(names)
    return {
        name: value for name, value in env.items() if _fits(name, wanted) or (_fits(name, BASE) and not is_secret(name))
    }


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def without_secrets(env: Mapping[str, str], wanted: Iterable[str] = ()) -> dict[str, str]:
    """An environment without what looks like a secret, but for what is asked for by name."""
    named = set(wanted)
    return {name: value for name, value in env.items() if name in named or not holds_secret(name, value)}


class Redactor:
    """Takes the values of secrets out of texts, longest first."""

    def __init__(self, env: Mapping[str, str]) -> None:
        values = {value for name, value in env.items() if holds_secret(name, value) and len(value) >= SHORTEST}
        self.values = sorted(values, key=len, reverse=True)

    def text(self, text: str) -> str:
        for value in self.values:
            if value in text:
                text = text.replace(value, HIDDEN)
        return text

    def value(self, value: Any) -> Any:
        """A value with every text in it taken care of, names of members included."""
        if not self.values:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(name): self.value(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def finds(self, data: bytes) -> bool:
        """Is there a secret in this?"""
        return any(value.encode("utf-8", "surrogateescape") in data for value in self.values)
