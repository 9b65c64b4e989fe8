"""The outermost edge of the server: a bug is answered and reported, and no client can fill the terminal with text."""

from __future__ import annotations

from collections.abc import Callable

from h11 import LocalProtocolError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.web.refusals import Refusal, refusal_page

Report = Callable[[Exception], None]
"""Tells the person who started the server about a bug."""


def raise_again(error: Exception) -> None:
    raise error


class Edge:
    """Wraps the whole application. What it raises is reported; the server itself logs nothing."""

    def __init__(self, app: ASGIApp, report: Report) -> None:
        self.app = app
        self.report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        except LocalProtocolError:
            return  # the client went on with something that is not HTTP, so it cannot be answered
        except Exception as error:  # noqa: BLE001  # the edge of this surface
            self.report(error)


async def state_page(request: Request, _: Exception) -> Response:
    """The answer to a request for which a file could not be read or written."""
    return refusal_page(Refusal.STATE, request.url.path)


async def bug_page(request: Request, _: Exception) -> Response:
    """The answer to a request that a bug ended."""
    return refusal_page(Refusal.BUG, request.url.path)
