"""Addresses of services: checked, and compared by scheme, host and port. Pure."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from handrail.contracts import NodeError
from handrail.source.values import shown


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int


def origin(url: str) -> Origin:
    """The scheme, host and port of an address. Raises `ValueError` if it is not an HTTP address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"`{shown(url, 80)}` is not an address that begins with http:// or https://")
    return Origin(parts.scheme, parts.hostname.lower(), parts.port or (443 if parts.scheme == "https" else 80))


def is_same_host(url: str, base: str) -> bool:
    """True if an address has the scheme, host and port of the configured one."""
    try:
        return origin(url) == origin(base)
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of an address and its port, for messages."""
    try:
        found = origin(url)
    except ValueError:
        return "an address that is not HTTP"
    return found.host if found.port in (80, 443) else f"{found.host}:{found.port}"


def address_of(url: str) -> str:
    """The scheme, the host and the port of an address, for messages."""
    return f"{urlsplit(url).scheme}://{host_of(url)}"


def base_address(name: str, variable: str, url: str) -> str:
    """The configured address of a service, checked. It ends with a slash."""
    try:
        origin(url)
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            raise ValueError("an address must not contain a user or a password")
        if parts.query or parts.fragment:
            raise ValueError("an address must not contain `?` or `#`")
    except ValueError as error:
        raise NodeError("service-address", f"{name}: {variable}: {error}", transient=False) from None
    return url.rstrip("/") + "/"
