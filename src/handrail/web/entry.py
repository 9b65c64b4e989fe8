"""Who may use the page: a link that works once, or a log-in, becomes a cookie.

The link is printed in the terminal of the person who started the server. Whoever only knows the port cannot get in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping

from handrail.source.dataclasses import dataclass, field

LINK_SECONDS = 600
COOKIE_SECONDS = 12 * 3600
MOST_LINKS, MOST_COOKIES = 20, 100
"""How many are valid at the same time. The oldest ones go first."""
Times = Mapping[str, float]
Keep = Callable[[Times], None]


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
    """Gives out links and checks cookies. Only the digests of cookies are kept: whoever reads them cannot make one.

    `kept` returns the digests that were kept, also by another server, with the times until which they are valid.
    """

    def __init__(self, clock: Callable[[], float], kept: Callable[[], Times] = dict, keep: Keep | None = None) -> None:
        self._clock = clock
        self._kept = kept
        self._keep = keep
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
        until = self._links.pop(_digest(token), None)
        if until is None or until < self._clock():
            return None
        return self.new_cookie()

    def new_cookie(self) -> str:
        """The value of a cookie that is valid from now on."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        valid = {digest: until for digest, until in {**self._kept(), **self._cookies}.items() if until >= now}
        self._cookies = dict(list(valid.items())[1 - MOST_COOKIES :])
        self._cookies[_digest(cookie)] = now + COOKIE_SECONDS
        if self._keep is not None:
            self._keep(self._cookies)
        return cookie

    def knows(self, cookie: str) -> bool:
        """True if the cookie is one of ours and still valid."""
        digest = _digest(cookie)
        until = self._cookies.get(digest) or self._kept().get(digest)
        return until is not None and until >= self._clock()


def _digest(token: str) -> str:
    """Tokens are looked up by their digest, so how long a look takes says nothing about them."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
