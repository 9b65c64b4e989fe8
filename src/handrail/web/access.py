"""Where the server can be reached from, and who may use the page.

A link that works once, or a log-in, becomes a cookie.
The link is printed in the terminal of the person who started the server. Whoever only knows the port cannot get in.
A server keeps its port, and the digests of the cookies that it gave out, for its next start.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from handrail.base.dataclasses import dataclass, field
from handrail.base.errors import StateError, UsageError
from handrail.base.files import identity, make_private, read_regular, replace, size_and_time
from handrail.settings.folders import file_name

LINK_SECONDS = 600
COOKIE_SECONDS = 12 * 3600
MOST_LINKS, MOST_COOKIES = 20, 100
"""How many are valid at the same time. The oldest ones go first."""
ExpiryTimes = Mapping[str, float]
Keep = Callable[[ExpiryTimes], None]


@dataclass(frozen=True)
class Credentials:
    user: str
    password: str = field(repr=False)

    def fit(self, user: str, password: str) -> bool:
        """True if both are right. Takes equally long for right and wrong ones."""
        pairs = ((self.user, user), (self.password, password))
        matches = [hmac.compare_digest(_digest(a), _digest(b)) for a, b in pairs]
        return all(matches)


class Doorkeeper:
    """Gives out links and checks cookies. Only the digests of cookies are kept: whoever reads them cannot make one.

    `read_cookies` returns the stored digests, also those of another server, with the times at which they expire.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        read_cookies: Callable[[], ExpiryTimes] = dict,
        keep_cookies: Keep | None = None,
    ) -> None:
        self._clock = clock
        self._read_cookies = read_cookies
        self._keep_cookies = keep_cookies
        self._links: dict[str, float] = {}
        self._cookies: dict[str, float] = {}

    def new_token(self) -> str:
        """A token for a link. It works once, for ten minutes."""
        token = secrets.token_urlsafe(32)
        self._links[_digest(token)] = self._clock() + LINK_SECONDS
        while len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]
        return token

    def admit(self, token: str) -> str | None:
        """The value of the cookie for a valid token, which is used up by this; None for any other."""
        expiry = self._links.pop(_digest(token), None)
        if expiry is None or expiry < self._clock():
            return None
        return self.new_cookie()

    def new_cookie(self) -> str:
        cookie, now = secrets.token_urlsafe(32), self._clock()
        cookies = {**self._read_cookies(), **self._cookies}
        valid_cookies = {digest: expiry for digest, expiry in cookies.items() if expiry >= now}
        self._cookies = dict(list(valid_cookies.items())[1 - MOST_COOKIES :])
        self._cookies[_digest(cookie)] = now + COOKIE_SECONDS
        if self._keep_cookies is not None:
            self._keep_cookies(self._cookies)
        return cookie

    def knows(self, cookie: str) -> bool:
        """True if the cookie is one of ours and still valid."""
        digest = _digest(cookie)
        expiry = self._cookies.get(digest) or self._read_cookies().get(digest)
        return expiry is not None and expiry >= self._clock()


def _digest(token: str) -> str:
    """The digest of a token. Tokens are looked up by it, so the time of a lookup says nothing about them."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


LOOPBACK = "127.0.0.1"
USER, PASSWORD = "HANDRAIL_WEB_USER", "HANDRAIL_WEB_PASSWORD"
SHORTEST_PASSWORD = 12
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Exposure:
    """How the server can be reached. `proxy` is the address of a proxy in front of it, without a slash at the end.

    `port` is None for any port. With `is_read_only`, nothing may be changed.
    """

    host: str = LOOPBACK
    cert: str | None = None
    key: str | None = None
    proxy: str = ""
    credentials: Credentials | None = None
    port: int | None = None
    is_read_only: bool = False

    @property
    def tls(self) -> bool:
        return self.cert is not None


def exposure(
    host: str | None, cert: str | None, key: str | None, proxy: str | None, env: Mapping[str, str]
) -> Exposure:
    """What the options say. Raises `UsageError` that names everything that is missing."""
    host = LOOPBACK if host in (None, "localhost") else str(host)
    if (cert is None) != (key is None):
        raise UsageError(f"`--tls-{'key' if key is None else 'cert'}` is missing", "TLS needs both files")
    origin = "" if proxy is None else _origin(proxy)
    if not _is_host(host):
        raise UsageError(f"`--host` has to be a name or an address, found `{host}`")
    if _is_loopback(host) and not origin:
        return Exposure(host, cert, key)
    if host in ("0.0.0.0", "::") and not origin:  # noqa: S104  # this is where it is refused
        hint = "name the address under which the page is opened, or give `--behind-proxy URL`"
        raise UsageError(f"`--host {host}` does not say under which name the page is opened", hint)
    missing_names = [name for name in (USER, PASSWORD) if not env.get(name)]
    if cert is None and not origin:
        missing_names += ["`--tls-cert` and `--tls-key`, or `--behind-proxy URL`"]
    if missing_names:
        raise UsageError(
            f"a page that other machines can reach needs a log-in and encryption; missing: {', '.join(missing_names)}",
            f"set {USER} and {PASSWORD} in the environment; leave `--host` out to serve this machine only",
        )
    if len(env[PASSWORD]) < SHORTEST_PASSWORD:
        raise UsageError(f"{PASSWORD} has to have at least {SHORTEST_PASSWORD} characters")
    return Exposure(host, cert, key, origin, Credentials(env[USER], env[PASSWORD]))


def origin_of(scheme: str, host: str, port: int) -> str:
    """The address as a browser writes it: without the usual port, with brackets around an IPv6 address."""
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if _PORTS[scheme] == port else f"{scheme}://{name}:{port}"


@dataclass(frozen=True)
class Address:
    """Where the server listens, and under which addresses people reach it. `proxy` is the address of a proxy."""

    host: str
    port: int
    tls: bool = False
    proxy: str = ""

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        return self.proxy or origin_of(self.scheme, self.host, self.port)

    @property
    def is_secure(self) -> bool:
        """True if nobody on the way can read the cookie."""
        return self.url.startswith("https://")

    @property
    def origins(self) -> list[str]:
        names = ["localhost"] if self.host == "127.0.0.1" and not self.proxy else []
        return [self.url, *(origin_of(self.scheme, name, self.port) for name in names)]

    @property
    def cookie(self) -> str:
        """The name of the cookie. Servers on other ports of this machine have others."""
        return f"handrail-{self.port}"


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        scheme, host, port = "", "", None
    if scheme not in _PORTS or not _is_host(host) or parts.path not in ("", "/") or parts.query or parts.username:
        raise UsageError(f"`--behind-proxy` has to be an address, found `{url}`", "such as `https://handrail.example`")
    if scheme == "http" and not _is_loopback(host):
        raise UsageError("`--behind-proxy` has to start with `https://`", "otherwise others can read the password")
    return origin_of(scheme, host, port or _PORTS[scheme])


def _is_host(host: str) -> bool:
    return _address(host) is not None or _NAME.fullmatch(host) is not None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


FOLDER = "web"


class ServerFolder:
    """The folder of the server of a project. Each project has its own, so a page never reaches another project."""

    def __init__(self, state: str, project: str) -> None:
        self.folder = os.path.join(state, FOLDER, file_name(os.path.realpath(project)))
        make_private(self.folder)
        self._read_mark: object = None
        self._cookies: dict[str, float] = {}

    def cookies(self) -> Mapping[str, float]:
        """The digests of cookies, with the times until which they are valid. Read again only after a change."""
        path = self._path("cookies")
        mark = identity(path), size_and_time(path)
        if self._read_mark != mark:
            self._read_mark, self._cookies = mark, {}
            with contextlib.suppress(OSError, ValueError, AttributeError):
                data = json.loads(read_regular(path))
                self._cookies = {str(digest): float(expiry) for digest, expiry in data.items()}
        return self._cookies

    def keep(self, cookies: Mapping[str, float]) -> None:
        self._write("cookies", json.dumps(dict(cookies)))

    @property
    def port(self) -> int:
        """The port of the last time, so that a page that is still open finds the server again. 0: any port."""
        try:
            return int(read_regular(self._path("port")))
        except (OSError, ValueError):
            return 0

    @port.setter
    def port(self, port: int) -> None:
        self._write("port", f"{port}\n")

    def _write(self, name: str, text: str) -> None:
        """Write a file. If the disk is full or read-only, only the next start of the server is affected."""
        with contextlib.suppress(StateError):
            replace(self._path(name), text.encode(), durable=False)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)
