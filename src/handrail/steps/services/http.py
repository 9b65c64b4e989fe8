"""One HTTP service at one configured address. Time, size, attempts, redirects and pages are bounded.

Credentials are sent to the configured scheme, host and port only. Every failure is a `NodeError` with a code of its
own, and its message contains no credentials.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urljoin

from handrail.base.dataclasses import dataclass, field
from handrail.extensions.contracts import LastingError, NodeError
from handrail.source.plain_text import counted
from handrail.source.values import as_text, shown
from handrail.steps.services.addresses import host_of, is_same_host, origin

HIDDEN = "***"
SHORTEST = 8
"""Shorter credentials are not looked for in answers: they would be found everywhere."""


def without_credentials(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets. Case is ignored, because the host of an address is lower case."""
    spellings = sorted({form for secret in secrets if secret for form in _spellings(secret)}, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, spellings)), HIDDEN, text, flags=re.IGNORECASE) if spellings else text


def has_credentials(data: bytes, secrets: Iterable[str]) -> bool:
    forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _spellings(secret)}
    return any(form.encode() in data for form in forms)


def _spellings(secret: str) -> set[str]:
    escaped = json.dumps(secret)[1:-1]
    encoded = base64.b64encode(secret.encode()).decode()
    return {secret, quote(secret), quote(secret, safe=""), escaped, escaped.replace("/", "\\/"), encoded}


_NUMBER = re.compile(r"[0-9]{1,9}")
_LINK = re.compile(r'<([^<>]{1,4000})>\s*;[^,<]*?\brel="?next"?', re.IGNORECASE)


class ListPage(NamedTuple):
    """A page: a path or an address, and its query. An address from a header has its query in it."""

    path: str
    query: Mapping[str, str | int]

    def next_page(self, headers: Mapping[str, str], count: int, size: int) -> ListPage | None:
        """The page after this one, which has `count` of at most `size` items. None if it is the last one."""
        number = headers["x-next-page"].strip() if "x-next-page" in headers else None
        if count == 0 or number == "":
            return None
        if number is None and "link" in headers:
            match = _LINK.search(headers["link"])
            return None if match is None else ListPage(match[1], {})
        if number is None and count < size:
            return None
        page = int(number) if number is not None and _NUMBER.fullmatch(number) else int(self.query["page"]) + 1
        return ListPage(self.path, {**self.query, "page": page})


FIRST_PAUSE = 1.0
_WINDOWS = ("ratelimit", "x-ratelimit")
"""How the headers begin that say how many requests are left, and when there are more."""


def pause_before_retry(attempt: int, headers: Mapping[str, str], now: float, requested: float | None = None) -> float:
    """The seconds until the next attempt. `requested` is what the answer itself asks for, if it does.

    `Retry-After` has seconds or a date. GitLab sends the time of its next window in `RateLimit-Reset`, GitHub in
    `X-RateLimit-Reset`.
    """
    if requested is None:
        requested = _retry_seconds(headers.get("retry-after", ""), now)
    for mark in _WINDOWS:
        if requested is None and _is_spent(headers, mark):
            reset = _number(headers.get(f"{mark}-reset", ""))
            requested = None if reset is None else reset - now
    return FIRST_PAUSE * 2.0**attempt if requested is None else max(0.0, requested)


def is_limited(status: int, headers: Mapping[str, str], words: object) -> bool:
    """True if a service refuses a request because there were too many. GitHub answers with 403 then, or with 429."""
    if status != 403:
        return status == 429
    is_told = isinstance(words, str) and "rate limit" in words.lower()
    return is_told or "retry-after" in headers or any(_is_spent(headers, mark) for mark in _WINDOWS)


def _is_spent(headers: Mapping[str, str], mark: str) -> bool:
    return headers.get(f"{mark}-remaining", "").strip() == "0"


def _retry_seconds(text: str, now: float) -> float | None:
    seconds = _number(text)
    if seconds is not None or not text.strip():
        return seconds
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    return float(text) if text.strip().isascii() and text.strip().isdigit() else None


REDIRECTS = (301, 302, 303, 307, 308)
RETRIED_STATUSES = (429, 500, 502, 503, 504)
"""The answers after which a request that changes nothing is sent again."""
BY_STATUS = {
    401: "service-login",
    403: "service-forbidden",
    404: "service-missing",
    429: "service-busy",
    503: "service-busy",
}
"""The codes of answers that say what is wrong. Any other error is `service-failed`."""
LONGEST_REASON = 300
PAGE = 100


@dataclass(frozen=True, kw_only=True)
class HttpLimits:
    """`seconds` is for one request with its whole answer. A longer pause than `longest_pause` is left to the run."""

    seconds: float = 60.0
    connect: float = 10.0
    tries: int = 4
    longest_pause: float = 60.0
    size: int = 32 * 1024 * 1024
    redirects: int = 5
    pages: int = 500


LIMITS = HttpLimits()


class HttpAnswer(NamedTuple):
    """A complete answer of the service."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class HttpRequest(NamedTuple):
    """What is sent. `file` is the size limit of a file: only a file may be on another host."""

    method: str
    url: str
    query: Mapping[str, str | int] = {}
    content: Mapping[str, Any] | None = None
    file: int | None = None
    accept: str | None = None


UNKNOWN = "unknown"


@dataclass(frozen=True)
class JsonObject:
    """An object in an answer. A member of another kind than expected counts as missing."""

    data: Mapping[str, Any]

    def text(self, name: str, default: str = UNKNOWN) -> str:
        """The text of a member; the default if it is missing or blank."""
        text = self.raw(name)
        return text if text.strip() else default

    def raw(self, name: str) -> str:
        """The text of a member, even if it is blank; empty if it is missing."""
        value = self.data.get(name)
        return value if isinstance(value, str) else ""

    def id(self, name: str = "id", default: str = "") -> str:
        return str(self.data.get(name) or default)

    def number(self, name: str) -> int | None:
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool:
        return self.data.get(name) is True

    def child(self, name: str) -> JsonObject:
        """The object of a member; an empty one if it is missing."""
        return json_object(self.data.get(name))

    def children(self, name: str) -> list[JsonObject]:
        return json_objects(self._items(name))

    def names(self, name: str, member: str) -> list[str]:
        """The names in a list of objects; labels may be plain texts."""
        names = [one.get(member) if isinstance(one, dict) else one for one in self._items(name)]
        return [one for one in names if isinstance(one, str) and one.strip()]

    def _items(self, name: str) -> list[Any]:
        value = self.data.get(name)
        return value if isinstance(value, list) else []


def json_object(value: Any) -> JsonObject:
    return JsonObject(value if isinstance(value, dict) else {})


def json_objects(items: Iterable[Any]) -> list[JsonObject]:
    return [JsonObject(item) for item in items if isinstance(item, dict)]


class RetryableFailure(Exception):
    """This attempt failed, but the next one may not. `pause` is what the service asks for."""

    def __init__(self, code: str, message: str, headers: Mapping[str, str] = {}, pause: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.headers = headers
        self.pause = pause


@dataclass(kw_only=True)
class Service:
    """A context manager. `name` and `base` are for messages and addresses; `headers` hold the credentials.

    `secrets` are texts that neither messages nor answers may contain. `reason` finds the service's own words in the
    JSON of an error, `requested_pause` the pause that it asks for. `advice` is what to check, by status. `rest` waits.
    """

    name: str
    base: str
    headers: Mapping[str, str]
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    secrets: tuple[str, ...] = ()
    limits: HttpLimits = field(default_factory=lambda: LIMITS)
    reason: Callable[[JsonObject], object] = lambda answer: answer.data.get("message")
    requested_pause: Callable[[JsonObject], float | None] = lambda _: None
    advice: Mapping[int, str] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        import httpx2  # only a step that runs needs the library, and it is slow to import

        timeout = httpx2.Timeout(self.limits.seconds, connect=self.limits.connect)
        try:
            self._client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False)
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            message = "the proxy in the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) cannot be used"
            raise self._final("service-proxy", message) from error
        except OSError as error:
            message = "the certificates in the environment (SSL_CERT_FILE, SSL_CERT_DIR) cannot be read"
            raise self._final("service-certificate", message) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def get_json(self, path: str, **query: str | int) -> Any:
        """The JSON at a path below the configured address."""
        return (await self.get_both(path, **query))[1]

    async def get_both(self, path: str, **query: str | int) -> tuple[bytes, Any]:
        """The answer as it was sent, and its JSON."""
        answer = await self._get(path, query)
        return answer.body, self._json_of(answer)

    async def get_object(self, path: str, what: str) -> JsonObject:
        """The JSON object at a path. `what` names it in a message."""
        data = await self.get_json(path)
        if not isinstance(data, dict):
            raise self._final("service-json", f"its answer is not {what}")
        return JsonObject(data)

    async def get_objects(self, path: str, member: str | None = None, **query: str | int) -> list[JsonObject]:
        """All objects of a list, from all its pages."""
        return json_objects(await self.get_list(path, PAGE, member, **query))

    async def get_file(self, url: str, most: int | None = None, accept: str | None = None) -> bytes:
        """A file of at most `most` bytes. A redirect to another host is followed without credentials."""
        return (await self._get(url, {}, most or self.limits.size, accept)).body

    async def get_list(self, path: str, size: int, member: str | None = None, **query: str | int) -> list[Any]:
        """All items of a list, from pages of this size. The list may be a `member` of each answer."""
        place: ListPage | None = ListPage(path, {**query, "per_page": size, "page": 1})
        rows: list[Any] = []
        pages = total = 0
        while place is not None:
            if pages >= self.limits.pages:
                message = f"the list at `{path}` has more than {counted(self.limits.pages, 'page')}"
                raise self._final("service-pages", message)
            answer = await self._get(*place)
            items, total, pages = self._json_of(answer), total + len(answer.body), pages + 1
            if total > self.limits.size:
                raise self._final("service-large", f"the list at `{path}` is larger than {self.limits.size} bytes")
            items = items.get(member) if member is not None and isinstance(items, dict) else items
            if not isinstance(items, list):
                raise self._final("service-json", f"the answer to `{path}` is not a list")
            rows += items
            place = place.next_page(answer.headers, len(items), size)
        return rows

    async def post(self, path: str, content: Mapping[str, Any]) -> JsonObject:
        """Send JSON and return the JSON object of the answer; an empty one if it is something else.

        It is sent again only if the service has certainly not taken it: no connection, or too many requests.
        """
        return json_object(self._json_of(await self.deliver(path, content)))

    async def deliver(self, path: str, content: Mapping[str, Any]) -> HttpAnswer:
        """Send JSON in the same way, to a service whose answer may be any text."""
        request = HttpRequest("POST", urljoin(self.base, path), content=content)
        return await self._insist(lambda: self._once(request), (429,))

    async def _get(
        self, path: str, query: Mapping[str, str | int], file: int | None = None, accept: str | None = None
    ) -> HttpAnswer:
        url = urljoin(self.base, path)
        if not is_same_host(url, self.base):
            raise self._final("service-host", f"`{shown(url, 120)}` is not on the configured host")
        request = HttpRequest("GET", url, query, file=file, accept=accept)
        return await self._insist(lambda: self._once(request), RETRIED_STATUSES)

    async def _insist(self, send: Callable[[], Awaitable[HttpAnswer]], again: tuple[int, ...]) -> HttpAnswer:
        """Send a request until it is answered, or the attempts are used up."""
        for attempt in range(self.limits.tries):
            try:
                return self._checked_answer(await send(), again)
            except RetryableFailure as error:
                seconds = pause_before_retry(attempt, error.headers, time.time(), error.pause)
                is_last = attempt + 1 == self.limits.tries
                if is_last or seconds > self.limits.longest_pause:
                    resets = time.time() + seconds if error.code == "service-busy" else None
                    raise NodeError(error.code, error.message, resets_at=resets) from error
                await self.rest(seconds)
        raise AssertionError("a service has at least one attempt")

    async def _once(self, request: HttpRequest) -> HttpAnswer:
        try:
            async with asyncio.timeout(self.limits.seconds):
                for _ in range(self.limits.redirects + 1):
                    answer = await self._send(request)
                    if answer.status not in REDIRECTS:
                        return answer
                    request = request._replace(url=self._redirected(request, answer), query={})
        except TimeoutError:
            raise self._slow() from None
        message = f"it redirects more than {counted(self.limits.redirects, 'time')}"
        raise self._final("service-redirect", message)

    async def _send(self, request: HttpRequest) -> HttpAnswer:
        """Send one request. Credentials go to the configured host only."""
        import httpx2

        method, url, most = request.method, request.url, request.file or self.limits.size
        headers = {"Accept-Encoding": "identity", "User-Agent": "Handrail"}
        if is_same_host(url, self.base):
            headers |= {**self.headers, **({} if request.accept is None else {"Accept": request.accept})}
        try:
            async with self._client.stream(
                method, url, params=request.query or None, headers=headers, json=request.content
            ) as response:
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > most:
                        raise self._final("service-large", f"its answer is larger than {most} bytes")
                return HttpAnswer(response.status_code, response.headers, bytes(body), url)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if _is_certificate(error):
                message = "its certificate is not valid for this host, or not trusted on this machine"
                raise self._final("service-certificate", message) from None
            reason = "in time" if isinstance(error, httpx2.ConnectTimeout) else f"({_reason(error)})"
            message = f"`{host_of(url)}` cannot be reached {reason}"
            raise RetryableFailure("service-unreachable", self._text(message)) from None
        except httpx2.TimeoutException:
            raise self._slow() from None
        except httpx2.ProxyError as error:
            message = f"the proxy refuses the connection: {self._excerpt(str(error), 80)}"
            raise self._final("service-proxy", message) from None
        except httpx2.TransportError as error:
            if method != "GET":
                message = f"the connection broke ({type(error).__name__}); whether the message arrived is not known"
                raise self._final("service-broken", message) from None
            message = f"the connection broke before the answer was complete ({type(error).__name__})"
            raise RetryableFailure("service-broken", self._text(message)) from None
        except (httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise self._final("service-broken", f"its answer cannot be read ({type(error).__name__})") from None

    def _redirected(self, request: HttpRequest, answer: HttpAnswer) -> str:
        """The address that a redirect leads to, if it may be followed."""
        try:
            to = urljoin(answer.url, answer.headers.get("location", ""))
            target, here = origin(to), origin(answer.url)
        except ValueError:
            raise self._final("service-redirect", "it redirects to an address that is not HTTP") from None
        if here.scheme == "https" and target.scheme == "http":
            raise self._final("service-redirect", f"it redirects to `{target.host}` without encryption")
        if request.method != "GET" or (target != origin(self.base) and request.file is None):
            hint = "is the configured address complete, and are the credentials valid?"
            raise self._final("service-redirect", f"it redirects to `{target.host}:{target.port}`; {hint}")
        return to

    def _checked_answer(self, answer: HttpAnswer, again: tuple[int, ...]) -> HttpAnswer:
        if 200 <= answer.status < 300:
            if has_credentials(answer.body, self.secrets):
                raise self._final("service-secret", "its answer contains the credentials, so it is not used")
            return answer
        data = json_object(_loaded(answer.body))
        words = self.reason(data)
        message = f"it answers with {answer.status}" + (f": {self._excerpt(words, LONGEST_REASON)}" if words else "")
        message += f"; {self.advice[answer.status]}" if answer.status in self.advice else ""
        is_busy = is_limited(answer.status, answer.headers, words)
        code = "service-busy" if is_busy else BY_STATUS.get(answer.status, "service-failed")
        if is_busy or answer.status in again:
            raise RetryableFailure(code, self._text(message), answer.headers, self.requested_pause(data))
        raise self._final(code, message)

    def _json_of(self, answer: HttpAnswer) -> Any:
        data = _loaded(answer.body)
        if data is _BROKEN:
            kind = answer.headers.get("content-type", "no content type")
            message = f"its answer is not JSON ({self._excerpt(kind, 80)}, {len(answer.body)} bytes)"
            message += "; is its address right? this may be a page to log in" if "html" in kind.lower() else ""
            raise self._final("service-json", message)
        return data

    def _slow(self) -> NodeError:
        return NodeError("service-slow", self._text(f"it did not answer in {counted(self.limits.seconds, 'second')}"))

    def _final(self, code: str, message: str) -> NodeError:
        return LastingError(code, self._text(message))

    def _excerpt(self, value: object, most: int) -> str:
        """The beginning of a value. Credentials are removed first: a part of them must not remain."""
        return shown(without_credentials(as_text(value), self.secrets), most)

    def _text(self, message: str) -> str:
        return f"{self.name}: {without_credentials(message, self.secrets)}"


_BROKEN = object()


def _refuse(name: str) -> Any:
    raise ValueError(f"`{name}` is not JSON")


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _BROKEN


def _reason(error: BaseException) -> str:
    """Why no connection was made. The text of the error itself may quote anything."""
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return "the name of the host is not known"
        if isinstance(cause, ConnectionRefusedError):
            return "the connection is refused"
    return "no connection"


def _is_certificate(error: BaseException) -> bool:
    return any(
        isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(cause)
        for cause in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
