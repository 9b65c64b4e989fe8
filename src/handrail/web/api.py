"""The routes below `/api`: what the page reads when a person opens something, and what it asks the server to do.

The guard has looked before. Everything is named by its id, its kind or the path of a step, never by a path of the
file system.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

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
from handrail.view.live.catalog import definition
from handrail.view.live.home import mark_seen
from handrail.view.live.hub import Hub
from handrail.view.live.run import LiveRun, LogQuery, search_log, step_of
from handrail.view.live.session import text_of_phase
from handrail.view.rows.rows import HEAD
from handrail.web.guard import RequestRefusal

TEXTS = ("name", "task", "agent", "model", "preset", "scope", "start", "until")
MAPPINGS = ("params", "limits", "routes")
"""The keys of a launch that are texts, and those that are mappings."""
LAUNCHABLE_KINDS = ("flow", "workflow")
WAYS = ("tree", "diff", "raw")
MOST_SEEN = 100
MOST_QUERY = 200
AFTER_ANSWER = 0.2
"""In seconds: the page gets its answer before the server ends."""
_ROW = re.compile(r"(run|session):[^\x00-\x1f]{1,200}")
_STATUSES: tuple[tuple[type[HandrailError], int], ...] = (
    (UntrustedError, 403),
    (OnlyPeopleError, 403),
    (NotFound, 404),
    (RefusedError, 409),
    (StateError, 503),
    (WrongFields, 422),
    (UsageError, 400),
)
Body = dict[str, Any]


class Api:
    """All routes below `/api` but `/api/changes`. Runs that the page shows are read from the hub, not from files.

    A method that is not `async` runs in a thread.
    """

    def __init__(self, actions: Actions, hub: Hub, close: Callable[[], None] | None = None) -> None:
        self.actions = actions
        self.app = actions.app
        self.hub = hub
        self._end_server = close

    @property
    def routes(self) -> list[Route]:
        actions = self.actions
        return [
            _action("/api/runs", self.launch, *TEXTS, *MAPPINGS, "dryRun"),
            _action("/api/needs/{id}", self.answer, "of", "digest", "values"),
            _action("/api/runs/{id}/stop", self.stop),
            _action("/api/runs/{id}/resume", partial(self.resume, "resume")),
            _action("/api/runs/{id}/continue", partial(self.resume, "continue")),
            _action("/api/runs/{id}/restart", partial(self.resume, "restart"), "from"),
            _action("/api/sessions/{id}/cancel", partial(self.session, actions.cancel)),
            _action("/api/sessions/{id}/reload", partial(self.session, actions.reload)),
            _action("/api/sessions/{id}/goto", partial(self.session, actions.go_to), "phase", "reason"),
            _action("/api/seen", self.mark_seen_rows, "ids"),
            _action("/api/told", self.claim, "of", "need"),
            _action("/api/routes", self.save, "where", "name", "routes"),
            _action("/api/close", self.close),
            _route("/api/launch/{kind}/{name:path}", self.offer),
            _route("/api/definitions/{kind}/{name:path}", self.definition),
            _route("/api/sessions/{id}/text", self.text),
            _route("/api/runs/{id}/nodes", self.nodes),
            _route("/api/runs/{id}/steps/{path:path}", self.step),
            _route("/api/runs/{id}/log", self.log),
            _route("/api/runs/{id}/changes", self.changes),
            _route("/api/runs/{id}/summary", self.summary),
            _route("/api/artifacts/{id:path}", self.artifact),
        ]

    def launch(self, _: Request, body: Body) -> Any:
        is_dry = body.pop("dryRun", False) is True
        if not isinstance(body.get("name"), str):
            raise UsageError("`name` is missing", "name a flow or a workflow")
        for name in MAPPINGS:
            if not isinstance(body.get(name, {}), dict):
                raise UsageError(f"`{name}` has to be a mapping")
        for name in TEXTS:
            if not isinstance(body.get(name), str | None):
                raise UsageError(f"`{name}` has to be text")
        form = LaunchForm(**{name: value for name, value in body.items() if value is not None})
        return preview_launch(self.app, form) if is_dry else {"run": self.actions.launch(form)}

    def save(self, _: Request, body: Body) -> Any:
        target, name, routes = body.get("where"), body.get("name"), body.get("routes")
        if target not in ("flow", "preset") or not isinstance(name, str):
            raise UsageError("`where` has to be `flow` or `preset`, and `name` its name")
        if not isinstance(routes, dict) or not all(isinstance(route, str) for route in routes.values()):
            raise UsageError("`routes` has to be a mapping of groups to agents", 'such as `{"review": "AGENT:MODEL"}`')
        self.actions.refuse("routes")
        return {"file": save_routes(self.app, target, name, routes)}

    async def answer(self, request: Request, body: Body) -> Any:
        topic, digest, values = (body.get(name) for name in ("of", "digest", "values"))
        if not isinstance(topic, str) or not isinstance(digest, str) or not isinstance(values, dict):
            raise UsageError("an answer needs `of`, `digest` and `values`")
        question = request.path_params["id"]
        if topic.startswith("session:"):
            session = topic.partition(":")[2]
            await asyncio.to_thread(self.actions.answer_session, session, question, digest, values)
        else:
            await self.actions.answer(_run_of(topic), question, digest, values)
        return {"accepted": question}

    def session(self, action: Callable[..., None], request: Request, body: Body) -> Any:
        action(request.path_params["id"], **{name: str(value) for name, value in body.items()})
        return {"session": request.path_params["id"]}

    def mark_seen_rows(self, _: Request, body: Body) -> Any:
        ids = body.get("ids")
        if not isinstance(ids, list) or not 0 < len(ids) <= MOST_SEEN or not all(map(_is_row, ids)):
            raise UsageError("`ids` has to be a list of rows of home", "such as `run:ID`")
        self.actions.refuse("seen")
        rows = {f"run:{id_}" for id_ in self.app.runs.engine.ids()}
        rows |= {f"session:{one.id}" for one in self.app.sessions.all()}
        known_ids = [id_ for id_ in ids if id_ in rows]  # others are ignored: a run may have been removed meanwhile
        for id_ in known_ids:
            mark_seen(self.app, id_)
        return {"seen": len(known_ids)}

    def claim(self, _: Request, body: Body) -> Any:
        topic, need = body.get("of"), body.get("need")
        if not isinstance(topic, str) or not isinstance(need, str):
            raise UsageError("`of` and `need` have to be text")
        return {"isFirst": self.actions.claim(_run_of(topic), need)}

    async def close(self, _: Request, __: Body) -> Any:
        await asyncio.to_thread(self.actions.refuse, "close")
        if self._end_server is None:
            raise RefusedError("this server cannot be ended from the page", "end it where it was started")
        asyncio.get_running_loop().call_later(AFTER_ANSWER, self._end_server)
        return {"closed": True}

    async def stop(self, request: Request, _: Body) -> Any:
        await self.actions.stop(request.path_params["id"])
        return {"stopped": request.path_params["id"]}

    def resume(self, mode: ResumeMode, request: Request, body: Body) -> Any:
        start = body.get("from")
        if not isinstance(start, str | None):
            raise UsageError("`from` has to be text")
        self.actions.resume(request.path_params["id"], mode, start)
        return {"run": request.path_params["id"]}

    def offer(self, request: Request) -> Any:
        """What the page needs to launch a flow or a workflow."""
        kind, name = request.path_params["kind"], request.path_params["name"]
        if kind not in LAUNCHABLE_KINDS:
            raise NotFound(f"a `{kind[:40]}` cannot be launched", "launch a flow or a workflow")
        return offer_launch(self.app, f"{kind}:{name}")

    def definition(self, request: Request) -> Any:
        """The files of a definition with their problems, and its plan, as they are now."""
        return definition(self.app.reread(), request.path_params["kind"], request.path_params["name"])

    def text(self, request: Request) -> Any:
        """What the agent of a session is told now, and of that the instructions of the phase, for people."""
        text = text_of_phase(self.app, request.path_params["id"])
        return {**text, "instructions": artifacts.markdown(text["instructions"])}

    async def nodes(self, request: Request) -> Any:
        """The rows directly below a row."""
        parent, start = request.query_params.get("under", ""), _number(request, "start") or 0
        async with self.hub.watching(f"run:{request.path_params['id']}") as topic:

            def rows_below(live: object) -> dict[str, Any]:
                assert isinstance(live, LiveRun)
                return live.nodes(parent, start)

            return await topic.read(rows_below)

    def step(self, request: Request) -> Any:
        """One try of a step: the last one, or the one that `try` names."""
        number = _number(request, "try")
        return step_of(self.app.runs, self._run(request), request.path_params["path"], number)

    def log(self, request: Request) -> Any:
        """A page of the log, the newest first."""
        query = request.query_params
        text, kinds = query.get("q", "")[:MOST_QUERY], tuple(filter(None, query.get("kind", "").split(",")))
        log_query = LogQuery(text, kinds, query.get("under", ""), query.get("before") or None)
        page = search_log(self.app.runs, self._run(request), log_query)
        return {**page, "rows": page["rows"][::-1]}

    def changes(self, request: Request) -> Any:
        """What a run changed in the project. No run records it yet."""
        return {"run": self._run(request), "files": None}

    async def summary(self, request: Request) -> Any:
        """What a run says about itself, as a tree."""
        async with self.hub.watching(f"run:{request.path_params['id']}") as topic:
            head = await topic.read(lambda live: live.topic.rows.get(HEAD, ""))
        return artifacts.markdown((head or {}).get("summary") or "")

    def artifact(self, request: Request) -> Any:
        id_, way, shelves = request.path_params["id"], request.query_params.get("as", "tree"), self.app.runs.shelves
        if way not in WAYS:
            raise UsageError("`as` has to be `tree`, `diff` or `raw`")
        if way != "raw":
            return (artifacts.preview if way == "tree" else artifacts.diff)(shelves, id_)
        name = artifacts.about(shelves, id_)["file"]
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(artifacts.raw(shelves, id_), media_type="application/octet-stream", headers=headers)

    def _run(self, request: Request) -> str:
        """The id of the run in the address. Raises `NotFound` if there is no such run."""
        id_: str = request.path_params["id"]
        if id_ not in self.app.runs.engine.ids():
            raise NotFound(f"there is no run `{id_[:80]}`", "`handrail runs` lists them")
        return id_


def _route(path: str, work: Callable[..., Any], keys: tuple[str, ...] | None = None) -> Route:
    """A route to read something; with the `keys` that its body may have, to do something."""

    async def endpoint(request: Request) -> Response:
        try:
            arguments = (request,) if keys is None else (request, await _body(request, keys))
            answer = await (work(*arguments) if iscoroutinefunction(work) else asyncio.to_thread(work, *arguments))
        except HandrailError as error:
            return error_response(error)
        except ClientDisconnect:  # more than the guard lets through
            return Response(status_code=413)
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    return Route(path, endpoint, methods=["GET" if keys is None else "POST"])


def _action(path: str, work: Callable[..., Any], *keys: str) -> Route:
    return _route(path, work, keys)


def _is_row(id_: object) -> bool:
    return isinstance(id_, str) and _ROW.fullmatch(id_) is not None


def _run_of(topic: str) -> str:
    """The id of the run that asks, from the name of its topic."""
    kind, _, id_ = topic.partition(":")
    if kind != "run" or not id_:
        raise UsageError("`of` has to be the topic that asks", "such as `run:ID`")
    return id_


async def _body(request: Request, keys: tuple[str, ...]) -> Body:
    try:
        data = json.loads(await request.body())
        json.dumps(data, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
    except (ValueError, RecursionError) as error:
        raise UsageError("the request is not JSON") from error
    if not isinstance(data, dict):
        raise UsageError("the request has to be a mapping")
    for name in data:
        if name not in keys:
            raise UsageError(f"unknown key `{name[:80]}`")
    return data


def _number(request: Request, name: str) -> int | None:
    """A number in the query; None if it is not given."""
    text = request.query_params.get(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise UsageError(f"`{name}` has to be a number")
    return int(text)


def error_response(error: HandrailError, status: int | None = None) -> Response:
    """An error as the page gets it: one sentence, what helps, and the fields that are wrong."""
    hint = error.hint or (RequestRefusal.STATE.help if isinstance(error, StateError) else None)
    data: dict[str, Any] = {"code": error.code, "message": error.message, "hint": hint}
    if isinstance(error, WrongFields):
        data["fields"] = [{"field": one.field, "message": one.message} for one in error.problems]
    if isinstance(error, LateAnswer):
        data["answered"] = error.first_answer
    return JSONResponse({"error": data}, status or _status(error))


def _status(error: HandrailError) -> int:
    if isinstance(error, LateAnswer):
        return 410 if error.has_changed else 409
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)
