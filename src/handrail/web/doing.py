"""What the page asks the server to do: launch, answer, stop, resume, close. The guard has looked before."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from handrail.app import App
from handrail.errors import (
    HandrailError,
    NotFound,
    OnlyPeopleError,
    RefusedError,
    StateError,
    UntrustedError,
    UsageError,
)
from handrail.live.actions import Actions, Late, Launch, Mode, Wrong
from handrail.live.launching import rehearse, save_routes
from handrail.live.seen import mark_seen
from handrail.web.refusals import Refusal

_LAUNCH = (
    "name", "task", "params", "agent", "model", "routes", "preset", "scope", "start", "until", "limits",
)  # fmt: skip
_TEXTS = ("name", "task", "agent", "model", "preset", "scope", "start", "until")
_ROW = re.compile(r"(run|session):[^\x00-\x1f]{1,200}")
MOST_SEEN = 100
AFTER_ANSWER = 0.2
"""In seconds: the page gets its answer before the server ends."""
Doing = Callable[[Request, dict[str, Any]], Awaitable[dict[str, Any]]]


class Doings:
    """The routes below `/api` that change something."""

    def __init__(self, actions: Actions, close: Callable[[], None] | None = None) -> None:
        self.actions = actions
        self._close = close
        self.routes = [
            self._route("/api/runs", self.launch),
            self._route("/api/needs/{id}", self.answer),
            self._route("/api/runs/{id}/stop", self.stop),
            *(self._route(f"/api/runs/{{id}}/{mode}", self._again(mode)) for mode in ("resume", "continue", "restart")),
            self._route("/api/sessions/{id}/cancel", self._session(actions.cancel)),
            self._route("/api/sessions/{id}/reload", self._session(actions.reload)),
            self._route("/api/seen", self.seen),
            self._route("/api/told", self.told),
            self._route("/api/routes", self.save),
            self._route("/api/close", self.close),
        ]

    def _route(self, path: str, doing: Doing) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                return JSONResponse(await doing(request, await _body(request)))
            except HandrailError as error:
                return refused(error)
            except ClientDisconnect:  # more than the guard lets through
                return Response(status_code=413)

        return Route(path, endpoint, methods=["POST"])

    async def launch(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        given = dict(_only(body, (*_LAUNCH, "dryRun")))
        is_dry = given.pop("dryRun", False) is True
        if not isinstance(given.get("name"), str):
            raise UsageError("`name` is missing", "name a flow or a workflow")
        for name in ("params", "limits", "routes"):
            if not isinstance(given.get(name, {}), dict):
                raise UsageError(f"`{name}` has to be a mapping")
        for name in _TEXTS:
            if not isinstance(given.get(name), str | None):
                raise UsageError(f"`{name}` has to be text")
        wanted = Launch(**{name: value for name, value in given.items() if value is not None})
        if is_dry:
            return await asyncio.to_thread(rehearse, self.actions.app, wanted)
        return {"run": await asyncio.to_thread(self.actions.launch, wanted)}

    async def save(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        given = _only(body, ("where", "name", "routes"))
        where, name, routes = given.get("where"), given.get("name"), given.get("routes")
        if where not in ("flow", "preset") or not isinstance(name, str):
            raise UsageError("`where` has to be `flow` or `preset`, and `name` its name")
        if not isinstance(routes, dict) or not all(isinstance(route, str) for route in routes.values()):
            raise UsageError("`routes` has to be a mapping of groups to agents", 'such as `{"review": "AGENT:MODEL"}`')
        await asyncio.to_thread(self.actions.refuse, "routes")
        return {"file": await asyncio.to_thread(save_routes, self.actions.app, where, name, routes)}

    async def answer(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        given = _only(body, ("of", "digest", "values"))
        of, digest, values = (given.get(name) for name in ("of", "digest", "values"))
        if not isinstance(of, str) or not isinstance(digest, str) or not isinstance(values, dict):
            raise UsageError("an answer needs `of`, `digest` and `values`")
        question = request.path_params["id"]
        await self.actions.answer(_run_of(of), question, digest, values)
        return {"accepted": question}

    def _session(self, action: Callable[[str], None]) -> Doing:
        async def doing(request: Request, body: dict[str, Any]) -> dict[str, Any]:
            _only(body, ())
            await asyncio.to_thread(action, request.path_params["id"])
            return {"session": request.path_params["id"]}

        return doing

    async def seen(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        ids = _only(body, ("ids",)).get("ids")
        if not isinstance(ids, list) or not 0 < len(ids) <= MOST_SEEN or not all(map(_is_row, ids)):
            raise UsageError("`ids` has to be a list of rows of home", "such as `run:ID`")
        await asyncio.to_thread(self.actions.refuse, "seen")
        known = await asyncio.to_thread(_rows, self.actions.app)
        found = [one for one in ids if one in known]  # others are ignored: a run may have been removed meanwhile
        for one in found:
            await asyncio.to_thread(mark_seen, self.actions.app, one)
        return {"seen": len(found)}

    async def told(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        given = _only(body, ("of", "need"))
        of, need = given.get("of"), given.get("need")
        if not isinstance(of, str) or not isinstance(need, str):
            raise UsageError("`of` and `need` have to be text")
        return {"isFirst": await asyncio.to_thread(self.actions.claim, _run_of(of), need)}

    async def close(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        _only(body, ())
        await asyncio.to_thread(self.actions.refuse, "close")
        if self._close is None:
            raise RefusedError("this server cannot be ended from the page", "end it where it was started")
        asyncio.get_running_loop().call_later(AFTER_ANSWER, self._close)
        return {"closed": True}

    async def stop(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        _only(body, ())
        await self.actions.stop(request.path_params["id"])
        return {"stopped": request.path_params["id"]}

    def _again(self, mode: Mode) -> Doing:
        async def doing(request: Request, body: dict[str, Any]) -> dict[str, Any]:
            start = _only(body, ("from",) if mode == "restart" else ()).get("from")
            if not isinstance(start, str | None):
                raise UsageError("`from` has to be text")
            await asyncio.to_thread(self.actions.again, request.path_params["id"], mode, start)
            return {"run": request.path_params["id"]}

        return doing


def _rows(app: App) -> set[str]:
    """The ids of all rows that home can have."""
    return {f"run:{id_}" for id_ in app.runs.ids()} | {f"session:{one.id}" for one in app.sessions.all()}


def _is_row(id_: object) -> bool:
    return isinstance(id_, str) and _ROW.fullmatch(id_) is not None


def _run_of(topic: str) -> str:
    """The id of the run that asks, from the name of its topic."""
    kind, _, id_ = topic.partition(":")
    if kind != "run" or not id_:
        raise UsageError("`of` has to be the topic that asks", "such as `run:ID`")
    return id_


async def _body(request: Request) -> dict[str, Any]:
    try:
        data = json.loads(await request.body())
        json.dumps(data, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
    except (ValueError, RecursionError) as error:
        raise UsageError("the request is not JSON") from error
    if not isinstance(data, dict):
        raise UsageError("the request has to be a mapping")
    return data


def _only(body: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    for name in body:
        if name not in known:
            raise UsageError(f"unknown key `{name[:80]}`")
    return body


def refused(error: HandrailError) -> Response:
    """An error as the page gets it: one sentence, what helps, and the fields that are wrong."""
    hint = error.hint or (Refusal.STATE.help if isinstance(error, StateError) else None)
    told: dict[str, Any] = {"code": error.code, "message": error.message, "hint": hint}
    if isinstance(error, Wrong):
        told["fields"] = [{"field": one.field, "message": one.message} for one in error.problems]
    if isinstance(error, Late):
        told["answered"] = error.answered
    return JSONResponse({"error": told}, _status(error))


def _status(error: HandrailError) -> int:
    if isinstance(error, Late):
        return 410 if error.has_changed else 409
    kinds: list[tuple[type[HandrailError], int]] = [
        (UntrustedError, 403),
        (OnlyPeopleError, 403),
        (NotFound, 404),
        (RefusedError, 409),
        (StateError, 503),
        (Wrong, 422),
        (UsageError, 400),
    ]
    return next((status for kind, status in kinds if isinstance(error, kind)), 400)
