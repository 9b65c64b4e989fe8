"""Stands before every request: refuses what does not come from our own page, and adds the headers that keep it safe.

A page of another site can make a browser send requests to this port, and a name of another site can lead to this
address. So the name, the origin, the cookie and the form of a request are checked before anything looks at it.
A refused request gets a status, one sentence and what helps; nothing of the request is repeated. The log-in page has
no script.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from html import escape
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import handrail
from handrail.web.access import Address, Credentials, Doorkeeper

_NEW_LINK = "Press Enter in the terminal that runs `handrail web` to get a new link. A link works once."


def html_page(title: str, body: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A small page without a script. `body` is markup."""
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Handrail: {title.lower()}</title>
<link rel="stylesheet" href="/static/{handrail.__version__}/style.css">
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
    return HTMLResponse(text, status, headers)


class RequestRefusal(Enum):
    """A reason to refuse a request. `help` is what a person can do."""

    HOST = (
        421,
        "host",
        "This address is not the one that the page is served under.",
        "Use the link from the terminal.",
    )
    ORIGIN = (403, "origin", "The request came from another page.", "Open the page itself and do it there.")
    COOKIE = (401, "signed-out", "You are not signed in.", _NEW_LINK)
    LINK = (401, "link", "This link was used already, or it is older than ten minutes.", _NEW_LINK)
    METHOD = (405, "method", "This address does not take such a request.", "Open the page itself.")
    FORM = (400, "form", "The request does not have the form that the page gives it.", "Reload the page.")
    LENGTH = (411, "length", "The request does not say how long it is.", "Reload the page.")
    SIZE = (413, "size", "This is too much text for one request.", "Shorten it; at most 256 KB fit.")
    STREAMS = (429, "streams", "Too many pages are open.", "Close some of them, then reload this one.")
    MISSING = (404, "missing", "There is nothing at this address.", "Home lists all runs and sessions.")
    BUG = (
        500,
        "bug",
        "This is a bug in Handrail.",
        "The terminal that runs `handrail web` names a report; please send it.",
    )
    STATE = (
        503,
        "state",
        "A file cannot be read or written.",
        "Look at the disk and at the permissions of the state folder, then try again.",
    )
    READ_ONLY = (403, "read-only", "This page only shows things.", "Start `handrail web` without `--read-only`.")

    def __init__(self, status: int, code: str, sentence: str, help: str) -> None:  # noqa: A002 - that is what it is
        self.status = status
        self.code = code
        self.sentence = sentence
        self.help = help


def refusal_page(refusal: RequestRefusal, path: str) -> Response:
    """The answer: JSON for the page's own requests, else a small page."""
    if path.startswith(API):
        error = {"code": refusal.code, "message": refusal.sentence, "hint": refusal.help}
        return JSONResponse({"error": error}, refusal.status)
    body = f'<p role="alert" class="banner">✗ {escape(refusal.sentence)}</p>\n<p>{escape(refusal.help)}</p>'
    if refusal.status < 500 and refusal is not RequestRefusal.MISSING:
        return html_page("Refused", body, refusal.status)
    title = "Not found" if refusal is RequestRefusal.MISSING else "Something went wrong"
    return html_page(title, f'{body}\n<p><a class="button" href="/">Home</a></p>', refusal.status)


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


BURST, PER_SECOND = 300, 100
"""How many requests are answered at once, and then in each second. A page that is opened sends about fifty."""


class Pace:
    """Gives each request a turn, so that a page leaves the machine to the runs, however many requests it gets."""

    _last_turn = 0.0

    def wait(self, now: float) -> float:
        """In how many seconds a request that arrives now has its turn."""
        self._last_turn = max(self._last_turn, now - BURST / PER_SECOND) + 1 / PER_SECOND
        return max(0.0, self._last_turn - now)


class Guard:
    """Wraps the application. With `has_login` there is a log-in page; with `is_read_only` nothing may be changed.

    Requests that are refused have a pace of their own: others' requests do not slow down the page.
    """

    def __init__(
        self, app: ASGIApp, door: Doorkeeper, address: Address, *, has_login: bool = False, is_read_only: bool = False
    ) -> None:
        self.app = app
        self.door = door
        self.cookie = address.cookie
        self.has_login = has_login
        self.is_read_only = is_read_only
        self.paces = {is_refused: Pace() for is_refused in (False, True)}
        self.origins = frozenset(origin.lower() for origin in address.origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in self.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other protocol is spoken here, and nothing answers
        refusal = self.refusal(scope)
        if (seconds := self.paces[refusal is not None].wait(asyncio.get_running_loop().time())) > 0:
            await asyncio.sleep(seconds)
        if refusal is not None:
            await self._answer(refusal, scope["path"])(scope, receive, _with_headers(send))
            return
        await self.app(scope, _limit_body(receive), _with_headers(send))

    def _answer(self, refusal: RequestRefusal, path: str) -> Response:
        """The answer to a refused request. It closes the connection: nothing else on it is read."""
        if refusal is RequestRefusal.COOKIE and self.has_login and not path.startswith(API):
            return RedirectResponse(LOGIN, 303)
        answer = refusal_page(refusal, path)
        answer.headers["connection"] = "close"
        return answer

    def refusal(self, scope: Scope) -> RequestRefusal | None:
        """Why a request is refused; None if it is not."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        if len(headers.getlist("host")) != 1 or headers["host"].lower() not in self.hosts:
            return RequestRefusal.HOST
        if method not in ("GET", "HEAD", "POST") or (method == "HEAD" and path.startswith(API)):
            return RequestRefusal.METHOD
        if _is_misshaped(headers, path, method):
            return RequestRefusal.FORM
        if ".." in path.split("/"):
            return RequestRefusal.MISSING
        if self._is_foreign(headers):
            return RequestRefusal.ORIGIN
        if path == LOGIN and self.has_login:
            return self._wrong_login(headers) if method == "POST" else None
        if path == ENTER or path.startswith(STATIC):
            return None if method != "POST" else RequestRefusal.METHOD
        scope[BROWSER] = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        if not self.door.knows(scope[BROWSER]):
            return RequestRefusal.COOKIE
        if path.startswith(API) and not self._is_own(headers):
            return RequestRefusal.ORIGIN
        return self._wrong_post(headers, path) if method == "POST" else None

    def _is_foreign(self, headers: Headers) -> bool:
        """True if the browser says that another page, or another site, sent the request."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        return (origin is not None and origin.lower() not in self.origins) or site not in (None, "same-origin", "none")

    def _is_own(self, headers: Headers) -> bool:
        """True if the browser says that our own page sent the request."""
        return headers.get("sec-fetch-site") == "same-origin" or (headers.get("origin") or "").lower() in self.origins

    def _wrong_post(self, headers: Headers, path: str) -> RequestRefusal | None:
        if not path.startswith(API):
            return RequestRefusal.METHOD
        if headers.get("x-handrail") != "1" or headers.get("content-type") != "application/json":
            return RequestRefusal.FORM
        return _wrong_length(headers, MOST_BODY) or (RequestRefusal.READ_ONLY if self.is_read_only else None)

    def _wrong_login(self, headers: Headers) -> RequestRefusal | None:
        if not self._is_own(headers):
            return RequestRefusal.ORIGIN
        if headers.get("content-type") != "application/x-www-form-urlencoded":
            return RequestRefusal.FORM
        return _wrong_length(headers, MOST_LOGIN)


def _is_misshaped(headers: Headers, path: str, method: str) -> bool:
    """True for requests that no browser sends, and that servers and proxies read differently."""
    single_headers = (
        "content-length",
        "transfer-encoding",
        "content-type",
        "origin",
        "cookie",
        "sec-fetch-site",
        "x-handrail",
    )
    if not path.startswith("/") or any(len(headers.getlist(name)) > 1 for name in single_headers):
        return True
    if len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers.raw) > MOST_HEAD:
        return True
    if "transfer-encoding" in headers and ("content-length" in headers or method != "POST"):
        return True
    return method != "POST" and headers.get("content-length", "0") != "0"


def _wrong_length(headers: Headers, limit: int) -> RequestRefusal | None:
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not _LENGTH.fullmatch(length):
        return RequestRefusal.LENGTH
    return RequestRefusal.SIZE if int(length) > limit else None


def _limit_body(receive: Receive) -> Receive:
    """Reads at most `MOST_BODY` bytes of a body, whatever length its header says."""
    total = 0

    async def receive_limited() -> Message:
        nonlocal total
        message = await receive()
        if message["type"] == "http.request":
            total += len(message.get("body", b""))
            if total > MOST_BODY:
                return {"type": "http.disconnect"}
        return message

    return receive_limited


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                if name not in headers:
                    headers[name] = value
            if "server" in headers:
                del headers["server"]
        await send(message)

    return send_with_headers


MOST_TRIES, TRY_SECONDS = 5, 60.0
_LOGIN_HEADERS = {
    "content-security-policy": POLICY.replace("form-action 'none'", "form-action 'self'"),
    "referrer-policy": "same-origin",  # with `no-referrer`, a browser does not say which page sent the form
}
_LOGIN_FORM = f"""<form method="post" action="{LOGIN}">
<p><label>User<br><input name="user" autocomplete="username" required autofocus></label></p>
<p><label>Password<br><input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Log in</button></p>
</form>"""


class LoginPage:
    """The route of the log-in page. `admit` makes the answer that sets a cookie."""

    def __init__(
        self, door: Doorkeeper, credentials: Credentials, clock: Callable[[], float], admit: Callable[[str], Response]
    ) -> None:
        self.door = door
        self.credentials = credentials
        self.clock = clock
        self.admit = admit
        self.tries: deque[float] = deque(maxlen=MOST_TRIES)
        self.route = Route(LOGIN, self.answer, methods=["GET", "POST"])

    async def answer(self, request: Request) -> Response:
        if request.method != "POST":
            return _page("", 200)
        now = self.clock()
        if len(self.tries) == MOST_TRIES and now - self.tries[0] < TRY_SECONDS:
            return _page("Too many log-ins. Wait a minute, then try again.", 429)
        self.tries.append(now)
        try:
            fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=4)
        except (ValueError, ClientDisconnect):
            fields = {}
        user, password = (fields.get(name, [""])[0] for name in ("user", "password"))
        if not self.credentials.fit(user, password):
            return _page("The user or the password is wrong.", 401)
        return self.admit(self.door.new_cookie())


def _page(problem: str, status: int) -> Response:
    alert = f'<p role="alert">{problem}</p>\n' if problem else ""
    return html_page("Log in", alert + _LOGIN_FORM, status, _LOGIN_HEADERS)
