"""Where the server can be reached from, and what it needs if that is more than this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from handrail.errors import UsageError
from handrail.source.dataclasses import dataclass
from handrail.web.entry import Credentials

LOOPBACK = "127.0.0.1"
USER, PASSWORD = "HANDRAIL_WEB_USER", "HANDRAIL_WEB_PASSWORD"
SHORTEST_PASSWORD = 12
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Exposure:
    """How the server can be reached. `proxy` is the address of a proxy in front of it, without a slash at the end."""

    host: str = LOOPBACK
    cert: str | None = None
    key: str | None = None
    proxy: str = ""
    credentials: Credentials | None = None

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
    missing = [name for name in (USER, PASSWORD) if not env.get(name)]
    if cert is None and not origin:
        missing += ["`--tls-cert` and `--tls-key`, or `--behind-proxy URL`"]
    if missing:
        raise UsageError(
            f"a page that other machines can reach needs a log-in and encryption; missing: {', '.join(missing)}",
            f"set {USER} and {PASSWORD} in the environment; leave `--host` out to serve this machine only",
        )
    if len(env[PASSWORD]) < SHORTEST_PASSWORD:
        raise UsageError(f"{PASSWORD} has to have at least {SHORTEST_PASSWORD} characters")
    return Exposure(host, cert, key, origin, Credentials(env[USER], env[PASSWORD]))


def origin_of(scheme: str, host: str, port: int) -> str:
    """The address as a browser writes it: without the usual port, with brackets around an IPv6 address."""
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if _PORTS[scheme] == port else f"{scheme}://{name}:{port}"


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
