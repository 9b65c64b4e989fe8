"""The composition root: builds each part once and passes it on. Every surface calls these methods.

Modules are imported when they are used. Importing definitions and runs takes several times as long as starting Python,
and most commands need only the state of a session.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from functools import cached_property

import handrail
from handrail.base.errors import HandrailError, NotFound, RefusedError
from handrail.settings.folders import UserFolders, has_settings, random_token, shown_path
from handrail.settings.trust import Trust, without_trust_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
    from handrail.driven.runs.runs import Runs
    from handrail.driven.worktrees.project_worktrees import Worktrees
    from handrail.extensions.callers import Caller
    from handrail.extensions.contracts import Stubs
    from handrail.extensions.registry import Registry
    from handrail.guided.sessions.exit_checks import OnCheck
    from handrail.guided.sessions.sessions import Conversation, Leaving, Sessions
    from handrail.guided.sessions.store import Session, SessionReport
    from handrail.guided.workflows.catalog import Catalog
    from handrail.guided.workflows.spec import WorkflowSpec
    from handrail.project.definitions import Definitions
    from handrail.project.prune import Pruned, PruneRule
    from handrail.project.scopes import Scopes
    from handrail.project.validation import CheckedDefinitions
    from handrail.settings.secrets import SecretRules, Secrets
    from handrail.settings.settings import Settings
    from handrail.source.diagnostics import Diagnostic


class App:
    """Handrail in one project, for one user. `folder` is where the person stands, if that is a worktree of a run."""

    def __init__(
        self,
        project: str,
        env: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        token: Callable[[], str] = random_token,
        by: str | None = None,
        folder: str | None = None,
    ) -> None:
        self.project = os.path.realpath(project)
        self.folder = self.project if folder is None else os.path.realpath(folder)
        self.env = without_trust_variable(env)
        self.clock = clock
        self.token = token
        self.places = UserFolders(env)
        self.trust = Trust(self.places.state, self.project)
        self._by = by

    @cached_property
    def registry(self) -> Registry:
        from handrail.extensions.registry import Registry

        return Registry(lambda: self.definitions.plugins)

    @cached_property
    def caller(self) -> Caller:
        """Who calls this process, or whoever the caller of this class says."""
        from handrail.extensions.callers import Caller, ancestors, find_caller, has_terminal

        if self._by is not None:
            return Caller(self._by)
        return find_caller(self.env, ancestors(os.getpid()), self.registry.signs(), has_terminal=has_terminal())

    @property
    def is_leashed(self) -> bool:
        """True if an agent calls, and may not run commands that loosen its leash."""
        from handrail.extensions.callers import is_leashed

        return is_leashed(self.caller, self.places.state)

    def refuse_agents(self, command: str, *, session: str | None = None, run: str | None = None) -> None:
        """Raise `RefusedError` if an agent calls a command that loosens its leash. The person is told of it."""
        from handrail.extensions.callers import refusal
        from handrail.extensions.registry import built_in_hosts

        if not self.is_leashed:
            return self._ask_in_conversation(command, session) if run is None else None
        by = self.caller.by
        with contextlib.suppress(HandrailError):
            if run is not None:
                self.runs.notice(run, f"an agent tried `handrail {command}`; only a person may run it ({by})")
            else:
                link = self.link_of(session) if session is not None else None
                self.sessions_at(link).note_refused(session, f"handrail {command}")
        agent = by.removeprefix("agent:")
        cancel = self.registry.host(agent).COMMANDS["cancel"] if agent in built_in_hosts() else None
        raise refusal(self.caller, command, cancel if command == "cancel" else None)

    def _ask_in_conversation(self, command: str, session: str | None) -> None:
        """Raise `RefusedError` if a terminal without a shell of a person moves a session of an agent's conversation.

        An agent can open such a terminal, for example a window of tmux. To cancel is asked in the conversation instead.
        """
        from handrail.extensions.callers import OPEN
        from handrail.guided.sessions.machine import Cancel

        if self.caller.by != "person" or self.caller.has_shell or os.path.exists(os.path.join(self.places.state, OPEN)):
            return
        sessions, agent = self.sessions_at(self.link_of(session) if session is not None else None), None
        with contextlib.suppress(HandrailError):
            agent = sessions.choose(session).about().agent
            if agent is not None and command == "cancel":
                reason = "`handrail cancel` was run in a terminal without a shell"
                sessions.ask_person(session, Cancel(False, reason, by_agent=True))
        if agent is not None:
            message = f"`handrail {command}` was run in a terminal without a shell, so it may not be from a person"
            also = f", or answer in the conversation of `{agent}`" if command == "cancel" else ""
            raise RefusedError(message, f"run it in a shell of yours{also}")

    def refuse_agents_with_tool(self, command: str, session: Session) -> None:
        """Raise `RefusedError` if an agent moves a session in a shell, although its host has the tool for that.

        The tool says who calls, so that no subagent and no program of the agent moves the workflow.
        """
        if self.is_leashed and session.about().link is not None:
            from handrail.guided.sessions.machine import CommandRefused

            session.do(CommandRefused(f"handrail {command}"))
            message = f"an agent does not run `handrail {command}` in a shell: {self.caller.sign}"
            raise RefusedError(message, f'call the tool `{handrail.STEP_TOOL}` with the action "{command}"')

    @cached_property
    def definitions(self) -> Definitions:
        from handrail.project.definitions import Definitions

        return Definitions(self.project, self.env, self.places, self.registry, lambda: self.trust.is_for_call)

    def forget_definitions(self) -> None:
        """Read all definitions again when they are needed next: their files have changed."""
        self.__dict__.pop("definitions", None)
        self.registry.forget()

    @property
    def catalog(self) -> Catalog:
        return self.definitions.catalog

    @property
    def flows(self) -> FlowCatalog:
        return self.definitions.flows

    @cached_property
    def sessions(self) -> Sessions:
        from handrail.guided.sessions.sessions import Sessions

        def practices(project: str, names: tuple[str, ...], task: str) -> str:
            from handrail.steps.playbook.guidance import practices_for  # needs a YAML parser

            return practices_for(project, names, task)

        return Sessions(self.project, self.env, self.clock, self.token, practices, lambda: self.caller.by)

    @cached_property
    def runs(self) -> Runs:
        from handrail.driven.runs.runs import Runs
        from handrail.extensions.contracts import Site
        from handrail.guided.sessions.guide import SessionGuide
        from handrail.source.suggestions import did_you_mean

        name, engines = self.settings.engine, self.registry.engines()
        if name not in engines:
            hint = did_you_mean(name, engines) or f"known: {', '.join(engines)}"
            raise NotFound(f"there is no engine `{name}`, which `settings.yaml` names", hint)
        site = Site(
            project=self.project,
            state=self.places.state,
            env=self.run_env,
            clock=self.clock,
            secrets=self._secret_rules,
            by=self.caller.by,
            registry=self.registry,
        )
        guide = SessionGuide(self.sessions, self.start, self.registry, self.settings.idle_stops, self.stubs)
        return Runs(site, self.registry.engine(name, site), self.settings, guide, self.trust)

    @cached_property
    def worktrees(self) -> Worktrees:
        from handrail.driven.worktrees.project_worktrees import Worktrees

        return Worktrees(self.places, self.project, self.folder, self.env, self.settings.worktree, self.clock)

    @cached_property
    def scopes(self) -> Scopes:
        from handrail.project.scopes import Scopes

        return Scopes(self.runs, self.places.state, self.run_env, self.folder)

    @cached_property
    def _env_files(self) -> tuple[dict[str, str], list[str]]:
        from handrail.settings.environment import with_env_files

        return with_env_files(self.env, self.places.home, self.project)

    @property
    def run_env(self) -> Mapping[str, str]:
        """The environment of runs: that of this process, and the variables of AgentWeaver's files."""
        return self._env_files[0]

    @cached_property
    def secrets(self) -> Secrets:
        """The secrets in the environment, by the rules of the settings."""
        from handrail.settings.secrets import Secrets

        return Secrets(self.run_env, self._secret_rules)

    @cached_property
    def _secret_rules(self) -> SecretRules:
        from handrail.settings.secrets import DEFAULT_RULES, SecretRules

        if not has_settings(self.places, self.project):
            return DEFAULT_RULES
        return SecretRules(self.settings.secrets, self.settings.not_secret)

    @property
    def stubs(self) -> Stubs:
        """The commands with which stubs call this installation."""
        from handrail.extensions.contracts.agent import Stubs

        hook = os.path.join(handrail.__path__[0], "hook.py")
        call = (sys.executable, "-I", "-S", hook)
        own = (sys.executable, "-I", "-m", "handrail")
        return Stubs(call, own, handrail.__version__, self.places.state, self.places.home)

    @cached_property
    def _settings(self) -> tuple[Settings, list[Diagnostic]]:
        from handrail.settings.settings import read_settings

        return read_settings(self.places.config, self.project, self.registry.executors(), self.effects)

    def effects(self) -> dict[str, tuple[str, ...]]:
        """The nodes that `propose` can run, and the names that a rule for them can ask for."""
        from handrail.extensions.declarations import effects

        return effects(self.registry)

    @property
    def settings(self) -> Settings:
        return self._settings[0]  # as far as they are valid

    def check_settings(self) -> None:
        """Raise an error if the settings have one."""
        if has_settings(self.places, self.project):
            from handrail.settings.settings import refuse_errors

            refuse_errors(self._settings[1])

    @property
    def problems(self) -> list[Diagnostic]:
        all_problems = (
            *self.catalog.problems,
            *self.flows.problems,
            *self._settings[1],
            *self.definitions.plugins.seen_problems,
        )
        return [problem for problem in all_problems if problem.severity != "note"]

    def validate(
        self, paths: list[str], agents: tuple[str, ...] = (), *, is_nested: bool = False
    ) -> CheckedDefinitions:
        """The problems of all definitions, or of those at these paths and below. Each project checks its own.

        Names of tools are checked for these agents; by default for those into which Handrail is installed. `is_nested`:
        the path is a project that was found below another path, and may have no definitions.
        """
        from handrail.project.validation import ProjectContents, check_all, check_paths, project_of

        ground = ProjectContents(self.definitions, self._settings[1], agents or tuple(self.installed_agents()))
        if not paths:
            return check_all(ground)
        owners = {path: project_of(path, ground) for path in paths}
        own_paths = [path for path, project in owners.items() if project == self.project]
        selections = {path: ground.below(path) for path in own_paths}
        result = check_paths(ground, selections, is_nested=is_nested)
        for other in dict.fromkeys(owners.values()):
            if other != self.project:
                paths_there = [path for path, at in owners.items() if at == other]
                result.add(self.at(other).validate(paths_there, agents))
        for nested in dict.fromkeys(project for selection in selections.values() for project in selection.projects):
            result.add(self.at(nested).validate([nested], agents, is_nested=True))
        return result

    def at(self, project: str) -> App:
        """Handrail in another project, for the same user."""
        return App(project, self.env, self.clock, self.token, self._by)

    def reread(self) -> App:
        """Handrail in the same project, with all definitions and settings as they are now.

        A surface stays open while people edit files; each of its actions uses the files as they are then.
        """
        return App(self.project, self.env, self.clock, self.token, self._by, self.folder)

    def installed_agents(self) -> list[str]:
        """The agents into which Handrail is installed, for the user or for this project."""
        return self.places.installed_agents(self.registry.hosts(), self.project)

    def names_unknown_to(self, agents: list[str], spec: WorkflowSpec | None = None) -> list[str]:
        """Warnings about names of tools that mean nothing to one of these agents, in a workflow or in all workflows."""
        specs = self.catalog.with_subworkflows(spec) if spec is not None else self.catalog.workflows.values()
        phases = [phase for one in specs for phase in one.phases if phase.has_foreign_names]
        if not phases:
            return []
        from handrail.guided.workflows.tool_names import not_understood

        return self._lines(not_understood(phases, agents, self.registry))

    def warnings(self, flow: FoundFlow, agent: str | None = None) -> list[str]:
        """The warnings in the files that a run of this flow uses, one line each. `agent` works through a workflow."""
        from handrail.settings.routes import DEFAULT, parse_route

        if flow.source != "workflow":
            return [*self._lines(self.flows.warnings_of(flow)), *self._env_files[1]]
        default = self.settings.routes.get(DEFAULT)
        agent = agent or (parse_route(default).agent if default is not None else None)
        spec = self.catalog.find(flow.id.removeprefix("workflow:"))
        return [*self._warnings_of(spec, agent), *self._env_files[1]]

    def _warnings_of(self, spec: WorkflowSpec, agent: str | None) -> list[str]:
        """The warnings of a workflow for the agent that works through it, or else for the installed agents."""
        agents = [name for name in [agent] if self.registry.is_installable(name)] if agent else self.installed_agents()
        return [*self._lines(self.catalog.warnings_of(spec)), *self.names_unknown_to(agents, spec)]

    def _lines(self, problems: list[Diagnostic]) -> list[str]:
        from handrail.source.diagnostics import as_line

        return [as_line(problem._replace(file=shown_path(problem.file, self.project))) for problem in problems]

    def start(
        self,
        name: str,
        task: str,
        session: str | None = None,
        *,
        conversation: Conversation | None = None,
        replaces: bool = False,
        run: str | None = None,
    ) -> SessionReport:
        """Start a workflow in a new session, or in a session without an active workflow. `run` drives its agent."""
        from handrail.guided.sessions.sessions import Opening

        plan, notices = self.catalog.startable(name)
        spec, agent = self.catalog.find(name), conversation.agent if conversation is not None else None
        self.trust.refuse(lambda: self.definitions.programs_of_workflow(spec), run)
        self.registry.refuse_unusable(check.kind for stop in plan.stops for check in stop.checks)
        notices = (*notices, *self._warnings_of(spec, agent))
        id_ = conversation.session if conversation is not None else session
        self.check_settings()
        opening = Opening(self.secrets.for_agent(task), id_, conversation, replaces, notices=notices, run=run)
        if has_settings(self.places, self.project):
            idle_stops, reminders = self.settings.idle_stops, self.settings.reminders
            failures = self.settings.same_failures
            opening = opening._replace(idle_stops=idle_stops, reminders=reminders, same_failures=failures)
            opening = opening._replace(cancel=self.settings.cancel)
        return self.sessions.start(plan, opening)

    async def next(self, leaving: Leaving, summary: str, on_check: OnCheck | None = None) -> SessionReport:
        """Run the exit checks of a phase, and leave it if they hold."""
        from handrail.extensions.contracts import CheckContext
        from handrail.guided.sessions.sessions import PhaseExit

        self.check_settings()
        context = CheckContext(self.folder, self.env, self.secrets.mask, self.project, self.registry)
        return await self.sessions.next(leaving, summary, PhaseExit(context, self.trust, on_check))

    def cancel(self, id_: str | None, *, confirmed: bool) -> SessionReport:
        """Cancel a workflow. If its conversation is linked to another project, it is cancelled there."""
        link = self.link_of(id_) if id_ is not None else None
        return self.sessions_at(link).cancel(id_, confirmed=confirmed, link=link)

    def link_of(self, id_: str) -> str | None:
        """The path of the link of the conversation that this session's id names; None if it names none."""
        from handrail.guided.sessions import hook_files

        agent, _, conversation = id_.partition("-")
        for name in self.registry.hosts() if "/" in id_ else ():  # the name of a plugin's agent may have a `-`
            if id_.startswith(f"{name}-"):
                agent, conversation = name, id_[len(name) + 1 :]
        return hook_files.link_path(self.places, agent, conversation) if self.registry.is_host(agent) else None

    def sessions_at(self, link: str | None) -> Sessions:
        """The sessions of the project that a link leads to; those of this project if it leads nowhere."""
        from handrail.guided.sessions import hook_files

        try:
            ref = hook_files.read_link(link) if link is not None else None
        except (ValueError, OSError):  # damaged
            ref = None
        if ref is None or ref.project == self.project:
            return self.sessions
        return self.at(ref.project).sessions

    def prune(self, rule: PruneRule, *, dry_run: bool) -> Pruned:
        """Remove old runs and ended sessions of this project."""
        from handrail.project.prune import prune

        return prune(self.runs, self.sessions, self.worktrees, rule, self.clock(), dry_run=dry_run)

    def reload(self, id_: str | None) -> SessionReport:
        """Load the workflow's files again and continue at the same phase."""
        return self.sessions.reload(id_, lambda key: self.catalog.plan(self.catalog.find(key)))
