"""Puts the page and its interface together, starts the server, prints the link, and ends it on a signal.

The guard stands before all of it. A client that sends or reads too slowly is disconnected. A bug is answered and
reported, and no client can fill the terminal with text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from typing import Any

import h11
import uvicorn
from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

import handrail
from handrail.app import App
from handrail.base.dataclasses import dataclass, field
from handrail.base.errors import RefusedError, StateError, UsageError
from handrail.settings.folders import web_page_folder
from handrail.source.output_text import clean
from handrail.view.actions import Actions
from handrail.view.live.hub import Hub, open_topic
from handrail.view.text.columns import OF_STATUS, word_of
from handrail.web.access import COOKIE_SECONDS, Address, Credentials, Doorkeeper, Exposure, ServerFolder
from handrail.web.api import Api
from handrail.web.changes import Changes
from handrail.web.guard import Guard, LoginPage, RequestRefusal, refusal_page

ReportBug = Callable[[Exception], object]
"""Tells the person who started the server about a bug."""


def raise_again(error: Exception) -> None:
    raise error


class Edge:
    """Wraps the whole application. What it raises is reported; the server itself logs nothing."""

    def __init__(self, app: ASGIApp, report: ReportBug) -> None:
        self.app = app
        self.report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        except LocalProtocolError:
            return  # the client went on with something that is not HTTP, so it cannot be answered
        except Exception as error:  # noqa: BLE001  # the edge of this surface
            self.report(error)


def answer_with(refusal: RequestRefusal) -> Callable[[Request, Exception], Response]:
    """The handler of an error that is answered with this refusal."""
    return lambda request, _: refusal_page(refusal, request.url.path)


class PageFiles(StaticFiles):
    """The scripts and styles of the page. A browser keeps them, and asks each time whether they have changed."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        answer = super().file_response(*args, **options)
        answer.headers["cache-control"] = "no-cache"
        return answer


@dataclass(frozen=True)
class Serving:
    """`close` ends the server; None if the page may not do that. `ending` is set when the server ends.

    `report` gets what no request should cause.
    """

    close: Callable[[], None] | None = None
    report: ReportBug = raise_again
    credentials: Credentials | None = None
    is_read_only: bool = False
    ending: asyncio.Event = field(default_factory=asyncio.Event)


PAGES = (
    *("/", "/runs/{run}", "/sessions/{id}", "/catalog", "/catalog/{kind}/{id:path}"),
    *("/launch", "/launch/{kind}/{id:path}", "/needs/{id}", "/artifacts/{id:path}"),
)
"""The addresses of the page. Which of them it is, the page finds out by itself."""
READ_ONLY = "An agent or a run started this page, so it only shows things. Start `handrail web` in your own terminal."
AS_ASKED = "This page was started with `--read-only`, so it only shows things."


def _index_page(folder: str, facts: dict[str, str]) -> str:
    """The page with these facts in the places that have their names."""
    with open(f"{folder}/index.html", encoding="utf-8") as file:
        text = file.read().replace("VERSION", handrail.__version__)
    for name, value in facts.items():
        text = text.replace(f"{{{name}}}", escape(clean(value)))
    return text


def make_server(app: App, door: Doorkeeper, address: Address, serving: Serving | None = None) -> ASGIApp:
    """The application of the server."""
    serving = serving or Serving()
    page, actions = web_page_folder(), Actions(app, "web")
    reason = READ_ONLY if actions.app.is_leashed else AS_ASKED if serving.is_read_only else ""
    statuses = json.dumps({status: [sign.char, word_of(status)] for status, sign in OF_STATUS.items()})
    text = _index_page(page, {"STATUSES": statuses, "PROJECT": os.path.basename(app.project), "READ-ONLY": reason})

    async def enter(request: Request) -> Response:
        cookie = door.admit(request.query_params.get("token", ""))
        return refusal_page(RequestRefusal.LINK, request.url.path) if cookie is None else _entrance(address, cookie)

    async def index(request: Request) -> Response:
        if "run" in request.path_params:  # the page asks for it when its scripts are loaded: begin to read it now
            changes.linger(f"run:{request.path_params['run']}")
        return HTMLResponse(text)

    hub = Hub(lambda name: open_topic(app, name))
    changes = Changes(hub, app.clock, serving.ending)
    routes = [
        Route("/enter", enter),
        Route("/api/changes", changes, methods=["GET"]),
        Route("/api/older", changes.older),
        *Api(actions, hub, serving.close).routes,
        Mount(f"/static/{handrail.__version__}", GZipMiddleware(PageFiles(directory=page))),
        *(Route(path, index) for path in PAGES),
    ]
    has_login = serving.credentials is not None
    if serving.credentials is not None:
        routes.append(LoginPage(door, serving.credentials, app.clock, partial(_entrance, address)).route)
    refusals = (RequestRefusal.MISSING, RequestRefusal.STATE, RequestRefusal.BUG)
    answer_missing, answer_state, answer_bug = map(answer_with, refusals)
    handlers: dict[Any, Any] = {
        404: answer_missing,
        405: answer_missing,
        StateError: answer_state,
        OSError: answer_state,
        Exception: answer_bug,
    }
    inner = Starlette(routes=routes, exception_handlers=handlers)
    return Edge(Guard(inner, door, address, has_login=has_login, is_read_only=serving.is_read_only), serving.report)


def _entrance(address: Address, cookie: str) -> Response:
    """The first page, with the cookie that lets a browser in."""
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        *(address.cookie, cookie, COOKIE_SECONDS), httponly=True, samesite="strict", secure=address.is_secure, path="/"
    )
    return answer


REQUEST_SECONDS = 30.0
"""How long a request with its body may take to arrive."""
READING_SECONDS = 60.0
"""How long a client may leave a full buffer unread."""


class LimitedProtocol(H11Protocol):
    """One connection. The limits can be changed in a subclass."""

    request_seconds = REQUEST_SECONDS
    reading_seconds = READING_SECONDS
    _arrival_timer: asyncio.TimerHandle | None = None
    _reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn itself
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """The timer runs while the client still has to send something, and is not started anew by each byte."""
        is_arriving = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_arriving and self._arrival_timer is None:
            self._arrival_timer = self.loop.call_later(self.request_seconds, self.transport.abort)
        elif not is_arriving and self._arrival_timer is not None:
            self._arrival_timer.cancel()
            self._arrival_timer = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading_timer is None:
            self._reading_timer = self.loop.call_later(self.reading_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arrival_timer, self._reading_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)


SEND_BUFFER = 128 * 1024
"""In bytes: what the system keeps for a client that does not read. A slow one gets fewer, larger messages instead."""
Ready = Callable[[str, Address], None]


def serve(app: App, exposure: Exposure, ready: Ready, new_link: Ready, report: ReportBug) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once with the link; `new_link` each time Enter is pressed.

    `report` is called with every bug.
    """
    folder = ServerFolder(app.places.state, app.project)
    port = folder.port if exposure.port is None else exposure.port
    listener = _listen(exposure.host, port, is_chosen=exposure.port is not None)
    with contextlib.closing(listener):
        address = Address(exposure.host, listener.getsockname()[1], exposure.tls, exposure.proxy)
        folder.port = address.port
        door = Doorkeeper(app.clock, folder.cookies, folder.keep)
        serving = Serving(
            close=lambda: signal.raise_signal(signal.SIGTERM),
            report=report,
            credentials=exposure.credentials,
            is_read_only=exposure.is_read_only,
        )
        server = _Server(_config(make_server(app, door, address, serving), exposure), serving.ending)
        asyncio.run(_run(server, listener, door, address, (ready, new_link)))


def _config(application: ASGIApp, exposure: Exposure) -> uvicorn.Config:
    config = uvicorn.Config(
        application,
        http=LimitedProtocol,
        log_config=None,
        log_level="critical",  # a bug is reported, and what clients do wrong is nobody's news
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32 * 1024,
        limit_concurrency=256,
        ssl_certfile=exposure.cert,
        ssl_keyfile=exposure.key,
    )
    try:
        config.load()
    except OSError as error:  # also if a file is no certificate or key
        message = f"TLS cannot be used: {error.strerror or error}"
        raise UsageError(message, "look at the files of `--tls-cert` and `--tls-key`") from error
    return config


async def _run(
    server: _Server, listener: socket.socket, door: Doorkeeper, address: Address, callbacks: tuple[Ready, Ready]
) -> None:
    ready, new_link = callbacks
    loop = asyncio.get_running_loop()

    def link() -> str:
        return f"{address.url}/enter?token={door.new_token()}"

    def read_key() -> None:
        if sys.stdin.readline():
            new_link(link(), address)
        else:
            loop.remove_reader(sys.stdin)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.leave)
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    while not server.started and not task.done():
        await asyncio.sleep(0.01)
    if server.started:
        ready(link(), address)
        if sys.stdin is not None and sys.stdin.isatty():
            loop.add_reader(sys.stdin, read_key)
    await task


class _Server(uvicorn.Server):
    """A server that leaves the signals to us: uvicorn would send them again after its end."""

    def __init__(self, config: uvicorn.Config, ending: asyncio.Event) -> None:
        super().__init__(config)
        self.ending = ending

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def leave(self) -> None:
        """End the server; at the second signal without waiting for open connections."""
        self.force_exit, self.should_exit = self.should_exit, True
        self.ending.set()


def _listen(host: str, port: int, *, is_chosen: bool) -> socket.socket:
    """A socket at this address only. If a remembered port is taken, any other one."""
    for one in (port,) if is_chosen else (port, 0):
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        try:
            listener.bind((host, one))
        except (OSError, OverflowError) as error:
            listener.close()
            if isinstance(error, OverflowError):
                raise UsageError(f"`--port` has to be 0 to 65535, found {one}") from error
            if isinstance(error, socket.gaierror):
                message = f"`--host {host}` is not known: {error.strerror}"
                raise UsageError(message, "name an address of this machine") from error
            if is_chosen:
                message = f"port {one} of {host} cannot be used: {error.strerror}"
                raise RefusedError(message, "choose another one, or leave `--port` out") from error
            continue
        listener.listen(128)
        return listener
    raise RefusedError(f"no port of {host} can be used", "look whether it is an address of this machine")
