"""The page and its interface, put together. The guard stands before all of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
from handrail.live.actions import Actions
from handrail.live.hub import Hub
from handrail.live.topics import open_topic
from handrail.project import page_files
from handrail.source.clean import clean
from handrail.web.defining import Definitions
from handrail.web.doing import Doings
from handrail.web.entry import COOKIE_SECONDS, Doorkeeper
from handrail.web.guard import Guard
from handrail.web.polling import Changes
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
    """Where the server listens, and under which addresses people reach it."""

    host: str
    port: int
    tls: bool = False

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def origins(self) -> list[str]:
        names = [self.host, "localhost"] if self.host == "127.0.0.1" else [self.host]
        return [f"{self.scheme}://{name}:{self.port}" for name in names]

    @property
    def cookie(self) -> str:
        """The name of the cookie. Servers on other ports of this machine have others."""
        return f"handrail-{self.port}"


PAGES = (
    *("/", "/runs/{id}", "/sessions/{id}", "/catalog", "/catalog/{kind}/{id:path}"),
    *("/launch", "/launch/{kind}/{id:path}", "/needs/{id}", "/artifacts/{id}"),
)
"""The addresses of the page. Which of them it is, the page finds out by itself."""
READ_ONLY = "An agent or a run started this page, so it only shows things. Start `handrail web` in your own terminal."


def make_server(
    app: App,
    door: Doorkeeper,
    address: Address,
    origins: Iterable[str] = (),
    close: Callable[[], None] | None = None,
) -> ASGIApp:
    """The application of the server. `close` ends the server; None if the page may not do that."""
    page = page_files()
    with open(f"{page}/index.html", encoding="utf-8") as file:
        text = file.read().replace("VERSION", handrail.__version__)
    actions = Actions(app, "web")
    facts = {"PROJECT": os.path.basename(app.project), "READ-ONLY": READ_ONLY if actions.is_read_only else ""}
    for name, value in facts.items():
        text = text.replace(f"{{{name}}}", escape(clean(value)))

    async def enter(request: Request) -> Response:
        cookie = door.admit(request.query_params.get("token", ""))
        if cookie is None:
            return refusal_page(Refusal.LINK, request.url.path)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            address.cookie, cookie, COOKIE_SECONDS, httponly=True, samesite="strict", secure=address.tls, path="/"
        )
        return answer

    async def index(_: Request) -> Response:
        return HTMLResponse(text)

    async def missing(request: Request, _: Exception) -> Response:
        return refusal_page(Refusal.MISSING, request.url.path)

    hub = Hub(lambda name: open_topic(app, name))
    routes = [
        Route("/enter", enter),
        Route("/api/changes", Changes(hub, app.clock, Streams(hub, app.clock))),
        *Doings(actions, close).routes,
        *Definitions(app).routes,
        Mount(f"/static/{handrail.__version__}", GZipMiddleware(Files(directory=page))),
        *(Route(path, index) for path in PAGES),
    ]
    inner = Starlette(routes=routes, exception_handlers={404: missing, 405: missing})
    return Guard(inner, door, address.cookie, [*address.origins, *origins])
