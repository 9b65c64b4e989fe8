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
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from handrail.base.errors import HandrailError, NotFound, UsageError
from handrail.view.live.home import LiveHome
from handrail.view.live.hub import Hub, WatchedTopic
from handrail.web.api import error_response
from handrail.web.guard import BROWSER, RequestRefusal, refusal_page

STREAM = "text/event-stream"
HEARTBEAT = 15.0
MOST_TOPICS = 4
MOST_STREAMS = 64
MOST_IN_BROWSER = 4
PLACE_SECONDS = 1.0
"""How long a stream waits for a place: the stream of a page that was left ends a moment after the next page opens."""
LINGER = 5.0
"""In seconds: how long a topic stays open after the last question."""
MOST_LINGERING = 32
_CURSOR = re.compile(r"(?P<topic>[^=,]{1,300})=(?P<epoch>[^/,]{1,80})/(?P<seq>[0-9]{1,12})(?:/(?P<tail>[0-9]{1,12}))?")
Cursors = dict[str, tuple[str, int, int]]
"""Per topic: the epoch, the number of the last event, and that of the last line of the tail."""


def cursors_in(text: str) -> Cursors:
    """The cursors in an id of an event, such as `run:r-7f3k2m=1.0/4213/880`. What is not one is left out."""
    matches = (_CURSOR.fullmatch(part) for part in text[:4_000].split(","))
    return {match["topic"]: (match["epoch"], int(match["seq"]), int(match["tail"] or 0)) for match in matches if match}


class Changes:
    """The application behind `/api/changes`: a stream for whoever accepts one, else what changed since the cursors.

    `ending` is set when the server ends.
    """

    def __init__(self, hub: Hub, clock: Callable[[], float], ending: asyncio.Event) -> None:
        self.hub = hub
        self.clock = clock
        self.ending = ending
        self._streams: Counter[str] = Counter()  # by browser
        self._last_requests: dict[str, float] = {}
        self._lingering: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        all_cursors = cursors_in(request.headers.get("last-event-id") or request.query_params.get("since", ""))
        async with AsyncExitStack() as stack:
            answer: Response
            is_stream = STREAM in request.headers.get("accept", "")
            if is_stream and not await stack.enter_async_context(self._place(scope.get(BROWSER, ""))):
                answer = refusal_page(RequestRefusal.STREAMS, request.url.path)
            else:
                try:
                    topics = await self._watch(stack, request.query_params.get("topics", ""))
                    cursors = {name: all_cursors.get(name, ("", 0, 0)) for name in topics}
                    if is_stream:
                        events = _Stream(topics, cursors, self.clock).events(self.ending)
                        answer = StreamingResponse(events, headers={"x-accel-buffering": "no"}, media_type=STREAM)
                    else:
                        answer = JSONResponse(await self._messages(topics, cursors))
                except HandrailError as error:
                    answer = error_response(error, 404 if isinstance(error, NotFound) else 400)
            await answer(scope, receive, send)

    @asynccontextmanager
    async def _place(self, browser: str) -> AsyncIterator[bool]:
        """A place for one more stream. False if there is none for a second."""
        seconds = 0.0
        while self._is_full(browser) and seconds < PLACE_SECONDS:
            await asyncio.sleep(0.05)
            seconds += 0.05
        if self._is_full(browser):
            yield False
            return
        self._streams[browser] += 1
        try:
            yield True
        finally:
            self._streams[browser] -= 1
            self._streams += Counter()  # forgets browsers without streams

    def _is_full(self, browser: str) -> bool:
        return self._streams[browser] >= MOST_IN_BROWSER or self._streams.total() >= MOST_STREAMS

    async def _watch(self, stack: AsyncExitStack, names: str) -> dict[str, WatchedTopic]:
        topics = list(dict.fromkeys(filter(None, names.split(","))))
        if not topics or len(topics) > MOST_TOPICS:
            raise UsageError("one to four topics are needed", "such as `?topics=home,run:ID`")
        return {name: await stack.enter_async_context(self.hub.watching(name)) for name in topics}

    async def _messages(self, topics: dict[str, WatchedTopic], cursors: Cursors) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for name, topic in topics.items():
            topic.check()
            epoch, seq, tail = cursors[name]
            messages += (await topic.messages(epoch, seq, self.clock(), tail))[0]
            self.linger(name)
        return messages

    async def older(self, request: Request) -> Response:
        """The next page of what ended on home, behind the row with the id `after`."""
        async with self.hub.watching("home") as topic:
            assert isinstance(topic.live, LiveHome)
            return JSONResponse(topic.live.topic.older(request.query_params.get("after")))

    def linger(self, name: str) -> None:
        """Keep a topic open for a while longer. One that is not open is opened: somebody will ask for it soon."""
        loop = asyncio.get_running_loop()
        self._last_requests[name] = loop.time()
        if name not in self._lingering and len(self._lingering) < MOST_LINGERING:
            self._lingering[name] = loop.create_task(self._keep(name))

    async def _keep(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            with contextlib.suppress(HandrailError, OSError):  # who asks for the topic is told
                async with self.hub.watching(name):
                    while (remaining := self._last_requests[name] + LINGER - loop.time()) > 0:
                        await asyncio.sleep(remaining)
        finally:
            self._last_requests.pop(name, None)
            self._lingering.pop(name, None)


class _Stream:
    def __init__(self, topics: dict[str, WatchedTopic], cursors: Cursors, clock: Callable[[], float]) -> None:
        self.topics = topics
        self.cursors = cursors
        self.clock = clock

    async def events(self, ending: asyncio.Event) -> AsyncIterator[bytes]:
        """Everything since the cursors, then what changes, until the server ends or a topic cannot be read any more."""
        is_first = True
        while not ending.is_set():
            has_news = False
            for name, topic in self.topics.items():
                try:
                    topic.check()
                except HandrailError as error:
                    yield self._event("gone", {"topic": name, "message": error.message, "hint": error.hint})
                    return
                if is_first or not self._has_all(name):
                    has_news = True
                    async for event in self._news(name):
                        yield event
            is_first = False
            if not has_news:
                await self._wait(ending)
                if not ending.is_set() and all(map(self._has_all, self.topics)):
                    yield self._event("alive", {"now": self.clock()})
        yield self._event("bye", {"now": self.clock()})

    async def _news(self, name: str) -> AsyncIterator[bytes]:
        """What changed in a topic."""
        epoch, seq, tail = self.cursors[name]
        messages, place = await self.topics[name].messages(epoch, seq, self.clock(), tail)
        for message in messages:
            if not message["more"]:
                known = min(tail, self.topics[name].tail)  # a cursor may be from another run of the server
                self.cursors[name] = (*place, message["tail"]["seq"] if "tail" in message else known)
            yield self._event("rows", message)

    def _has_all(self, name: str) -> bool:
        topic = self.topics[name]
        return (*topic.place, topic.tail) == self.cursors[name]

    async def _wait(self, ending: asyncio.Event) -> None:
        """Wait until something changes, but not forever: after a while a reader is told that the stream is alive."""
        changes = [topic.change(HEARTBEAT) for topic in self.topics.values()]
        waits = [asyncio.ensure_future(one) for one in (*changes, ending.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _event(self, kind: str, data: dict[str, Any]) -> bytes:
        cursors = ",".join(f"{topic}={epoch}/{seq}/{tail}" for topic, (epoch, seq, tail) in self.cursors.items())
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return f"event: {kind}\nid: {cursors}\ndata: {text}\n\n".encode("utf-8", "replace")
