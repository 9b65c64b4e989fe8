"""Who may use the page: a link that works once, or a log-in, becomes a cookie.

The link is printed in the terminal of the person who started the server. Whoever only knows the port cannot get in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

LINK_SECONDS = 600
COOKIE_SECONDS = 12 * 3600
KEY_BYTES = 32
MOST_LINKS = 20
"""Links that are valid at the same time. The oldest ones go first."""


@dataclass(frozen=True)
class Credentials:
    """A user and a password."""

    user: str
    password: str = field(repr=False)

    def fit(self, user: str, password: str) -> bool:
        """True if both are right. How long this takes says nothing about them."""
        same = [hmac.compare_digest(_digest(a), _digest(b)) for a, b in ((self.user, user), (self.password, password))]
        return all(same)


class Doorkeeper:
    """Gives out links and checks cookies. `key` signs cookies, so that they outlive a restart of the server."""

    def __init__(self, key: bytes, clock: Callable[[], float]) -> None:
        self._key = key
        self._clock = clock
        self._links: dict[str, float] = {}

    def new_token(self) -> str:
        """A token for a link. It works once, for ten minutes."""
        token = secrets.token_urlsafe(32)
        self._links[_digest(token)] = self._clock() + LINK_SECONDS
        while len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]
        return token

    def admit(self, token: str) -> str | None:
        """The value of the cookie for a valid token, which is used up by this; None for any other."""
        until = self._links.pop(_digest(token), None)
        if until is None or until < self._clock():
            return None
        return self.new_cookie()

    def new_cookie(self) -> str:
        """The value of a cookie: until when it is valid, a name for the browser, and a signature."""
        return self._signed(int(self._clock()) + COOKIE_SECONDS, secrets.token_hex(8))

    def knows(self, cookie: str) -> bool:
        """True if the cookie is one of ours and still valid."""
        if not cookie.isascii():
            return False
        until, _, rest = cookie.partition(".")
        browser, _, _ = rest.partition(".")
        if not until.isdigit() or len(until) > 15:
            return False
        return hmac.compare_digest(self._signed(int(until), browser), cookie) and int(until) >= self._clock()

    def _signed(self, until: int, browser: str) -> str:
        mark = hmac.new(self._key, f"handrail-web {until} {browser}".encode(), hashlib.sha256).hexdigest()
        return f"{until}.{browser}.{mark}"


def _digest(token: str) -> str:
    """Tokens are looked up by their digest, so how long a look takes says nothing about them."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
