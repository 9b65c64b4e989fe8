"""The runs of one project: begin, drive, answer and stop them, and load their state.

This module decides what runs may do. An engine stores and drives them. A yes to something that has changed since it
was asked is refused at once; the run looks again after each yes anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from handrail.base.dataclasses import replace
from handrail.base.errors import HandrailError, NotFound, RefusedError, StateError, UsageError
from handrail.driven.artifacts.project_files import ProjectFiles, Publisher
from handrail.driven.artifacts.shelf import Shelves
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.flows.load import flow_resources, load_flow
from handrail.driven.flows.plan import FlowPlan, step_at, with_nested_names
from handrail.driven.flows.preview import PreviewPart, PreviewRow, preview
from handrail.driven.flows.prompts import DEFAULT_LANGUAGE, PromptFile
from handrail.driven.flows.results import refuse_unlike_defaults, with_defaults
from handrail.driven.runs import run_events, run_rules
from handrail.driven.runs.agentweaver import implicit_params
from handrail.driven.runs.interpreter import Interpreter
from handrail.driven.runs.life import FlowLife, Meter, opening_events, recall, started_event, tree_of
from handrail.driven.runs.request import (
    LoadedRun,
    RunRequest,
    StoredRequest,
    about_from_text,
    needed_flows,
    plan_named,
    prompt_names,
    scope_of,
    shape_of,
    with_task,
)
from handrail.driven.runs.run_events import Cause, NodeStarted, Routed, RunChoice, agent_of
from handrail.driven.runs.state import Question, fold
from handrail.driven.runs.summary import APPROVED, kind_of_question, moment
from handrail.extensions.contracts import (
    ApprovalKind,
    Asker,
    Durable,
    Engine,
    EventRecord,
    Guide,
    History,
    NodeContext,
    NodeError,
    Observer,
    Outside,
    Site,
    Work,
)
from handrail.settings.folders import file_name
from handrail.settings.routes import parse_route, shipped_presets
from handrail.settings.secrets import refuse_lost
from handrail.settings.settings import Settings
from handrail.settings.trust import Trust
from handrail.source.definition_files import Source
from handrail.source.suggestions import nearest
from handrail.source.values import MAX_NESTING, Unresolved, is_too_deep

Plans = Mapping[str, FlowPlan]


class Runs:
    """The runs of one project. `engine` stores and drives them."""

    def __init__(self, site: Site, engine: Engine, settings: Settings, guide: Guide | None, trust: Trust) -> None:
        self.site = site
        self.registry = site.registry
        self.trust = trust
        self.engine = engine
        self.settings = settings
        self.guide = guide
        self.project = site.project
        self.secrets = site.known_secrets
        self.shelves = Shelves(os.path.join(site.state, "artifacts", file_name(site.project)))
        self._compiled: tuple[object, Plans] = (None, {})  # what the flows of the last loaded run were compiled from

    def named(self, name: str) -> str:
        """The id of the run that `name` refers to: an id, the beginning of an id, or `last`."""
        ids = self.engine.ids()
        if name == "last" and ids:
            return ids[-1]
        begins = [id_ for id_ in ids if id_.startswith(name)]
        return begins[0] if name not in ids and len(begins) == 1 else name

    def begin(self, catalog: FlowCatalog, flow: FoundFlow, request: RunRequest, id_: str) -> LoadedRun:
        """Store a new run. Nothing is run yet."""
        about, plans = self.check_request(catalog, flow, request)
        run_rules.refuse_missing_params(plans[about.flow], about.request, self.project)
        run_rules.refuse_missing_env(plans[about.flow], plans, self.site)
        self.refuse_without_agent(about, plans, about.request)
        return self._loaded_run(id_, about, plans, self.engine.begin(id_, about.to_text()))

    def load(self, id_: str, *, may_be_damaged: bool = False) -> LoadedRun:
        """A run with its current history; with `may_be_damaged`, what is readable of it."""
        with self._explain_unknown_run(id_):
            text, history = self.engine.load(id_, may_be_damaged=may_be_damaged)
        about = about_from_text(id_, text)
        return self._loaded_run(id_, about, self._plans(about), history)

    def with_new_events(self, run: LoadedRun) -> LoadedRun:
        """The same run with the events that were recorded since it was loaded."""
        records, offset = self.engine.events(run.id, run.history.offset)
        history = replace(run.history, records=[*run.records, *records], offset=offset, state=None)
        return run.with_history(replace(history, driver=self.engine.driver(run.id)))

    def events(self, id_: str, offset: int = 0) -> tuple[list[EventRecord], int]:
        """The events after an offset, as (time, event), and the offset for the next call."""
        with self._explain_unknown_run(id_):
            return self.engine.events(id_, offset)

    def attempts(self, id_: str) -> list[int]:
        with self._explain_unknown_run(id_):
            return self.engine.attempts(id_)

    def records(self, id_: str, attempt: int) -> list[EventRecord]:
        known = self.attempts(id_)
        if attempt not in known:
            raise NotFound(f"run `{id_}` has no attempt {attempt}", f"attempts: {', '.join(map(str, known))}")
        return self.engine.records(id_, attempt)

    def _loaded_run(self, id_: str, about: StoredRequest, plans: Plans, history: History) -> LoadedRun:
        payload = partial(self.engine.payload, id_)
        return LoadedRun(id=id_, about=about, plans=plans, history=history, payload=payload)

    @contextlib.contextmanager
    def _explain_unknown_run(self, id_: str) -> Iterator[None]:
        """Inside, an error of the engine about an unknown run says which runs there are."""
        try:
            yield
        except LookupError as error:
            ids = self.engine.ids()
            if not ids:
                raise NotFound(
                    "there are no runs in this project yet", "`handrail list` shows what can be run"
                ) from error
            close = nearest(id_, ids)
            hint = f"did you mean `{close[0]}`?" if close else "`handrail runs` lists them"
            raise NotFound(f"there is no run `{id_}` in this project", hint) from error

    def check_request(self, catalog: FlowCatalog, flow: FoundFlow, request: RunRequest) -> tuple[StoredRequest, Plans]:
        """The checked request of a run, and the flows that it needs."""
        assert flow.plan is not None
        try:
            params = with_task(flow.plan, request)
            with_defaults(flow.plan, params)
            refuse_unlike_defaults(flow.plan, params)
        except NodeError as error:
            if flow.source == "workflow" and not request.params:
                name = flow.plan.phases[0].id
                raise UsageError(f"workflow `{name}` needs a task", f"`handrail run {name} TASK`") from error
            raise UsageError(error.message, run_rules.hint_for_params(flow.plan, params)) from error
        run_rules.refuse_phases(flow.plan, request)
        self._refuse_agents(request.agent, request.routes)
        for name, value in params.items():
            if is_too_deep(value):
                raise UsageError(f"the param `{name}` is nested deeper than {MAX_NESTING} levels")
        scope = scope_of(request, self.project, self.secrets, is_foreign=flow.plan.is_foreign)
        table = {**self.table(flow.plan, None), **request.table}
        params, task = self.secrets.for_storage(params), self.secrets.for_storage(request.task)
        preset = request.preset or ""
        request = replace(request, params=params, task=task, scope=scope, table=table, preset=preset)
        flows = needed_flows(catalog, flow)
        texts = {id_: [needed.file, needed.text] for id_, needed in flows.items()}
        plans = {id_: needed.plan for id_, needed in flows.items() if needed.plan is not None}
        prompt_pairs = ((name, catalog.prompts[name]) for name in prompt_names(plans))
        prompts = {name: [prompt.file, prompt.text] for name, prompt in prompt_pairs}
        env = self.secrets.variables(_env_names(plans))
        folder = request.folder(self.project)
        implicit = implicit_params(flow.plan, request, self.site.env, folder) if flow.plan.is_foreign else {}
        stored: dict[str, Any] = {"env": env, "prompts": prompts, "implicit": implicit, "shape": shape_of(flow.plan)}
        names = {id_: dict(needed.names) for id_, needed in flows.items() if needed.names}
        return StoredRequest(flow.id, request, texts, self.site.clock(), names=names, **stored), plans

    def table(self, plan: FlowPlan, preset: str | None) -> dict[str, str]:
        """The routes of the current settings for a flow. Those for its id win over those for its other ids."""
        chosen = self.presets.get(preset or "", {})
        own = [self.settings.flows.get(id_, {}) for id_ in (*reversed(plan.also), plan.id)]
        return {**self.settings.routes, **{group: route for groups in own for group, route in groups.items()}, **chosen}

    def route_of(self, plan: FlowPlan, group: str, choice: RunChoice | None = None) -> str | None:
        """The agent and the model of a routing group of a flow, by a choice and the settings; None if there is none."""
        routing = Routed(None, None, {}, "", self.table(plan, choice.preset if choice is not None else None))
        route = agent_of(routing if choice is None else routing.with_choice(choice), group, (None, None))
        return None if route is None else str(route)

    @property
    def presets(self) -> dict[str, dict[str, str]]:
        return {**shipped_presets(), **self.settings.presets}

    def routing_for(self, run: LoadedRun, choice: RunChoice) -> Routed:
        """Which agent gets which step when a run is resumed: a new choice, and the settings as they are now."""
        self._refuse_agents(choice.agent, choice.routes)
        routing = run.routing.with_choice(choice)
        kept = {} if routing.preset == "" or routing.preset in self.presets else routing.table
        return replace(routing, table={**kept, **self.table(run.plan, routing.preset)})

    def refuse_without_agent(self, about: StoredRequest, plans: Plans, request: RunRequest) -> None:
        """Raise an error if a step that will certainly run has no agent, or one is of a plugin that cannot be used."""
        run_rules.refuse_unusable(plans.values(), self.registry)
        route = partial(agent_of, request.routing)
        rules = run_rules.AgentRules(route, self.settings.acp, self.registry, self.site.env)
        plan = plans[about.flow]
        run_rules.refuse_without_agent(plan, request.phases(plan), partial(plan_named, plans), rules)

    def _refuse_agents(self, agent: str | None, routes: Mapping[str, str]) -> None:
        """Refuse unknown agents on the command line. Those in the settings are checked for the steps that need them."""
        for name in [agent, *(parse_route(route).agent for route in routes.values())]:
            if name is not None and not self.registry.has_executor(name):
                raise UsageError(f"there is no agent `{name}`", self.registry.executor_hint(name))

    def _plans(self, about: StoredRequest) -> Plans:
        """The flows, compiled from the texts that were stored when the run began. Schemas may have changed since.

        They are compiled once, as long as the same run is loaded again, or one with the same texts and plugins.
        """
        texts = (about.flow, about.flows, about.prompts, about.names, self.registry.version())
        if self._compiled[0] == texts:
            return self._compiled[1]
        prompts = {name: PromptFile("run", file, text) for name, (file, text) in about.prompts.items()}
        known = replace(flow_resources(self.registry, prompts=prompts), schemas=frozenset())
        plans: dict[str, FlowPlan] = {}
        for id_, (file, text) in about.flows.items():
            plan, _ = load_flow(Source(file, text), id_, known)
            if plan is not None:
                plans[id_] = with_nested_names(plan, about.names.get(id_, {}))
        if about.flow not in plans:
            raise StateError(f"the flow `{about.flow}` of this run cannot be read by this version")
        self._compiled = (texts, plans)
        return plans

    def outside(
        self,
        run: LoadedRun,
        observer: Observer | None = None,
        asker: Asker | None = None,
        routed: Routed | None = None,
        meter: Meter | None = None,
        approve: Sequence[str] = (),
    ) -> Outside:
        """What an engine needs to run the steps of a run. `approve` are further effects of `--approve`."""
        request, routing = run.about.request, routed or run.routing
        context = NodeContext(
            project=request.folder(self.project),
            definitions=self.project,
            env=self.site.env,
            run=run.id,
            scope=request.scope,
            route=partial(agent_of, routing),
            pass_env=self.settings.pass_env,
            acp=self.settings.acp,
            check=self.settings.check,
            secrets=self.site.secrets,
            guide=self.guide,
            rules=(*run.permits.with_more(approve).rules, *self.settings.approve),
            keeps_logins=self.settings.agent_logins,
            registry=self.registry,
        )
        return Outside(
            nodes=self.registry.nodes(),
            context=context,
            publisher=self.publisher(context),
            observer=observer,
            asker=asker,
            meter=meter,
            by=self.site.by,
        )

    def publisher(self, context: NodeContext) -> Publisher:
        return Publisher(context, self.shelves.folder_of(context.scope), self.site.clock)

    async def drive(
        self,
        run: LoadedRun,
        mode: Cause = "resume",
        observer: Observer | None = None,
        asker: Asker | None = None,
        choice: RunChoice | None = None,
    ) -> LoadedRun:
        """Drive a run until it ends or waits for a person. Finished work is not done again.

        If it is resumed, the settings are read again, and other agents and bounds than before are recorded.
        """
        run_rules.refuse_unusable(run.plans.values(), self.registry)
        choice = choice or RunChoice()
        routing = self.routing_for(run, choice) if run.records else run.routing
        bounds = run.bounds.with_later(choice.bounds)
        permits = run.permits.with_more(choice.approve)
        pairs = ((routing, run.routing), (bounds, run.bounds), (permits, run.permits))
        news: list[run_events.Event] = [new for new, old in pairs if new != old]
        later = {**run.state.params, **self._checked_params(run, choice.params)}
        news += [run_events.ParamsChanged(later)] if later != run.state.params else []
        state = run.state if run.records else fold([(0.0, started_event(run.about, self.site.by))])
        usages = (usage for reports in state.usage.values() for usage in reports)
        meter = Meter(bounds, usages, state.clock.seconds)
        life = FlowLife(run, mode, self.site, partial(self.interpreter, run, later=later), news, meter)
        life.tree = tree_of(run, self.site, self.settings.pass_env)
        outside = self.outside(run, observer, asker, routing, meter, choice.approve)
        is_unattended = run.about.request.unattended and not choice.is_attended
        outside = replace(outside, is_attended=choice.is_attended, is_unattended=is_unattended)
        outside = replace(outside, ended_by=choice.ended_by)
        with run_rules.require_trust(self.trust, run, mode, self.engine):
            return run.with_history(await self.engine.drive(run.id, life, outside))

    def interpreter(self, run: LoadedRun, durable: Durable, *, later: Mapping[str, Any] | None = None) -> Interpreter:
        """An interpreter with the params and the context of the run. `later` are the params of a person's last word."""
        interpreter = Interpreter(durable, run.plan, run.find, same=self.settings.same_failures)
        params = self._params(run.about, run.plan, run.state.params if later is None else later)
        interpreter.prepare(params, self._context(run.about, run.plans, run.id))
        return interpreter

    def _params(self, about: StoredRequest, plan: FlowPlan, later: Mapping[str, Any]) -> dict[str, Any]:
        given = self.secrets.from_storage({**about.request.params, **later})
        return with_defaults(plan, {**about.implicit, **given})

    def _checked_params(self, run: LoadedRun, params: Mapping[str, Any]) -> dict[str, Any]:
        """Params that a person gives to a run that has begun, in their stored form."""
        if not params:
            return {}
        try:
            declared = with_defaults(run.plan, {**self.secrets.from_storage(run.params), **params})
            refuse_unlike_defaults(run.plan, params)
        except NodeError as error:
            raise UsageError(error.message, run_rules.hint_for_params(run.plan, params)) from error
        stored: dict[str, Any] = self.secrets.for_storage({name: declared[name] for name in params})
        return stored

    def _context(self, about: StoredRequest, plans: Plans, run: str) -> dict[str, Any]:
        """The value of `context` in expressions, as it was when the attempt was stored.

        `env` has only the variables that the flows name. A secret among them has the value that it has now.
        """
        request = about.request
        env = self.secrets.variables(_env_names(plans)) if about.env is None else about.env
        return {
            **({"run": run, "started": moment(about.created)} if run else {}),
            "cwd": request.folder(self.project),
            "project": request.folder(self.project),
            "scope": request.scope,
            "task": self.secrets.from_storage(request.task),
            "taskKey": request.scope,
            "issueKey": request.scope,
            "agent": request.agent,
            "model": request.model,
            "dryRun": not run,
            "mdLang": request.lang or DEFAULT_LANGUAGE,
            "language": request.lang,
            "jiraRef": about.implicit.get("jiraRef"),
            "verbose": False,
            "executionRouting": about.implicit.get("executionRouting"),
            "env": self.secrets.from_storage(env),
        }

    def preview(self, catalog: FlowCatalog, flow: FoundFlow, request: RunRequest) -> list[PreviewRow]:
        """What a run would do. Runs no step and writes no file."""
        about, plans = self.check_request(catalog, flow, request)
        run_rules.refuse_missing_env(plans[about.flow], plans, self.site)
        world, part = ProjectFiles(self.project), PreviewPart(start=request.start, until=request.until)
        exists = lambda path: bool(world.look("exists", path))  # noqa: E731 - three words
        find = partial(plan_named, plans)
        plan = plans[about.flow]
        rows = preview(plan, self._params(about, plan, {}), self._context(about, plans, ""), exists, find, part)
        rows = [self._with_agent(row, about.request.routing) for row in rows]
        return [replace(row, **self.secrets.for_people(vars(row))) for row in rows] if self.secrets else rows

    def _with_agent(self, row: PreviewRow, routing: Routed) -> PreviewRow:
        """The row with the agent and the model that its step would get. An agent of its own may not be known yet."""
        kind = self.registry.nodes().get(row.node or "")
        if kind is None or not kind.NODE.calls_agent or row.verdict == "skipped" or "executor" in row.unknown:
            return row
        model = None if "model" in row.unknown else row.params.get("model")
        route = agent_of(routing, row.group, (kind.NODE.agent or row.params.get("executor") or None, model or None))
        return replace(row, agent="not chosen: `--agent NAME`" if route is None else str(route))

    async def answer(self, run: LoadedRun, question: str, values: Mapping[str, Any], surface: str = "cli") -> bool:
        """Store the answer to an open question. True if the run has no driver, so the caller has to drive it."""
        run_rules.refuse_unless_waiting(run.id, run.state, is_driven=run.driver is not None)
        run_rules.open_question(run.id, run.state, question)
        return await self.engine.answer(run.id, question, values, self.site.by, surface)

    def notice(self, id_: str, text: str) -> None:
        """Record something that people should know about a run. It does not change the run."""
        with self._explain_unknown_run(id_):
            asyncio.run(self.engine.notice(id_, text))

    async def stop(self, run: LoadedRun) -> LoadedRun:
        """Stop a run and every process that it started. It can be resumed."""
        status = run.state.status
        if status in ("completed", "stopped", "cancelled"):
            raise RefusedError(f"run `{run.id}` is already {status}", f"`handrail log {run.id}` shows what happened")
        by = self.site.by
        return run.with_history(await self.engine.stop(run.id, opening_events(run.about, run.plan, by), by))


def _env_names(plans: Plans) -> list[str]:
    """The environment variables that the flows name."""
    return sorted({name for plan in plans.values() for name in plan.env})


class ChangedError(RefusedError):
    """What an approval is about has changed since it was asked. `can_ask_again`: the run can show what it is now."""

    def __init__(self, message: str, hint: str, *, can_ask_again: bool) -> None:
        super().__init__(message, hint)
        self.can_ask_again = can_ask_again


async def refuse_changed(runs: Runs, run: LoadedRun, question: Question, values: Mapping[str, Any]) -> None:
    """Raise `ChangedError` for a yes to something that has changed since. A no always counts.

    If the look fails for another reason, such as a service that does not answer, the run has to find out.
    """
    if kind_of_question(question.question) != "approval" or values.get(APPROVED) is not True:
        return
    kind = runs.registry.nodes().get(str(question.question.get("formId")))
    work = _asked_work(runs, run, question)
    if kind is None or getattr(kind, "changed", None) is None or work is None:
        return
    context = await asyncio.to_thread(_recalling_context, runs, run, question.path)
    try:
        names = await cast(ApprovalKind, kind).changed(work, context)
    except NodeError as error:
        if error.transient:
            return
        hint = "undo that and answer again, or say no"
        raise ChangedError(f"a yes is not possible now: {error.message}", hint, can_ask_again=False) from error
    except (OSError, HandrailError):
        return
    if names:
        name_list = ", ".join(f"`{name}`" for name in names)
        message = f"{name_list} changed after this was asked, so the yes does not count"
        raise ChangedError(message, "read what is asked now, then answer again", can_ask_again=True)


def _asked_work(runs: Runs, run: LoadedRun, question: Question) -> Work | None:
    """The work of the step that asks, as it was started. None if that is not recorded, or a secret in it is not set.

    None also for a form of another node that only looks like an approval.
    """
    node, step = str(question.question["formId"]), step_at(run.plan, question.path, run.find)
    if step is not None and step.node != node:
        return None
    starts = [event for _, event in run.records if isinstance(event, NodeStarted) and event.path == question.path]
    if not starts:
        return None
    last = starts[-1]
    try:
        inputs = last.given if last.payload is None else run.payload(last.payload)
        params = runs.secrets.from_storage(inputs or {}).get("params")
        refuse_lost(params)
    except (HandrailError, Unresolved):
        return None
    if not isinstance(params, dict):
        return None
    return Work(path=question.path, node=node, params=params, prompt=None, own_checks=False, timeout=None)


def _recalling_context(runs: Runs, run: LoadedRun, path: str) -> NodeContext:
    """The context of a step that recalls what it recorded, and records nothing."""
    recalls = partial(recall, run.state, runs.secrets, path)
    remember = lambda name, value: value if (recalled_value := recalls(name)) is None else recalled_value  # noqa: E731 - one line
    return replace(runs.outside(run).context, recall=recalls, remember=remember)
