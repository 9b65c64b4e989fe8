"""Which environment variables hold secrets, and which variables a program may see. Pure.

A variable holds a secret if its name or its value looks like one. The user's settings add names and except names.
Agents see only allowed variables, never the whole environment. `redaction.py` finds secrets in texts.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping

from handrail.source.record import Record

BASE = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "TMPDIR",
    "XDG_*", "PWD", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSH_AUTH_SOCK",
    "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_*", "GIT_SSH*", "CI", "HANDRAIL_*",
)  # fmt: skip
_NAME = re.compile(
    r"(?:(?:api|access|secret|private|auth|master|signing|encryption|account)[_.-]?keys?|secrets?|token|passwd"
    r"|passphrase|(?:^|_)(?:pass|pat|credentials?)|secret_key_base|docker_auth_config|npm_config__auth|mysql_pwd"
    r"|rediscli_auth|sshpass|webhook(?:[_.-]?ur[il])?|(?:^|_)chat_id)$"
    r"|password(?!.*_(?:file|path|dir|url|uri|name|length|policy|store|prompt|enabled)$)",
    re.IGNORECASE,
)
"""Names that end with one of these words, or contain `password`. A name that ends with `_ID` is public,
except that of a chat."""
_NOT_SECRET = ("GOOGLE_APPLICATION_CREDENTIALS", "GIT_ASKPASS", "SSH_ASKPASS", "PASSWORD_STORE_DIR")
_VALUE = re.compile(
    r"://[^/\s:@]*:(?P<password>[^/\s@]+)@"
    r"|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"
    r"|\b(?:sk|rk)_live_\w{16,}|\bsk-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bdop_v1_[0-9a-f]{32,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""A URL with a password, and the values that providers make recognisable."""


class SecretRules(Record):
    """What the settings say: patterns of names that also hold secrets, and of names that never do. `excepted` wins."""

    added: tuple[str, ...] = ()
    excepted: tuple[str, ...] = ()

    def names(self, name: str) -> bool:
        """True if a variable with this name holds a secret, whatever its value is."""
        if name in _NOT_SECRET or _matches(name, self.excepted):
            return False
        return _matches(name, self.added) or _NAME.search(name) is not None

    def holds(self, name: str, value: str) -> bool:
        """True if the name or the value looks like a secret."""
        return self.names(name) or (_VALUE.search(value) is not None and not _matches(name, self.excepted))


DEFAULT = SecretRules()


def recognised(value: str) -> list[str]:
    """The parts of a value that look like secrets themselves: the password in a URL, or a provider's token."""
    found = [match["password"] or match[0] for match in _VALUE.finditer(value)]
    return [part for part in found if not part.startswith("-----BEGIN")]


def allowed(env: Mapping[str, str], names: Iterable[str], rules: SecretRules = DEFAULT) -> dict[str, str]:
    """The variables that a program may see: the ones in `BASE` except secrets, and the ones that match `names`."""
    wanted = tuple(names)
    return {
        name: value
        for name, value in env.items()
        if _matches(name, wanted) or (_matches(name, BASE) and not rules.names(name))
    }


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def without_secrets(env: Mapping[str, str], wanted: Iterable[str] = (), rules: SecretRules = DEFAULT) -> dict[str, str]:
    """The environment without secrets, except the variables named in `wanted`."""
    named = set(wanted)
    return {name: value for name, value in env.items() if name in named or not rules.holds(name, value)}
