"""What the page reads about definitions: what a launch needs, and what the agent of a session is told.

Definitions are named by kind and id, never by a path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from handrail.app import App
from handrail.errors import HandrailError, NotFound
from handrail.live.catalog import definition
from handrail.live.files import markdown
from handrail.live.launching import offer
from handrail.live.sessions import text_of_phase
from handrail.web.doing import refused

KINDS = ("flow", "workflow")
Read = Callable[..., dict[str, Any]]
"""Gets the parts of the address by their names."""


class Definitions:
    """The routes below `/api` that tell about definitions."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.routes = [
            _route("/api/launch/{kind}/{name:path}", self.launch),
            _route("/api/definitions/{kind}/{name:path}", self.show),
            _route("/api/sessions/{session}/text", self.text),
        ]

    def show(self, kind: str, name: str) -> dict[str, Any]:
        """The files of a definition with their problems, and its plan, as they are now."""
        return definition(self.app.reread(), kind, name)

    def text(self, session: str) -> dict[str, Any]:
        """What the agent of a session is told now, and of that the instructions of the phase, for people."""
        told = text_of_phase(self.app, session)
        return {**told, "instructions": markdown(told["instructions"])}

    def launch(self, kind: str, name: str) -> dict[str, Any]:
        """What the page needs to launch a flow or a workflow."""
        if kind not in KINDS:
            raise NotFound(f"a `{kind[:40]}` cannot be launched", "launch a flow or a workflow")
        return offer(self.app, name_of(kind, name))


def _route(path: str, read: Read) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(await asyncio.to_thread(read, **request.path_params))
        except HandrailError as error:
            return refused(error)

    return Route(path, endpoint)


def name_of(kind: str, id_: str) -> str:
    """The name by which `handrail run` finds a definition of this kind."""
    return f"{kind}:{id_}"
