"""What the page fetches when a person opens it: rows below a phase, a step, the log, an artifact.

Everything is named by its id or by the path of a step, never by a path of the file system.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from handrail.app import App
from handrail.errors import HandrailError, NotFound, UsageError
from handrail.live import files
from handrail.live.hub import Hub
from handrail.live.log import Wanted, search
from handrail.live.runs import LiveRun
from handrail.live.steps import step_of
from handrail.topics.rows import HEAD
from handrail.web.doing import refused

MOST_QUERY = 200
WAYS = ("tree", "diff", "raw")
Read = Callable[[Request], Awaitable[Response]]


class Readings:
    """The routes below `/api` that only read. Runs that the page shows are read from the hub, not from their files."""

    def __init__(self, app: App, hub: Hub) -> None:
        self.app = app
        self.hub = hub
        self.routes = [
            _route("/api/runs/{id}/nodes", self.nodes),
            _route("/api/runs/{id}/steps/{path:path}", self.step),
            _route("/api/runs/{id}/log", self.log),
            _route("/api/runs/{id}/changes", self.changes),
            _route("/api/runs/{id}/summary", self.summary),
            _route("/api/artifacts/{id:path}", self.artifact),
        ]

    async def nodes(self, request: Request) -> Response:
        """The rows directly below a row."""
        under, start = request.query_params.get("under", ""), _number(request, "start") or 0
        async with self.hub.watching(f"run:{request.path_params['id']}") as watched:

            def found(live: object) -> dict[str, Any]:
                assert isinstance(live, LiveRun)
                return live.nodes(under, start)

            return JSONResponse(await watched.read(found))

    async def step(self, request: Request) -> Response:
        """One try of a step: the last one, or the one that `try` names."""
        path, number = request.path_params["path"], _number(request, "try")
        return await self._of_run(request, lambda id_: step_of(self.app.runs, id_, path, number))

    async def log(self, request: Request) -> Response:
        """A page of the log, the newest first."""
        given = request.query_params
        kinds = tuple(filter(None, given.get("kind", "").split(",")))
        wanted = Wanted(given.get("q", "")[:MOST_QUERY], kinds, given.get("under", ""), given.get("before") or None)

        def found(id_: str) -> dict[str, Any]:
            page = search(self.app.runs, id_, wanted)
            return {**page, "rows": page["rows"][::-1]}

        return await self._of_run(request, found)

    async def changes(self, request: Request) -> Response:
        """What a run changed in the project. No run records it yet."""
        return await self._of_run(request, lambda id_: {"run": id_, "files": None})

    async def summary(self, request: Request) -> Response:
        """What a run says about itself, as a tree."""
        async with self.hub.watching(f"run:{request.path_params['id']}") as watched:
            head = await watched.read(lambda live: live.topic.rows.get(HEAD, ""))
        return JSONResponse(files.markdown((head or {}).get("summary") or ""))

    async def artifact(self, request: Request) -> Response:
        id_, way = request.path_params["id"], request.query_params.get("as", "tree")
        if way not in WAYS:
            raise UsageError("`as` has to be `tree`, `diff` or `raw`")
        kept = self.app.runs.kept
        if way != "raw":
            return JSONResponse(await asyncio.to_thread(files.preview if way == "tree" else files.diff, kept, id_))
        name = (await asyncio.to_thread(files.about, kept, id_))["file"]
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        content = await asyncio.to_thread(files.raw, kept, id_)
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def _of_run(self, request: Request, found: Callable[[str], dict[str, Any]]) -> Response:
        def made() -> dict[str, Any]:
            id_ = request.path_params["id"]
            if id_ not in self.app.runs.ids():
                raise NotFound(f"there is no run `{id_[:80]}`", "`handrail runs` lists them")
            return found(id_)

        return JSONResponse(await asyncio.to_thread(made))


def _route(path: str, read: Read) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            return await read(request)
        except HandrailError as error:
            return refused(error)

    return Route(path, endpoint, methods=["GET"])


def _number(request: Request, name: str) -> int | None:
    """A number in the query; None if it is not given."""
    text = request.query_params.get(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise UsageError(f"`{name}` has to be a number")
    return int(text)
