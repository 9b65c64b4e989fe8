"""The runs of one project: begin one, go on with one, answer one, stop one, say where one stands."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from handrail import registry
from handrail.artifacts.names import scope_name
from handrail.artifacts.publish import Publisher
from handrail.artifacts.scope import default_scope
from handrail.artifacts.world import World
from handrail.contracts import Guide, NodeContext, NodeError, Waiting
from handrail.errors import NotFound, RefusedError, StateError, UsageError
from handrail.flows.account import Ended, with_defaults
from handrail.flows.catalog import FlowCatalog, FoundFlow
from handrail.flows.known import known_in
from handrail.flows.load import load_flow
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan
from handrail.flows.preview import Asked as Part
from handrail.flows.preview import Row, preview
from handrail.project import Places, file_name
from handrail.runs import machine
from handrail.runs.aside import put_aside
from handrail.runs.embedded import lease
from handrail.runs.embedded.durable import Asker, Outside, Run
from handrail.runs.embedded.inbox import Inbox
from handrail.runs.interpret import FlowFailed, Interpreter
from handrail.runs.machine import Event
from handrail.runs.modes import is_partial, rewound
from handrail.runs.request import About, Request, attempts, needed, read_about
from handrail.runs.shown import RunView, named, seconds_of
from handrail.secrets import Redactor
from handrail.settings import Asked, Route, Settings, choose, parse_route
from handrail.source.files import Source
from handrail.source.suggest import did_you_mean, nearest
from handrail.source.values import Unresolved
from handrail.state import journal

Observer = Callable[[Event], None]
LOOK_AGAIN = 0.1
PATIENCE = 10.0


class Runs:
    """The runs of one project."""

    def __init__(self, project: str, places: Places, env: Mapping[str, str], clock: Callable[[], float]) -> None:
        self.project = project
        self.env = env
        self.clock = clock
        self.settings = Settings()
        self.guide: Guide | None = None
        self.folder = os.path.join(places.state, "runs", file_name(project))
        self.shelves = os.path.join(places.state, "artifacts", file_name(project))

    def ids(self) -> list[str]:
        """Every run, the oldest first."""
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        found = [(paths[0], name) for name in names if (paths := attempts(os.path.join(self.folder, name)))]
        return [name for _, name in sorted((os.stat(path).st_mtime_ns, name) for path, name in found)]

    def named(self, name: str) -> str:
        """The run that is meant: its id, the beginning of its id, or `last`."""
        ids = self.ids()
        if name == "last" and ids:
            return ids[-1]
        begins = [id_ for id_ in ids if id_.startswith(name)]
        return begins[0] if name not in ids and len(begins) == 1 else name

    def attempt(self, id_: str) -> str:
        """The folder of a run's current attempt."""
        found = attempts(os.path.join(self.folder, file_name(id_)))
        if not found:
            close = nearest(id_, self.ids())
            hint = f"did you mean `{close[0]}`?" if close else "`handrail runs` lists them"
            raise NotFound(f"there is no run `{id_}` in this project", hint)
        return found[-1]

    def begin(self, catalog: FlowCatalog, flow: FoundFlow, request: Request, id_: str) -> str:
        """Put down all that a run needs before it does anything."""
        about = self.asked(catalog, flow, request)
        about.write(os.path.join(self.folder, file_name(id_), "1"))
        return id_

    def asked(self, catalog: FlowCatalog, flow: FoundFlow, request: Request) -> About:
        assert flow.plan is not None
        try:
            params = _with_task(flow.plan, request)
            with_defaults(flow.plan, params)
        except NodeError as error:
            raise UsageError(error.message, "give parameters with `--param NAME=VALUE`") from error
        _refuse_phases(flow.plan, request)
        self._refuse_agents(request)
        for name, value in params.items():
            if Redactor(self.env).value(value) != value:
                hint = "name the variable in the flow: `env: [NAME]`, and use `${context.env.NAME}`"
                raise UsageError(f"the param `{name}` holds the value of a secret, and parameters are kept", hint)
        try:
            scope = scope_name(request.scope) if request.scope else default_scope(self.project)
        except Unresolved as error:
            raise UsageError(error.message, "name a scope with letters or digits: `--scope NAME`") from error
        table = {**self.settings.routes, **self.settings.flows.get(flow.id, {}), **request.table}
        request = replace(request, params=params, scope=scope, table=table)
        return About(flow.id, request, needed(catalog, flow), self.clock())

    def _refuse_agents(self, request: Request) -> None:
        """Who was asked for by name has to be known; what only the settings name is told when it is needed."""
        for name in [request.agent, *(parse_route(route).agent for route in request.routes.values())]:
            if name is not None and name not in registry.EXECUTORS:
                hint = did_you_mean(name, registry.EXECUTORS) or f"known: {', '.join(registry.EXECUTORS)}"
                raise UsageError(f"there is no agent `{name}`", hint)

    def plans(self, about: About) -> dict[str, FlowPlan]:
        """The flows as they were when the run began."""
        known = known_in(self.project)
        plans: dict[str, FlowPlan] = {}
        for id_, (file, text) in about.flows.items():
            plan, _ = load_flow(Source(file, text), id_, known)
            if plan is not None:
                plans[id_] = plan
        if about.flow not in plans:
            raise StateError(f"the flow `{about.flow}` of this run cannot be read by this version")
        return plans

    def engine(
        self, id_: str, about: About, folder: str, observer: Observer | None = None, asker: Asker | None = None
    ) -> Run:
        request = about.request
        context = NodeContext(
            project=self.project,
            env=self.env,
            run=id_,
            scope=request.scope,
            route=lambda group, own: _route(request, group, own),
            pass_env=self.settings.pass_env,
            guide=self.guide,
        )
        shelf = os.path.join(self.shelves, file_name(request.scope))
        publisher = Publisher(context, shelf, self.clock)
        return Run(folder, registry.nodes(), context, Outside(self.clock, observer, asker, publisher))

    async def drive(
        self, id_: str, mode: str = "resume", observer: Observer | None = None, asker: Asker | None = None
    ) -> RunView:
        """Run to the end, or go on from where the journal ends. What is finished is not done again."""
        folder = self.attempt(id_)
        about = read_about(folder)
        plans = self.plans(about)
        engine = self.engine(id_, about, folder, observer, asker)
        with engine.held():
            put_aside(self.project, folder, about)
            _begin_life(engine, about, plans[about.flow], mode)
            engine.inbox.forget_stop()
            engine.record(await _watched(engine, lambda: self.interpret(engine, about, plans)))
        return self.view(id_)

    async def interpret(self, engine: Run, about: About, plans: dict[str, FlowPlan]) -> Ended:
        interpreter = self.interpreter(engine, about, plans)
        return await interpreter.run(interpreter.values.params, interpreter.context, until=engine.state.until)

    def interpreter(self, engine: Run, about: About, plans: dict[str, FlowPlan]) -> Interpreter:
        """What runs the flow; it knows its parameters and its context, and has not begun."""
        interpreter = Interpreter(engine, plans[about.flow], lambda name: named(plans, name), {})
        params = with_defaults(plans[about.flow], about.request.params)
        interpreter.prepare(params, self._context(about, plans, engine.context.run))
        return interpreter

    def _context(self, about: About, plans: dict[str, FlowPlan], run: str) -> dict[str, Any]:
        """What steps see as `context`. Of the environment only what a flow asks for by name."""
        request = about.request
        return {
            **({"run": run} if run else {}),
            "cwd": self.project,
            "project": self.project,
            "scope": request.scope,
            "task": request.task,
            "taskKey": request.scope,
            "issueKey": request.scope,
            "agent": request.agent,
            "model": request.model,
            "dryRun": not run,
            "env": {name: self.env[name] for plan in plans.values() for name in plan.env if name in self.env},
        }

    def preview(self, catalog: FlowCatalog, flow: FoundFlow, request: Request) -> list[Row]:
        """What a run would do. Nothing is run, nothing is written."""
        about = self.asked(catalog, flow, request)
        plans = self.plans(about)
        world, wish = World(self.project), Part(start=request.start, until=request.until)
        exists = lambda path: bool(world.look("exists", path))  # noqa: E731 - three words
        find = lambda name: named(plans, name)  # noqa: E731 - three words
        params = with_defaults(plans[about.flow], about.request.params)
        return preview(plans[about.flow], params, self._context(about, plans, ""), exists, find, wish)

    async def answer(self, id_: str, path: str, values: Mapping[str, Any]) -> bool:
        """Hand an answer to whoever drives the run. True: nobody does, so the caller should."""
        folder = self.attempt(id_)
        inbox = Inbox(folder)
        inbox.put(path, values)
        end = time.monotonic() + PATIENCE
        while lease.holder(os.path.dirname(folder)) is not None and time.monotonic() < end:
            if not inbox.holds(path):
                return False
            await asyncio.sleep(LOOK_AGAIN)
        return lease.holder(os.path.dirname(folder)) is None

    async def stop(self, id_: str) -> RunView:
        """End a run, and what it started. It can be resumed."""
        folder = self.attempt(id_)
        engine = self.engine(id_, read_about(folder), folder)
        engine.recall()
        if engine.state.status in ("completed", "stopped", "cancelled"):
            raise RefusedError(f"run `{id_}` is {engine.state.status} already", f"`handrail log {id_}` shows it")
        engine.inbox.wish_to_stop()
        end = time.monotonic() + PATIENCE
        while lease.holder(os.path.dirname(folder)) is not None:
            if time.monotonic() > end:
                raise RefusedError(f"run `{id_}` has not ended yet", "it ends when its step lets go; look again")
            await asyncio.sleep(LOOK_AGAIN)
        with engine.held():
            if engine.memory.is_empty:
                about = read_about(folder)
                _say_begun(engine, about, self.plans(about)[about.flow])
            engine.programs.end(id_)
            if engine.state.status != "cancelled":
                engine.record(machine.RunEnded("cancelled", None, "stopped by a person", None))
            engine.inbox.forget_stop()
        return self.view(id_)

    def view(self, id_: str) -> RunView:
        folder = self.attempt(id_)
        about = read_about(folder)
        plans = self.plans(about)
        records = self.records(id_)
        state = machine.fold(event for _, event in records)
        if not records:
            state.status = "running"
        engine = self.engine(id_, about, folder)
        driver = lease.holder(os.path.dirname(folder))
        number = int(os.path.basename(folder))
        seconds = seconds_of(records)
        find = lambda name: named(plans, name)  # noqa: E731 - three words
        return RunView(
            id=id_,
            plan=plans[about.flow],
            find=find,
            state=state,
            seconds=seconds,
            value=engine.payloads.value,
            driver=driver,
            attempt=number,
        )

    def records(self, id_: str, after: int = 0) -> list[tuple[float, Event]]:
        """(time, event) of everything that happened, behind the first so many."""
        scan = journal.read(os.path.join(self.attempt(id_), "journal"))
        found = [(data["t"], machine.event_from_json(data)) for r in scan.records for data in r["events"]]
        return found[after:]


def _route(request: Request, group: str | None, own: tuple[str | None, str | None]) -> Route | None:
    """The agent that work is given to, as it was settled when the run began."""
    return choose(Asked(request.agent, request.model, request.routes), request.table, group, own)


def _with_task(plan: FlowPlan, request: Request) -> dict[str, Any]:
    """The task that a person typed is the parameter `task`, where the flow takes one."""
    if not request.task or "task" in request.params:
        return request.params
    if plan.params is None or any(param.name == "task" for param in plan.params):
        return {**request.params, "task": request.task}
    raise UsageError(f"flow `{plan.id}` takes no task", "declare `params: {task: {required: true}}` in the flow")


def _refuse_phases(plan: FlowPlan, request: Request) -> None:
    ids = [phase.id for phase in plan.phases]
    for id_ in (request.start, request.until):
        if id_ is not None and id_ not in ids:
            hint = did_you_mean(id_, ids) or f"its phases: {', '.join(ids[:12])}"
            raise UsageError(f"flow `{plan.id}` has no phase `{id_}`", hint)
    if request.start and request.until and ids.index(request.until) < ids.index(request.start):
        raise UsageError(f"`--until {request.until}` comes before `--from {request.start}`, so nothing would be done")


def _begin_life(engine: Run, about: About, plan: FlowPlan, mode: str) -> None:
    """Say that the run begins, or goes on; refuse what is not possible now."""
    run, state = engine.context.run, engine.state
    if engine.memory.is_empty:
        return _say_begun(engine, about, plan)
    if mode == "run":
        raise RefusedError(f"run `{run}` is {state.status} already", f"`handrail resume {run}` goes on with it")
    if mode == "continue":
        return engine.record(machine.RunResumed(mode, rewound(run, state, plan), None))
    rest = is_partial(state, plan)
    if state.status in ("completed", "stopped") and not rest:
        how = f"`handrail continue {run}` goes on, " if plan.again else ""
        raise RefusedError(f"run `{run}` is {state.status} already", f"{how}`handrail restart {run}` begins anew")
    return engine.record(machine.RunResumed(mode, [], None if rest else state.until), durable=False)


def _say_begun(engine: Run, about: About, plan: FlowPlan) -> None:
    engine.record(machine.RunStarted(plan.id, about.digest, about.request.until), durable=False)
    ids = [phase.id for phase in plan.phases]
    before = ids[: ids.index(about.request.start)] if about.request.start else []
    for phase in plan.phases[: len(before)]:
        engine.note(machine.PhaseSkipped(segment(phase.id), "the run starts with a later phase"))


async def _watched(engine: Run, interpret: Callable[[], Any]) -> Event:
    """How the run ended, or that it waits. A person's wish to stop is noticed within a moment."""
    while True:
        task = asyncio.ensure_future(interpret())
        watch = asyncio.ensure_future(_stop_when_wished(engine, task))
        try:
            return _ended(await task)
        except Waiting as waiting:
            if not any(engine.inbox.holds(path) for path in engine.state.questions):
                return machine.RunParked(waiting.path, waiting.reason)
        except FlowFailed as error:
            return machine.RunEnded("failed", None, f"{error.code} at {error.path}", error.message)
        except (NodeError, Unresolved) as error:
            return machine.RunEnded("failed", None, error.code, error.message)
        except asyncio.CancelledError:
            if engine.inbox.is_to_stop():
                return machine.RunEnded("cancelled", None, "stopped by a person", None)
            engine.record(machine.RunEnded("cancelled", None, "interrupted", None))
            raise
        finally:
            watch.cancel()


async def _stop_when_wished(engine: Run, task: asyncio.Future[Any]) -> None:
    while not engine.inbox.is_to_stop():
        await asyncio.sleep(LOOK_AGAIN)
    task.cancel()


def _ended(ended: Ended) -> machine.RunEnded:
    if ended.stopped_by is not None:
        status = "completed" if ended.outcome == "success" else "stopped"
        return machine.RunEnded(status, ended.outcome, f"Stopped by {ended.stopped_by}", None)
    reason = "ended before its last phase, as asked" if ended.is_partial else None
    return machine.RunEnded("completed", "success", reason, None)
