"""Which environment variables hold secrets, and how their values are kept out of files and off screens. Pure.

A value has three forms. Steps work with the *real* value. A file gets the *stored* form: `${secret:NAME}` stands where
the value of the variable `NAME` was, so that the real value can be restored later. People see the *masked* form, with
`[hidden]` there; the mask is never data. In a stored text, `${secret:}` stands for a literal `${secret:`, so ordinary
data cannot be mistaken for a reference. `${secret:NAME:FORM}` is another form of the secret, see `_forms`.
Agents see only allowed variables, never the whole environment.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from handrail.base import jsonlite
from handrail.base.record import Record
from handrail.source.values import Unresolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VISIBLE_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "TMPDIR",
    "XDG_*", "PWD", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSH_AUTH_SOCK",
    "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_*", "GIT_SSH*", "CI", "HANDRAIL_*",
)  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?:(?:api|access|secret|private|auth|master|signing|encryption|account)[_.-]?keys?|secrets?|token|passwd"
    r"|passphrase|(?:^|_)(?:pass|pat|credentials?)|secret_key_base|docker_auth_config|npm_config__auth|mysql_pwd"
    r"|rediscli_auth|sshpass|webhook(?:[_.-]?ur[il])?|(?:^|_)chat_id)$"
    r"|password(?!.*_(?:file|path|dir|url|uri|name|length|policy|store|prompt|enabled)$)",
    re.IGNORECASE,
)
"""Names that end with one of these words, or contain `password`. A name that ends with `_ID` is public,
except that of a chat."""
_NOT_SECRET = ("GOOGLE_APPLICATION_CREDENTIALS", "GIT_ASKPASS", "SSH_ASKPASS", "PASSWORD_STORE_DIR")
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]*:(?P<password>[^/\s@]+)@"
    r"|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"
    r"|\b(?:sk|rk)_live_\w{16,}|\bsk-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bdop_v1_[0-9a-f]{32,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""A URL with a password, and the values that providers make recognisable."""


def literal_secret(text: str) -> int | None:
    """Where a text has a value that looks like a secret; None if it has none. An expression is not one."""
    found = (match for match in _SECRET_VALUE.finditer(text) if "${" not in match[0])
    return next((match.start() for match in found), None)


class SecretRules(Record):
    """What the settings say: patterns of names that also hold secrets, and of names that never do. `excepted` wins."""

    added: tuple[str, ...] = ()
    excepted: tuple[str, ...] = ()

    def names(self, name: str) -> bool:
        """True if a variable with this name holds a secret, whatever its value is."""
        return self.holds(name, "")

    def holds(self, name: str, value: str) -> bool:
        """True if the name or the value looks like a secret."""
        if self.excepted and _matches(name, self.excepted):
            return False
        if _SECRET_VALUE.search(value) is not None:
            return True
        if name in _NOT_SECRET:
            return False
        return _SECRET_NAME.search(name) is not None or bool(self.added and _matches(name, self.added))


DEFAULT_RULES = SecretRules()


def secret_parts(value: str) -> list[str]:
    """The parts of a value that look like secrets themselves: the password in a URL, or a provider's token."""
    parts = [match["password"] or match[0] for match in _SECRET_VALUE.finditer(value)]
    return [part for part in parts if not part.startswith("-----BEGIN")]


def allowed_variables(
    env: Mapping[str, str], names: Iterable[str], rules: SecretRules = DEFAULT_RULES
) -> dict[str, str]:
    """The variables that a program may see: `VISIBLE_VARIABLES` except secrets, and the ones that match `names`."""
    patterns = tuple(names)
    return {
        name: value
        for name, value in env.items()
        if _matches(name, patterns) or (_matches(name, VISIBLE_VARIABLES) and not rules.names(name))
    }


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(patterns) and _one_of(patterns).match(name) is not None


@cache
def _one_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, patterns)))


def without_secrets(
    env: Mapping[str, str], names: Iterable[str] = (), rules: SecretRules = DEFAULT_RULES
) -> dict[str, str]:
    """The environment without secrets, except the variables named in `wanted`."""
    allowed = set(names)
    return {name: value for name, value in env.items() if name in allowed or not rules.holds(name, value)}


HIDDEN = "[hidden]"
SECRET_MISSING = "secret-missing"  # noqa: S105 - the code of a failure
"""The code of an error: a value needs a secret that is not set any more."""
SHORTEST = 8
"""Shorter values are not looked for: they would be found everywhere."""
_MARK = "${secret:"
_REFERENCE = re.compile(r"\$\{secret:([^{}:]*)(?::([a-z]+(?:-[0-9]+)?))?\}")
_ESCAPED = "\\ud"
"""In JSON, the beginning of an escaped lone surrogate. Then all characters beyond ASCII are escaped."""
_RAW = "raw"
"""The form of a secret that is the value of its variable, unchanged."""
_CUT = 16
"""If a text was cut inside a secret, the mask still finds this many characters of it."""
_LINE = re.compile(r"[!-~]{16,}")


class LostSecret(str):
    """A text that cannot be restored, in its stored form: a variable that it refers to is not set any more."""

    __slots__ = ("name",)
    name: str


class Secrets:
    """The secrets in one environment."""

    def __init__(self, env: Mapping[str, str], rules: SecretRules = DEFAULT_RULES) -> None:
        self.env = env
        self.rules = rules
        forms_of = {name: _forms(env[name]) for name in sorted(env) if rules.holds(name, env[name])}
        rows = [(form, name, text) for name, forms in forms_of.items() for form, text in forms.items()]
        self._references: dict[str, str] = {}
        for form, name, text in sorted(rows):  # a whole value, whose form is empty, before a part of another one
            self._references.setdefault(text, _reference(name, form))
        self._texts = sorted(self._references, key=len, reverse=True)
        self._in_json = (_MARK, _ESCAPED, *(jsonlite.dumps(text)[1:-1] for text in self._texts))
        self._pattern = re.compile("|".join(map(re.escape, [*self._texts, _MARK])))
        long = [text for text in self._texts if len(text) > _CUT]
        # the beginning of others is not secret: a key's first line, a JSON Web Token's header, a URL
        self._long = [text for text in long if not text.startswith(("-----", "eyJ")) and "://" not in text]

    def __bool__(self) -> bool:
        return bool(self._texts)

    def for_storage(self, value: Any, text: str | None = None) -> Any:
        """The value in its stored form, or the same object if it has no secret. `text` is the value as JSON."""
        if not isinstance(value, str):
            text = jsonlite.dumps(value) if text is None else text
            if not any(secret in text for secret in self._in_json):
                return value
        return _with_texts(value, self._store)

    def _store(self, text: str) -> str:
        if isinstance(text, LostSecret):
            return str(text)
        if _MARK not in text and not any(secret in text for secret in self._texts):
            return text
        return self._pattern.sub(lambda match: self._references.get(match[0], f"{_MARK}}}"), text)

    def from_storage(self, value: Any) -> Any:
        """The real value of a stored one. A text whose variable is not set becomes a `LostSecret`."""
        if not isinstance(value, str) and _MARK not in jsonlite.dumps(value):
            return value
        return _with_texts(value, self._restore)

    def _restore(self, text: str) -> str:
        if _MARK not in text:
            return text
        missing: list[str] = []

        def real(match: re.Match[str]) -> str:
            name = _variable_name(match[1])
            secret = self._form(name, match[2] or "") if name else _MARK
            missing.extend([name] if secret is None else [])
            return secret or ""

        result = _REFERENCE.sub(real, text)
        if not missing:
            return result
        stored = LostSecret(text)
        stored.name = missing[0]
        return stored

    def _form(self, name: str, form: str) -> str | None:
        value = self.env.get(name)
        return value if value is None or form == _RAW else _forms(value).get(form)

    def variables(self, names: Iterable[str]) -> dict[str, str]:
        """Those of the variables that are set, in their stored form. Even a short secret is stored as a reference."""
        values = {name: self.env[name] for name in names if name in self.env}
        return {
            name: _reference(name, _RAW) if self.rules.holds(name, value) else self._store(value)
            for name, value in values.items()
        }

    def for_people(self, value: Any) -> Any:
        """The real value in its masked form, with secrets hidden in all its texts, including the keys of objects."""
        return _with_texts(value, self.mask) if self._texts else value

    def mask(self, text: str) -> str:
        """The text with `[hidden]` in the place of each secret, and of a part of a secret if the text was cut there."""
        for secret in self._texts:
            text = text.replace(secret, HIDDEN)
        for secret in self._long:
            text = _mask_cut(text, secret)
        return text

    def for_agent(self, text: str) -> str:
        """The text with `$NAME` in the place of the secret in the variable `NAME`, which an agent's shell can use."""
        for secret in self._texts:
            name, form = _REFERENCE.fullmatch(self._references[secret]).groups()  # type: ignore[union-attr]  # built by `_reference`
            text = text.replace(secret, HIDDEN if form else f"${_variable_name(name)}")
        return self.mask(text)

    def found_in(self, data: str | bytes) -> str | None:
        """The name of a variable whose secret is in the data; None if there is none."""
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        secret = next((text for text in self._texts if text.encode("utf-8", "surrogatepass") in raw), None)
        return None if secret is None else _variable_name(_REFERENCE.fullmatch(self._references[secret])[1])  # type: ignore[index]  # built by `_reference`


def masked(stored: Any) -> Any:
    """A stored value in its masked form. Needs no environment."""
    if not isinstance(stored, str) and _MARK not in jsonlite.dumps(stored):
        return stored
    return _with_texts(stored, lambda text: _REFERENCE.sub(lambda match: HIDDEN if match[1] else _MARK, text))


def has_lost(value: Any) -> bool:
    """True if a text inside the value could not be restored."""
    return _lost_name(value) is not None


def refuse_lost(value: Any) -> None:
    """Raise `Unresolved` if a text inside the value could not be restored, and say which variable is missing."""
    if (name := _lost_name(value)) is not None:
        message = f"the environment variable `{name}` is not set; it holds a secret that this value needs"
        raise Unresolved(SECRET_MISSING, message)


def _lost_name(value: Any) -> str | None:
    waiting = [value]
    done: set[int] = set()  # the result of a nested flow holds the results of its steps twice: look once
    while waiting:
        part = waiting.pop()
        if isinstance(part, LostSecret):
            return part.name
        if isinstance(part, (dict, list)) and id(part) not in done:
            done.add(id(part))
            waiting += [*part, *part.values()] if isinstance(part, dict) else part
    return None


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of the value with all its texts changed, including the keys of objects. Any depth is possible."""
    root: list[Any] = [value]
    waiting: list[tuple[Any, Any]] = [(root, 0)]
    while waiting:
        place, key = waiting.pop()
        part = place[key]
        if isinstance(part, str):
            place[key] = change(part)
        elif isinstance(part, dict):
            place[key] = copy = {change(name) if isinstance(name, str) else name: part[name] for name in part}
            waiting += [(copy, name) for name in copy]
        elif isinstance(part, list | tuple):
            place[key] = items = list(part)
            waiting += [(items, number) for number in range(len(items))]
    return root[0]


def _forms(value: str) -> dict[str, str]:
    """The texts to look for, by the name of their form: the value itself, in JSON, its parts and its lines.

    A part is a password in a URL or a provider's token. Lines are those of a key in several lines.
    """
    secret = value.strip()
    forms = {"": secret, "json": jsonlite.dumps(secret)[1:-1]}
    forms |= {f"part-{number}": part for number, part in enumerate(secret_parts(secret))}
    if "-----BEGIN" in secret:
        lines = enumerate(secret.splitlines())
        forms |= {f"line-{n}": line for n, line in lines if _LINE.fullmatch(line) and not line.startswith("-----")}
    return {form: text for form, text in forms.items() if len(text) >= SHORTEST}


def _reference(name: str, form: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        from urllib.parse import quote

        name = quote(name, safe="", errors="surrogatepass")
    return f"{_MARK}{name}:{form}}}" if form else f"{_MARK}{name}}}"


def _variable_name(name: str) -> str:
    if "%" not in name:
        return name
    from urllib.parse import unquote

    return unquote(name, errors="surrogatepass")


def _mask_cut(text: str, secret: str) -> str:
    """The text without the beginning of a secret that was cut at its end, and the end of one cut at its beginning."""
    head, tail = secret[:_CUT], secret[-_CUT:]
    while (start := text.find(head)) >= 0:
        end = start + _CUT
        while end < len(text) and end - start < len(secret) and text[end] == secret[end - start]:
            end += 1
        text = text[:start] + HIDDEN + text[end:]
    while (start := text.find(tail)) >= 0:
        end, left_count = start + _CUT, len(secret) - _CUT
        while start > 0 and left_count > 0 and text[start - 1] == secret[left_count - 1]:
            start, left_count = start - 1, left_count - 1
        text = text[:start] + HIDDEN + text[end:]
    return text
