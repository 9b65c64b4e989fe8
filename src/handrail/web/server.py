"""The page and its interface, put together. The guard stands before all of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

import handrail
from handrail.app import App
from handrail.errors import StateError
from handrail.live.actions import Actions
from handrail.live.hub import Hub
from handrail.live.topics import open_topic
from handrail.project import page_files
from handrail.source.clean import clean
from handrail.source.dataclasses import dataclass, field
from handrail.web.defining import Definitions
from handrail.web.doing import Doings
from handrail.web.edge import Edge, Report, bug_page, raise_again, state_page
from handrail.web.entry import COOKIE_SECONDS, Credentials, Doorkeeper
from handrail.web.exposure import origin_of
from handrail.web.guard import Guard, Rules
from handrail.web.login import Login
from handrail.web.polling import Changes
from handrail.web.reading import Readings
from handrail.web.refusals import Refusal, refusal_page
from handrail.web.streams import Streams


class Files(StaticFiles):
    """The scripts and styles of the page. A browser keeps them, and asks each time whether they have changed."""

    def file_response(self, *args: Any, **more: Any) -> Response:
        answer = super().file_response(*args, **more)
        answer.headers["cache-control"] = "no-cache"
        return answer


@dataclass(frozen=True)
class Address:
    """Where the server listens, and under which addresses people reach it. `proxy` is the address of a proxy."""

    host: str
    port: int
    tls: bool = False
    proxy: str = ""

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        return self.proxy or origin_of(self.scheme, self.host, self.port)

    @property
    def is_secure(self) -> bool:
        """True if nobody on the way can read the cookie."""
        return self.url.startswith("https://")

    @property
    def origins(self) -> list[str]:
        names = ["localhost"] if self.host == "127.0.0.1" and not self.proxy else []
        return [self.url, *(origin_of(self.scheme, name, self.port) for name in names)]

    @property
    def cookie(self) -> str:
        """The name of the cookie. Servers on other ports of this machine have others."""
        return f"handrail-{self.port}"


@dataclass(frozen=True)
class Serving:
    """`close` ends the server; None if the page may not do that. `ending` is set when the server ends.

    `report` gets what no request should cause.
    """

    close: Callable[[], None] | None = None
    report: Report = raise_again
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


def make_server(app: App, door: Doorkeeper, address: Address, serving: Serving | None = None) -> ASGIApp:
    """The application of the server."""
    serving = serving or Serving()
    page = page_files()
    with open(f"{page}/index.html", encoding="utf-8") as file:
        text = file.read().replace("VERSION", handrail.__version__)
    actions = Actions(app, "web")
    why = READ_ONLY if actions.is_read_only else AS_ASKED if serving.is_read_only else ""
    facts = {"PROJECT": os.path.basename(app.project), "READ-ONLY": why}
    for name, value in facts.items():
        text = text.replace(f"{{{name}}}", escape(clean(value)))

    async def enter(request: Request) -> Response:
        cookie = door.admit(request.query_params.get("token", ""))
        return refusal_page(Refusal.LINK, request.url.path) if cookie is None else _entered(address, cookie)

    async def index(request: Request) -> Response:
        if "run" in request.path_params:  # the page asks for it when its scripts are loaded: begin to read it now
            changes.linger(f"run:{request.path_params['run']}")
        return HTMLResponse(text)

    async def missing(request: Request, _: Exception) -> Response:
        return refusal_page(Refusal.MISSING, request.url.path)

    hub = Hub(lambda name: open_topic(app, name))
    changes = Changes(hub, app.clock, Streams(hub, app.clock, serving.ending))
    routes = [
        Route("/enter", enter),
        Route("/api/changes", changes, methods=["GET"]),
        Route("/api/older", changes.older),
        *Doings(actions, serving.close).routes,
        *Definitions(app).routes,
        *Readings(app, hub).routes,
        Mount(f"/static/{handrail.__version__}", GZipMiddleware(Files(directory=page))),
        *(Route(path, index) for path in PAGES),
    ]
    if serving.credentials is not None:
        admit = partial(_entered, address)
        routes.append(Login(door, serving.credentials, app.clock, admit).route)
    kinds = {StateError: state_page, OSError: state_page, Exception: bug_page}
    handlers: dict[Any, Any] = {404: missing, 405: missing, **kinds}
    inner = Starlette(routes=routes, exception_handlers=handlers)
    rules = Rules(address.cookie, has_login=serving.credentials is not None, is_read_only=serving.is_read_only)
    return Edge(Guard(inner, door, rules, address.origins), serving.report)


def _entered(address: Address, cookie: str) -> Response:
    """The first page, with the cookie that lets a browser in."""
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        *(address.cookie, cookie, COOKIE_SECONDS), httponly=True, samesite="strict", secure=address.is_secure, path="/"
    )
    return answer
