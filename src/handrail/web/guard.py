"""Stands before every request: refuses what does not come from our own page, and adds the headers that keep it safe.

A page of another site can make a browser send requests to this port, and a name of another site can lead to this
address. So the name, the origin, the cookie and the form of a request are checked before anything looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.source.dataclasses import dataclass
from handrail.web.entry import Doorkeeper
from handrail.web.refusals import Refusal, refusal_page

MOST_BODY = 256 * 1024
MOST_LOGIN = 4096
MOST_HEAD, MOST_HEADERS = 32 * 1024, 100
API, STATIC, ENTER, LOGIN = "/api/", "/static/", "/enter", "/login"
BROWSER = "handrail.browser"
"""The name, in the scope of a request, under which the browser's cookie is passed on."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
_LENGTH = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class Rules:
    """The name of the cookie, whether there is a log-in page, and whether nothing may be changed."""

    cookie: str
    has_login: bool = False
    is_read_only: bool = False


class Guard:
    """Wraps the application. `origins` are the addresses under which the page is served, such as `http://host:port`."""

    def __init__(self, app: ASGIApp, door: Doorkeeper, rules: Rules, origins: Iterable[str]) -> None:
        self.app = app
        self.door = door
        self.rules = rules
        self.origins = frozenset(origin.lower() for origin in origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in self.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other protocol is spoken here, and nothing answers
        refused = self.refusal(scope)
        if refused is not None:
            await self._answer(refused, scope["path"])(scope, receive, _with_headers(send))
            return
        await self.app(scope, _bounded(receive), _with_headers(send))

    def _answer(self, refused: Refusal, path: str) -> Response:
        """The answer to a refused request. It closes the connection: nothing else on it is read."""
        if refused is Refusal.COOKIE and self.rules.has_login and not path.startswith(API):
            return RedirectResponse(LOGIN, 303)
        answer = refusal_page(refused, path)
        answer.headers["connection"] = "close"
        return answer

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is refused; None if it is not."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        if len(headers.getlist("host")) != 1 or headers["host"].lower() not in self.hosts:
            return Refusal.HOST
        if method not in ("GET", "HEAD", "POST") or (method == "HEAD" and path.startswith(API)):
            return Refusal.METHOD
        if _is_misshaped(headers, path, method):
            return Refusal.FORM
        if ".." in path.split("/"):
            return Refusal.MISSING
        if self._is_foreign(headers):
            return Refusal.ORIGIN
        if path == LOGIN and self.rules.has_login:
            return self._wrong_login(headers) if method == "POST" else None
        if path == ENTER or path.startswith(STATIC):
            return None if method != "POST" else Refusal.METHOD
        scope[BROWSER] = cookie_parser(headers.get("cookie", "")).get(self.rules.cookie, "")
        if not self.door.knows(scope[BROWSER]):
            return Refusal.COOKIE
        if path.startswith(API) and not self._is_own(headers):
            return Refusal.ORIGIN
        return self._wrong_post(headers, path) if method == "POST" else None

    def _is_foreign(self, headers: Headers) -> bool:
        """True if the browser says that another page, or another site, sent the request."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        return (origin is not None and origin.lower() not in self.origins) or site not in (None, "same-origin", "none")

    def _is_own(self, headers: Headers) -> bool:
        """True if the browser says that our own page sent the request."""
        return headers.get("sec-fetch-site") == "same-origin" or (headers.get("origin") or "").lower() in self.origins

    def _wrong_post(self, headers: Headers, path: str) -> Refusal | None:
        if not path.startswith(API):
            return Refusal.METHOD
        if headers.get("x-handrail") != "1" or headers.get("content-type") != "application/json":
            return Refusal.FORM
        return _wrong_length(headers, MOST_BODY) or (Refusal.READ_ONLY if self.rules.is_read_only else None)

    def _wrong_login(self, headers: Headers) -> Refusal | None:
        if not self._is_own(headers):
            return Refusal.ORIGIN
        if headers.get("content-type") != "application/x-www-form-urlencoded":
            return Refusal.FORM
        return _wrong_length(headers, MOST_LOGIN)


def _is_misshaped(headers: Headers, path: str, method: str) -> bool:
    """True for requests that no browser sends, and that servers and proxies read differently."""
    once = ("content-length", "transfer-encoding", "content-type", "origin", "cookie", "sec-fetch-site", "x-handrail")
    if not path.startswith("/") or any(len(headers.getlist(name)) > 1 for name in once):
        return True
    if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers.raw) > MOST_HEAD:
        return True
    if "transfer-encoding" in headers and ("content-length" in headers or method != "POST"):
        return True
    return method != "POST" and headers.get("content-length", "0") != "0"


def _wrong_length(headers: Headers, most: int) -> Refusal | None:
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not _LENGTH.fullmatch(length):
        return Refusal.LENGTH
    return Refusal.SIZE if int(length) > most else None


def _bounded(receive: Receive) -> Receive:
    """Reads no more of a body than `MOST_BODY`, whatever its length was said to be."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        if message["type"] == "http.request":
            total += len(message.get("body", b""))
            if total > MOST_BODY:
                return {"type": "http.disconnect"}
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                if name not in headers:
                    headers[name] = value
            if "server" in headers:
                del headers["server"]
        await send(message)

    return sending
