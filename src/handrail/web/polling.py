"""Changes of topics for readers that ask again and again, as one JSON list. The browser allows few open streams.

A topic stays open for a while after a question, so that the next one gets only what changed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.errors import HandrailError, NotFound, UsageError
from handrail.live.home import LiveHome
from handrail.live.hub import Hub
from handrail.web.streams import MOST_TOPICS, cursors_in

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
