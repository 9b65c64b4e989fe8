"""The routes below `/api`: what the page reads when a person opens something, and what it asks the server to do.

The guard has looked before. Everything is named by its id, its kind or the path of a step, never by a path of the
file system.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from handrail.app import App
from handrail.base.errors import (
    HandrailError,
    NotFound,
    OnlyPeopleError,
    RefusedError,
    StateError,
    UntrustedError,
    UsageError,
)
from handrail.view.actions import Actions, LateAnswer, LaunchForm, ResumeMode, WrongFields
from handrail.view.launch import offer_launch, preview_launch, save_routes
from handrail.view.live import artifacts
from handrail.view.live.artifacts import markdown
from handrail.view.live.catalog import definition
from handrail.view.live.home import mark_seen
from handrail.view.live.hub import Hub
from handrail.view.live.run import LiveRun, LogQuery, search_log, step_of
from handrail.view.live.session import text_of_phase
from handrail.view.rows.rows import HEAD
from handrail.web.guard import RequestRefusal

_LAUNCH = (
    "name", "task", "params", "agent", "model", "routes", "preset", "scope", "start", "until", "limits",
)  # fmt: skip
_TEXTS = ("name", "task", "agent", "model", "preset", "scope", "start", "until")
_ROW = re.compile(r"(run|session):[^\x00-\x1f]{1,200}")
MOST_SEEN = 100
AFTER_ANSWER = 0.2
"""In seconds: the page gets its answer before the server ends."""
DoAction = Callable[[Request, dict[str, Any]], Awaitable[dict[str, Any]]]


class ActionRoutes:
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

    def _route(self, path: str, doing: DoAction) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                return JSONResponse(await doing(request, await _body(request)))
            except HandrailError as error:
                return error_response(error)
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
        wanted = LaunchForm(**{name: value for name, value in given.items() if value is not None})
        if is_dry:
            return await asyncio.to_thread(preview_launch, self.actions.app, wanted)
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

    def _session(self, action: Callable[[str], None]) -> DoAction:
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

    def _again(self, mode: ResumeMode) -> DoAction:
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


def error_response(error: HandrailError) -> Response:
    """An error as the page gets it: one sentence, what helps, and the fields that are wrong."""
    hint = error.hint or (RequestRefusal.STATE.help if isinstance(error, StateError) else None)
    told: dict[str, Any] = {"code": error.code, "message": error.message, "hint": hint}
    if isinstance(error, WrongFields):
        told["fields"] = [{"field": one.field, "message": one.message} for one in error.problems]
    if isinstance(error, LateAnswer):
        told["answered"] = error.answered
    return JSONResponse({"error": told}, _status(error))


def _status(error: HandrailError) -> int:
    if isinstance(error, LateAnswer):
        return 410 if error.has_changed else 409
    kinds: list[tuple[type[HandrailError], int]] = [
        (UntrustedError, 403),
        (OnlyPeopleError, 403),
        (NotFound, 404),
        (RefusedError, 409),
        (StateError, 503),
        (WrongFields, 422),
        (UsageError, 400),
    ]
    return next((status for kind, status in kinds if isinstance(error, kind)), 400)


MOST_QUERY = 200
WAYS = ("tree", "diff", "raw")
ReadResponse = Callable[[Request], Awaitable[Response]]


class ReadRoutes:
    """The routes below `/api` that only read. Runs that the page shows are read from the hub, not from their files."""

    def __init__(self, app: App, hub: Hub) -> None:
        self.app = app
        self.hub = hub
        self.routes = [
            _read_route("/api/runs/{id}/nodes", self.nodes),
            _read_route("/api/runs/{id}/steps/{path:path}", self.step),
            _read_route("/api/runs/{id}/log", self.log),
            _read_route("/api/runs/{id}/changes", self.changes),
            _read_route("/api/runs/{id}/summary", self.summary),
            _read_route("/api/artifacts/{id:path}", self.artifact),
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
        wanted = LogQuery(given.get("q", "")[:MOST_QUERY], kinds, given.get("under", ""), given.get("before") or None)

        def found(id_: str) -> dict[str, Any]:
            page = search_log(self.app.runs, id_, wanted)
            return {**page, "rows": page["rows"][::-1]}

        return await self._of_run(request, found)

    async def changes(self, request: Request) -> Response:
        """What a run changed in the project. No run records it yet."""
        return await self._of_run(request, lambda id_: {"run": id_, "files": None})

    async def summary(self, request: Request) -> Response:
        """What a run says about itself, as a tree."""
        async with self.hub.watching(f"run:{request.path_params['id']}") as watched:
            head = await watched.read(lambda live: live.topic.rows.get(HEAD, ""))
        return JSONResponse(artifacts.markdown((head or {}).get("summary") or ""))

    async def artifact(self, request: Request) -> Response:
        id_, way = request.path_params["id"], request.query_params.get("as", "tree")
        if way not in WAYS:
            raise UsageError("`as` has to be `tree`, `diff` or `raw`")
        kept = self.app.runs.kept
        if way != "raw":
            return JSONResponse(
                await asyncio.to_thread(artifacts.preview if way == "tree" else artifacts.diff, kept, id_)
            )
        name = (await asyncio.to_thread(artifacts.about, kept, id_))["file"]
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        content = await asyncio.to_thread(artifacts.raw, kept, id_)
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def _of_run(self, request: Request, found: Callable[[str], dict[str, Any]]) -> Response:
        def made() -> dict[str, Any]:
            id_ = request.path_params["id"]
            if id_ not in self.app.runs.ids():
                raise NotFound(f"there is no run `{id_[:80]}`", "`handrail runs` lists them")
            return found(id_)

        return JSONResponse(await asyncio.to_thread(made))


def _read_route(path: str, read: ReadResponse) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            return await read(request)
        except HandrailError as error:
            return error_response(error)

    return Route(path, endpoint, methods=["GET"])


def _number(request: Request, name: str) -> int | None:
    """A number in the query; None if it is not given."""
    text = request.query_params.get(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise UsageError(f"`{name}` has to be a number")
    return int(text)


LAUNCHABLE_KINDS = ("flow", "workflow")
ReadDefinition = Callable[..., dict[str, Any]]
"""Gets the parts of the address by their names."""


class DefinitionRoutes:
    """The routes below `/api` that tell about definitions."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.routes = [
            _definition_route("/api/launch/{kind}/{name:path}", self.launch),
            _definition_route("/api/definitions/{kind}/{name:path}", self.show),
            _definition_route("/api/sessions/{session}/text", self.text),
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
        if kind not in LAUNCHABLE_KINDS:
            raise NotFound(f"a `{kind[:40]}` cannot be launched", "launch a flow or a workflow")
        return offer_launch(self.app, definition_name(kind, name))


def _definition_route(path: str, read: ReadDefinition) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(await asyncio.to_thread(read, **request.path_params))
        except HandrailError as error:
            return error_response(error)

    return Route(path, endpoint)


def definition_name(kind: str, id_: str) -> str:
    """The name by which `handrail run` finds a definition of this kind."""
    return f"{kind}:{id_}"
