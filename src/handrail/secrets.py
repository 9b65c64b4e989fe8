"""Secrets in environment variables: finds them, hides them from programs, and removes them from texts. Pure.

A variable holds a secret if its name or its value looks like one. Agents see only allowed variables, never the whole
environment.
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
    """True if a variable with this name probably holds a secret."""
    return name not in _NOT_SECRET and _SECRET.search(name) is not None


def holds_secret(name: str, value: str) -> bool:
    """True if the name looks like a secret, or if the value is a URL with a password."""
    return is_secret(name) or _USER_AND_PASSWORD.search(value) is not None


def allowed(env: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The variables that a program may see: the ones in `BASE` except secrets, and the ones that match `names`."""
    wanted = tuple(names)
    return {
        name: value
        for name, value in env.items()
        if _matches(name, wanted) or (_matches(name, BASE) and not is_secret(name))
    }


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def without_secrets(env: Mapping[str, str], wanted: Iterable[str] = ()) -> dict[str, str]:
    """The environment without secrets, except the variables named in `wanted`."""
    named = set(wanted)
    return {name: value for name, value in env.items() if name in named or not holds_secret(name, value)}


class Redactor:
    """Replaces the values of secrets in texts, the longest value first."""

    def __init__(self, env: Mapping[str, str]) -> None:
        values = {value for name, value in env.items() if holds_secret(name, value) and len(value) >= SHORTEST}
        self.values = sorted(values, key=len, reverse=True)

    def text(self, text: str) -> str:
        for value in self.values:
            if value in text:
                text = text.replace(value, HIDDEN)
        return text

    def value(self, value: Any) -> Any:
        """The value with secrets replaced in all its texts, including the keys of objects."""
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
        """True if the data contains a secret."""
        return any(value.encode("utf-8", "surrogateescape") in data for value in self.values)
