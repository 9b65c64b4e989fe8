"""The addresses of git remotes: HTTP, SSH, the short form of SSH (`git@host:path`), and local folders. Pure.

Nothing here repeats the user or the password that an address may contain.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

SSH = ("ssh", "git+ssh", "ssh+git")
_SHORT = re.compile(
    r"(?:[^@/\s\[\]:]+@)?"
    r"(?:\[(?:[^@/\s\[\]]+@)?(?P<boxed>[^@\s\[\]]+)\]|(?P<host>[^@/\s\[\]:]+))"
    r":(?!:)(?P<path>.*)"
)
"""`git@host:path`. A host in brackets may have a port, or be an IPv6 address. `ext::x` names a helper program."""
_BOXED = re.compile(r"(?P<host>[^:]+):(?P<port>[0-9]{1,5})")
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


def remote(address: str) -> Remote | None:
    """The repository at an address. None if it is on no host: a folder, a helper program, or no address at all."""
    given = address.strip()
    try:
        found = _whole(given) if "://" in given else _short(given)
    except ValueError:
        return None
    return None if found is None or not _is_path(found.path) else found


def public(address: str) -> str:
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


def _whole(address: str) -> Remote | None:
    parts = urlsplit(address)
    scheme = "ssh" if parts.scheme in SSH else parts.scheme
    if scheme not in ("http", "https", "ssh", "git") or not parts.hostname or parts.query or parts.fragment:
        return None
    usual = {"http": 80, "https": 443, "ssh": 22, "git": 9418}[scheme]
    port = None if parts.port == usual else parts.port
    return _named(scheme, parts.hostname, port, unquote(parts.path))


def _short(address: str) -> Remote | None:
    found = _SHORT.fullmatch(address)
    if found is None or (len(found["host"] or "") == 1 and address[1:2] == ":"):  # `C:\folder` of Windows
        return None
    host, port = found["host"] or found["boxed"], None
    boxed = _BOXED.fullmatch(found["boxed"] or "")
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
