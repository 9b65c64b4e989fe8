"""Changes of topics for the page: streams of server-sent events, or one JSON list for readers that ask again.

A stream is a cursor per topic, and nothing else is kept for it. A reader that is too slow gets nothing until it has
read what was sent, and then everything since its own cursor in one go. When the server ends, it says `bye`. Browsers
allow few open streams; a topic stays open for a while after a question, so that the next one gets only what changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.base.errors import HandrailError, NotFound, UsageError
from handrail.view.live.home import LiveHome
from handrail.view.live.hub import Hub, Watched
from handrail.web.guard import BROWSER, RequestRefusal, refusal_json

HEARTBEAT = 15.0
MOST_TOPICS = 4
MOST_STREAMS = 64
MOST_IN_BROWSER = 4
PLACE_SECONDS = 1.0
"""How long a stream waits for a place: the stream of a page that was left ends a moment after the next page opens."""
_CURSOR = re.compile(r"(?P<topic>[^=,]{1,300})=(?P<epoch>[^/,]{1,80})/(?P<seq>[0-9]{1,12})(?:/(?P<tail>[0-9]{1,12}))?")
Cursors = dict[str, tuple[str, int, int]]
"""Per topic: the epoch, the number of the last event, and that of the last line of the tail."""


def cursors_in(text: str) -> Cursors:
    """The cursors in an id of an event, such as `run:r-7f3k2m=1.0/4213/880`. What is not one is left out."""
    found = (_CURSOR.fullmatch(part) for part in text[:4_000].split(","))
    return {one["topic"]: (one["epoch"], int(one["seq"]), int(one["tail"] or 0)) for one in found if one is not None}


def cursor_text(cursors: Cursors) -> str:
    return ",".join(f"{topic}={epoch}/{seq}/{tail}" for topic, (epoch, seq, tail) in cursors.items())


class Streams:
    """The application behind `/api/changes`, for readers that accept streams. `ending` is set when the server ends."""

    def __init__(self, hub: Hub, clock: Callable[[], float], ending: asyncio.Event | None = None) -> None:
        self.hub = hub
        self.clock = clock
        self.ending = asyncio.Event() if ending is None else ending
        self.open: Counter[str] = Counter()  # by browser

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        topics = list(dict.fromkeys(filter(None, request.query_params.get("topics", "").split(","))))
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        async with AsyncExitStack() as stack:
            if not await stack.enter_async_context(self._place(scope.get(BROWSER, ""))):
                await JSONResponse(refusal_json(RequestRefusal.STREAMS), RequestRefusal.STREAMS.status)(
                    scope, receive, send
                )
                return
            try:
                watched = await self._watched(stack, topics)
            except HandrailError as error:
                status = 400 if isinstance(error, UsageError) else 404
                body = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
                await JSONResponse(body, status)(scope, receive, send)
                return
            stream = _Stream(watched, cursors_in(since), send, self.clock)
            await _until_gone(receive, stream.run(self.ending))

    @asynccontextmanager
    async def _place(self, browser: str) -> AsyncIterator[bool]:
        """A place for one more stream. False if there is none for a second."""
        waited = 0.0
        while self._is_full(browser) and waited < PLACE_SECONDS:
            await asyncio.sleep(0.05)
            waited += 0.05
        if self._is_full(browser):
            yield False
            return
        self.open[browser] += 1
        try:
            yield True
        finally:
            self.open[browser] -= 1
            self.open += Counter()  # forgets browsers without streams

    def _is_full(self, browser: str) -> bool:
        return self.open[browser] >= MOST_IN_BROWSER or self.open.total() >= MOST_STREAMS

    async def _watched(self, stack: AsyncExitStack, topics: list[str]) -> dict[str, Watched]:
        if not topics or len(topics) > MOST_TOPICS:
            raise UsageError("a stream needs one to four topics", "such as `?topics=home,run:ID`")
        return {name: await stack.enter_async_context(self.hub.watching(name)) for name in topics}


class _Stream:
    """One stream to one reader."""

    def __init__(self, watched: dict[str, Watched], since: Cursors, send: Send, clock: Callable[[], float]) -> None:
        self.watched = watched
        self.cursors = {name: since.get(name, ("", 0, 0)) for name in watched}
        self.send = send
        self.clock = clock

    async def run(self, ending: asyncio.Event) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        is_first = True
        with contextlib.suppress(_GoneError):
            while not ending.is_set():
                sent = [await self._news(name, always=is_first) for name in self.watched]
                is_first = False
                if not any(sent):
                    await self._wait(ending)
            await self._event("bye", {"now": self.clock()})
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _news(self, name: str, *, always: bool) -> bool:
        """Send what changed in a topic. True if there was something to send."""
        watched = self.watched[name]
        try:
            watched.check()
        except HandrailError as error:
            await self._event("gone", {"topic": name, "message": error.message, "hint": error.hint})
            raise _GoneError from error
        epoch, seq, tail = self.cursors[name]
        if self._has_all(name) and not always:
            return False
        messages, place = await watched.messages(epoch, seq, self.clock(), tail)
        for message in messages:
            if not message["more"]:
                self.cursors[name] = (*place, message["tail"]["seq"] if "tail" in message else tail)
            await self._event("rows", message)
        return True

    def _has_all(self, name: str) -> bool:
        watched = self.watched[name]
        return (*watched.place, watched.tail) == self.cursors[name]

    async def _wait(self, ending: asyncio.Event) -> None:
        """Wait until something changes; after a while without any change, say that the stream is alive."""
        changes = [watched.change(HEARTBEAT) for watched in self.watched.values()]
        waits = [asyncio.ensure_future(one) for one in (*changes, ending.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if all(map(self._has_all, self.watched)) and not ending.is_set():
            await self._event("alive", {"now": self.clock()})

    async def _event(self, kind: str, data: dict[str, Any]) -> None:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        lines = f"event: {kind}\nid: {cursor_text(self.cursors)}\ndata: {text}\n\n"
        await self.send({"type": "http.response.body", "body": lines.encode("utf-8", "replace"), "more_body": True})


class _GoneError(Exception):
    """The topic cannot be read any more."""


async def _until_gone(receive: Receive, work: Any) -> None:
    """Do the work until it ends or the reader has gone."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, leaving):
            task.cancel()
        for result in await asyncio.gather(working, leaving, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, OSError):
                raise result


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


STREAM = "text/event-stream"
LINGER = 5.0
"""In seconds: how long a topic stays open after the last question."""
MOST_LINGERING = 32


class Changes:
    """The application behind `/api/changes`: a stream for whoever accepts one, else what changed since the cursors."""

    def __init__(self, hub: Hub, clock: Callable[[], float], streams: ASGIApp) -> None:
        self.hub = hub
        self.clock = clock
        self.streams = streams
        self._asked: dict[str, float] = {}
        self._lingering: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if STREAM in request.headers.get("accept", ""):
            await self.streams(scope, receive, send)
        else:
            await (await self._answer(request))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            return JSONResponse(await self._messages(request))
        except HandrailError as error:
            status = 404 if isinstance(error, NotFound) else 400
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            return JSONResponse({"error": told}, status)

    async def older(self, request: Request) -> Response:
        """The next page of what ended on home, behind the row with the id `after`."""
        async with self.hub.watching("home") as watched:
            assert isinstance(watched.live, LiveHome)
            return JSONResponse(watched.live.older(request.query_params.get("after")))

    async def _messages(self, request: Request) -> list[dict[str, Any]]:
        topics = list(dict.fromkeys(filter(None, request.query_params.get("topics", "").split(","))))
        if not topics or len(topics) > MOST_TOPICS:
            raise UsageError("one to four topics are needed", "such as `?topics=home,run:ID`")
        since = cursors_in(request.query_params.get("since", ""))
        found: list[dict[str, Any]] = []
        async with AsyncExitStack() as stack:
            for name in topics:
                watched = await stack.enter_async_context(self.hub.watching(name))
                watched.check()
                epoch, seq, tail = since.get(name, ("", 0, 0))
                found += (await watched.messages(epoch, seq, self.clock(), tail))[0]
                self.linger(name)
        return found

    def linger(self, name: str) -> None:
        """Keep a topic open for a while longer. One that is not open is opened: somebody will ask for it soon."""
        loop = asyncio.get_running_loop()
        self._asked[name] = loop.time()
        if name not in self._lingering and len(self._lingering) < MOST_LINGERING:
            self._lingering[name] = loop.create_task(self._keep(name))

    async def _keep(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            with contextlib.suppress(HandrailError, OSError):  # who asks for the topic is told
                async with self.hub.watching(name):
                    while (left := self._asked[name] + LINGER - loop.time()) > 0:
                        await asyncio.sleep(left)
        finally:
            self._asked.pop(name, None)
            self._lingering.pop(name, None)
