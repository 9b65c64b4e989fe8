"""What the page reads about definitions: what a launch needs. Definitions are named by kind and id, never by a path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from handrail.app import App
from handrail.errors import HandrailError, NotFound
from handrail.live.launching import offer
from handrail.web.doing import refused

KINDS = ("flow", "workflow")
Read = Callable[[str, str], dict[str, Any]]


class Definitions:
    """The routes below `/api` that tell about definitions."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.routes = [self._route("/api/launch", self.launch)]

    def _route(self, path: str, read: Read) -> Route:
        async def endpoint(request: Request) -> Response:
            kind, id_ = request.path_params["kind"], request.path_params["id"]
            try:
                return JSONResponse(await asyncio.to_thread(read, kind, id_))
            except HandrailError as error:
                return refused(error)

        return Route(f"{path}/{{kind}}/{{id:path}}", endpoint)

    def launch(self, kind: str, id_: str) -> dict[str, Any]:
        """What the page needs to launch a flow or a workflow."""
        if kind not in KINDS:
            raise NotFound(f"a `{kind[:40]}` cannot be launched", "launch a flow or a workflow")
        return offer(self.app, name_of(kind, id_))


def name_of(kind: str, id_: str) -> str:
    """The name by which `handrail run` finds a definition of this kind."""
    return f"{kind}:{id_}"
