"""The composition root: the functions that every surface calls. Builds things once and passes them on.

What a command does not use is not imported: definitions and runs cost several times Python's own start, and most
command lines ask only where a session stands.
"""

from __future__ import annotations

import os
import sys
import time
from functools import cached_property

import handrail
from handrail.errors import NotFound, RefusedError, StateError
from handrail.project import Places, flow_roots, workflow_roots
from handrail.sessions import links, machine
from handrail.sessions import words as prompts
from handrail.sessions.gate import undecided, verdict
from handrail.sessions.machine import Cancel, Decision, Loop, Next, Refusal, Reload, Result, Start, State
from handrail.sessions.report import View, in_words, message_of
from handrail.sessions.store import Outcome, Session, Snapshot, exclusive, sessions_in
from handrail.source.suggest import did_you_mean, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from handrail.contracts import CheckContext, Stubs
    from handrail.flows.catalog import FlowCatalog, FoundFlow
    from handrail.runs.runs import Runs
    from handrail.settings import Settings
    from handrail.source.diagnostics import Diagnostic
    from handrail.workflows.catalog import Catalog
    from handrail.workflows.plan import Check, Plan
    from handrail.workflows.spec import WorkflowSpec

    CheckShown = Callable[[Check], None]


class App:
    """Handrail in one project, for one user."""

    def __init__(
        self,
        project: str,
        env: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        token: Callable[[], str] | None = None,
    ) -> None:
        self.project = os.path.realpath(project)
        self.env = env
        self.clock = clock
        self.token = token or random_token
        self.places = Places(env)

    @cached_property
    def catalog(self) -> Catalog:
        from handrail.workflows.cache import CatalogCache
        from handrail.workflows.catalog import read_catalog

        memory = CatalogCache(self.places.cache, time.time_ns)
        catalog = read_catalog(workflow_roots(self.project, self.places), memory)
        memory.save()
        return catalog

    @cached_property
    def flows(self) -> FlowCatalog:
        from handrail.flows.catalog import read_flows
        from handrail.flows.known import known_in

        return read_flows(flow_roots(self.project, self.places), known_in(self.project))

    @cached_property
    def runs(self) -> Runs:
        from handrail.runs.runs import Runs
        from handrail.sessions.guide import SessionGuide

        runs = Runs(self.project, self.places, self.env, self.clock)
        runs.settings = self.settings
        runs.guide = SessionGuide(self._begin_for, self._standing, self.settings.idle_stops, self.stubs())
        return runs

    def flow_named(self, name: str) -> FoundFlow:
        """What `run` means by a name: a flow, else a workflow that is driven headless; `workflow:NAME` insists."""
        wanted = name.removeprefix("workflow:")
        if wanted == name and (name in self.flows.flows or self.flows.named(name) is not None):
            return self.flows.find(name)
        specs = {key for spec in self.catalog.workflows.values() for key in (spec.key, spec.command)}
        if wanted == name and wanted not in specs:
            return self.flows.find(name)
        from handrail.flows.known import known_in
        from handrail.runs.headless import workflow_as_flow

        return workflow_as_flow(self.catalog.find(wanted), known_in())

    def preset(self, name: str) -> dict[str, str]:
        found = self.settings.presets.get(name)
        if found is None:
            hint = did_you_mean(name, self.settings.presets) or "presets stand in settings.yaml"
            raise NotFound(f"there is no preset `{name}`", hint)
        return found

    def _begin_for(self, workflow: str, task: str, id_: str, host: tuple[str, str] | None) -> View:
        return self.start(workflow, task, id_, replace=False, host=host)

    def _standing(self, id_: str) -> View | None:
        session = self.session(id_)
        return self._view(session, session.read()) if session.exists else None

    def stubs(self) -> Stubs:
        """How the stubs in a host call this very installation."""
        from handrail.contracts import Stubs

        hook = os.path.join(os.path.dirname(os.path.abspath(handrail.__file__)), "hook.py")
        call = (*time_limit(), sys.executable, "-I", "-S", hook)
        return Stubs(call, (sys.executable, "-I", "-m", "handrail"), handrail.__version__)

    @cached_property
    def _settings(self) -> tuple[Settings, list[Diagnostic]]:
        from handrail.settings import read_settings

        return read_settings(self.places.config, self.project)

    @property
    def settings(self) -> Settings:
        return self._settings[0]

    @property
    def problems(self) -> list[Diagnostic]:
        return [*self.catalog.problems, *self.flows.problems, *self._settings[1]]

    def validate(self, paths: list[str]) -> list[Diagnostic]:
        """The problems of the definitions at these paths, which may use all others."""
        from handrail.flows.catalog import is_flow_file, problems_at
        from handrail.flows.known import known_in
        from handrail.workflows.catalog import read_given

        flows = [path for path in paths if is_flow_file(path)]
        workflows = [path for path in paths if path not in flows]
        found = list(read_given(workflows, self.catalog).problems) if workflows else []
        return found + problems_at(flows, self.flows, known_in(self.project))

    def session(self, id_: str) -> Session:
        return Session(self.places.session(self.project, id_), self.project, id_, self.clock)

    def sessions(self) -> list[Session]:
        return sessions_in(self.places.sessions(self.project), self.clock)

    def views(self) -> list[View]:
        """Every session of the project; one that cannot be read is shown with what is wrong."""
        views: list[View] = []
        for session in self.sessions():
            try:
                views.append(self._view(session, session.read()))
            except StateError as error:
                views.append(
                    View(
                        session=session.id,
                        plan=None,
                        state=State(),
                        message=error.message,
                        refusal=Refusal(error.code, error.message),
                    )
                )
        return views

    def _view(self, session: Session, known: Snapshot) -> View:
        plan = session.pinned(known.state)
        message = prompts.status(plan, known.state, in_words(known.state.started)) if plan else ""
        return View(session=session.id, plan=plan, state=known.state, message=message)

    def active(self) -> list[View]:
        return [view for view in self.views() if view.state.is_active]

    def choose(self, id_: str | None) -> Session:
        """The session that is meant: the one that is named, else the only active one."""
        if id_ is not None:
            session = self.session(id_)
            if not session.exists:
                close = nearest(id_, [s.id for s in self.sessions()])
                hint = f"did you mean `{close[0]}`?" if close else "`handrail sessions` lists them"
                raise NotFound(f"there is no session `{id_}` in this project", hint)
            return session
        return self._chosen(self._open())

    def _open(self) -> list[View]:
        """Sessions that are active, or of which nobody can say: those count as active."""
        return [view for view in self.views() if view.state.is_active or view.refusal]

    def _chosen(self, views: list[View]) -> Session:
        if len(views) == 1:
            return self.session(views[0].session)
        if not views:
            raise NotFound("no workflow is active in this project", "start one: `handrail start NAME TASK`")
        names = ", ".join(f"`{view.session}` ({view.status_line or 'cannot be read'})" for view in views)
        raise RefusedError(f"{len(views)} sessions are active: {names}", "name one with `--session ID`")

    def start(
        self, name: str, task: str, id_: str | None, *, replace: bool, host: tuple[str, str] | None = None
    ) -> View:
        """Begin a workflow in a new session, or in one that has none active. `host`: (agent, conversation)."""
        spec = self.catalog.find(name)
        if not spec.is_visible:
            message = f"`{spec.key}` only runs inside other workflows"
            raise RefusedError(message, "`handrail list` shows what can be started")
        plan = self.catalog.plan(spec)
        with exclusive(self.places.sessions(self.project)):
            return self._start(spec, plan, task, id_, replace=replace, host=host)

    def _start(
        self, spec: WorkflowSpec, plan: Plan, task: str, id_: str | None, *, replace: bool, host: tuple[str, str] | None
    ) -> View:
        session = self.choose(None) if id_ is None and self._open() else self.session(id_ or f"s-{self.token()}")
        if not replace and session.exists and session.read().state.is_active:
            raise self._busy(session)
        now = self.clock()
        session.describe(links.path(self.places, *host) if host else session.link())
        digest = session.pin(plan)
        task_id = f"wf-{int(now * 1000)}-{self.token()}"
        outcome = session.do(Start(digest, task, task_id, now, replace, self.settings.idle_stops))
        if outcome.decision.refusal:
            raise self._busy(session)
        message = prompts.initial_message(plan, outcome.after)
        return View(session=session.id, plan=plan, state=outcome.after, message=message, notices=self._notices(spec))

    def _busy(self, session: Session) -> RefusedError:
        view = self._view(session, session.read())
        message = f"session `{session.id}` is busy: {view.status_line}"
        return RefusedError(message, "finish it, `handrail cancel` it, or start with `--replace`")

    def _notices(self, spec: WorkflowSpec) -> tuple[str, ...]:
        """What a person has to know who started this: nearer definitions of the same key are broken."""
        source = self.catalog.source_of(spec)
        broken = self.catalog.passed_over(spec)
        return tuple(f"`{found.file}` has errors; using `{spec.key}` from {source} instead" for found in broken)

    def status(self, id_: str | None) -> View:
        session = self.choose(id_)
        return self._view(session, session.read())

    async def next(self, id_: str | None, summary: str, shown: CheckShown | None = None) -> View:
        """Leave the current phase, if its exit checks hold. They run here, now, outside the session's lock."""
        from handrail.secrets import Redactor

        session = self.choose(id_)
        known = session.read().state
        plan = session.pinned(known)
        results = await self._check(plan.stops[known.at].checks, shown) if plan and known.is_active else ()
        outcome = session.do(
            Next(Redactor(self.env).text(summary), results), lambda state: _moved_meanwhile(known, state)
        )
        return self._answer(session, outcome, results)

    async def _check(self, checks: tuple[Check, ...], shown: CheckShown | None) -> tuple[Result, ...]:
        from handrail.contracts import CheckContext

        context = CheckContext(self.project, self.env)
        return tuple([await _run_check(check, context, shown) for check in checks])

    def loop(self, id_: str | None) -> View:
        session = self.choose(id_)
        return self._answer(session, session.do(Loop()))

    def cancel(self, id_: str | None, *, confirmed: bool, reason: str = "") -> View:
        """Give up the workflow. A person's word also frees a session whose files are damaged."""
        if confirmed and id_ is not None and self._free_orphan(id_):
            message = f"The files of session `{id_}` are missing; the conversation is free."
            return View(session=id_, plan=None, state=State("cancelled"), message=message)
        session = self.choose(id_)
        try:
            view = self._answer(session, session.do(Cancel(confirmed, reason)))
            if confirmed and view.refusal is None:
                session.do(machine.Tell())
            return view
        except StateError as error:
            if not confirmed or error.code == "busy":
                raise
            aside = session.put_aside()
            message = f"The session could not be read ({error.message}); it was put aside as `{aside}` and is free."
            return View(session=session.id, plan=None, state=State("cancelled"), message=message)

    def _free_orphan(self, id_: str) -> bool:
        """Take away the link of a host's conversation whose session is gone."""
        from handrail import registry

        agent, _, conversation = id_.partition("-")
        link = links.path(self.places, agent, conversation)
        if agent not in registry.INSTALLS or self.session(id_).exists or not os.path.lexists(link):
            return False
        links.remove(link)
        return True

    def reload(self, id_: str | None) -> View:
        """Go on with the files as they are now, at the same phase."""
        session = self.choose(id_)
        state = session.read().state
        plan = session.plan(state.plan)
        if plan is None:
            raise RefusedError("no workflow is active in this session")
        new = self.catalog.plan(self.catalog.find(plan.key))
        outcome = session.do(Reload(session.pin(new), new))
        return self._answer(session, outcome)

    def _answer(self, session: Session, outcome: Outcome, results: tuple[Result, ...] = ()) -> View:
        plan = session.plan(outcome.after.plan)
        message = message_of(outcome, plan, results)
        return View(
            session=session.id,
            plan=plan,
            state=outcome.after,
            message=message,
            refusal=outcome.decision.refusal,
            results=results,
        )

    def gate(self, tool: str, id_: str | None, aliases: tuple[str, ...] = ()) -> dict[str, Any]:
        """The verdict about one tool call. Closed when it cannot be decided, open when nothing is active."""
        if id_ is None and not self._open():
            return verdict(None, tool, aliases)
        session = self.session(id_) if id_ is not None else self._chosen(self._open())
        try:
            return verdict(session.card().get("gate"), tool, aliases)
        except StateError as error:
            return undecided(tool, error.message, session.id, aliases)

    def context(self, id_: str | None) -> str:
        session = self.choose(id_)
        text = session.card().get("context")
        if text is None:
            raise RefusedError(
                f"no workflow is active in session `{session.id}`", "start one: `handrail start NAME TASK`"
            )
        return str(text)


async def _run_check(check: Check, context: CheckContext, shown: CheckShown | None) -> Result:
    from handrail import registry

    if shown:
        shown(check)
    begin = time.monotonic()
    verify: Callable[..., Awaitable[Any]] = registry.check_kind(check.kind).verify
    finding = await verify(check.params, context)
    return Result(check.name, check.kind, finding.held, finding.detail, round(time.monotonic() - begin, 3))


def _moved_meanwhile(known: State, found: State) -> Decision | None:
    """Results of checks are good for the stop they were run at and for no other."""
    if (known.at, known.steps, known.plan, known.task_id) == (found.at, found.steps, found.plan, found.task_id):
        return None
    withdrawn = (machine.CancelWithdrawn(found.at),) if found.cancel_asked else ()
    return Decision(
        withdrawn, Refusal("moved-meanwhile", "The session moved meanwhile. Look at its status, then decide again.")
    )


def time_limit() -> tuple[str, ...]:
    """A command prefix that ends what takes longer than ten seconds, as this machine has it."""
    import shutil

    for name in ("timeout", "gtimeout"):
        if path := shutil.which(name):
            return (path, "-k", "1", "10")
    perl = shutil.which("perl")
    return (perl, "-e", "alarm shift; exec @ARGV", "10") if perl else ()


def random_token() -> str:
    """Six characters that tell two sessions apart."""
    import secrets

    return "".join(secrets.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(6))
