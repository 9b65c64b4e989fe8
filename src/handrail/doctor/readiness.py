"""Whether a run can be left alone: finds what would stop it, before it exists. `handrail ready`.

The code of a problem is the one with which the step or the run would end. It looks at every step that may run, as far
as its values are known now. It asks git and services, and calls the installed hooks of an agent once; it starts no
agent, runs no step that changes something, and changes nothing itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from handrail import STEP_TOOL
from handrail.agents.calls.install import installer_for
from handrail.app import App
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import HandrailError
from handrail.base.processes import run
from handrail.doctor.examination import EXAMS, Checkup, Subject, checkups_of
from handrail.doctor.exams.agents import numbers
from handrail.doctor.exams.definitions import SERVICES
from handrail.driven.expressions.tree import as_data
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.plan import Step, step_at
from handrail.driven.flows.preview import PreviewRow
from handrail.driven.forms.answers import Answers, answers_for
from handrail.driven.forms.form import Form
from handrail.driven.forms.form_params import form_from
from handrail.driven.runs.estimate import estimate_run
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.run_rules import own_of, refuse_missing_params, refuse_unusable
from handrail.extensions.contracts import History, NodeContext, NodeError, Work
from handrail.guided.sessions.phase_requirements import unmet_requirement
from handrail.guided.workflows.plan import Stop
from handrail.settings.sections import STEP
from handrail.source.plain_text import counted
from handrail.source.shell import commands
from handrail.source.values import Unresolved
from handrail.steps.nodes.agents.agent_jobs import choose_agent, job_for
from handrail.steps.nodes.git.commands import Repository, open_repository
from handrail.steps.nodes.git.push import open_transport
from handrail.steps.nodes.people.approvals import APPROVED, approval_form
from handrail.steps.services.addresses import parse_remote
from handrail.steps.services.forges import forge_of_remote
from handrail.steps.services.http import HttpLimits
from handrail.view.text.run import bound_warnings

BY_EXAM = {
    "state": "state", "locks": "state", "disk": "disk-full", "index-lock": "git-locked", "identity": "git-identity",
    "program": "agent-missing", "login": "auth", "installed": "unguarded", "hook": "unguarded",
}  # fmt: skip
"""The code of what a check of the doctor finds."""
_STOPPING_WARNINGS = ("index-lock", "identity", "login")
SECONDS = 15.0
OWN_ACCOUNT = {"github": "user", "gitlab": "api/v4/user", "jira": "rest/api/2/myself"}
"""What says that a service accepts the login."""
_UNSURE = ("service-forbidden", "service-missing", "service-busy")
"""Answers that do not say that a login is refused: a token may see one repository and nothing else."""
_FIND_MISSING = """\
for name; do
    case $name in */*.py) [ -f "$name" ] ;; */*) [ -x "$name" ] ;; *) command -v "$name" >&2 ;; esac || echo "$name"
done 2>/dev/null"""
_CHANGING = {"edit", "write", "bash"}


@dataclass
class Readiness:
    """Whether a run that has not begun can be left alone. `answers` are those that are given in advance.

    `problems` are what would stop it, with their codes as ids; `forms` are the questions without an answer, as far as
    they are known. `taken` are the questions with a default that is taken if nobody answers. `seen` is what was looked
    at; `programs` are those to look for, and for whom. `has_run`: a step before this one may have changed any file.
    `again` is a command line with what was given; `found` are the problems with their steps: all rounds have the same.
    """

    app: App
    flow: FoundFlow
    request: RunRequest
    answers: Answers | None
    again: Callable[..., str]
    problems: list[Checkup] = field(default_factory=list)
    forms: dict[str, Form] = field(default_factory=dict)
    taken: list[dict[str, Any]] = field(default_factory=list)
    programs: dict[str, str] = field(default_factory=dict)
    seen: set[object] = field(default_factory=set)
    found: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    has_run: bool = False

    async def find(self) -> Readiness:
        for name in ("state", "locks", "disk", "index-lock"):
            await self.exam(name, Subject(self.app))
        self.at_project()
        await self.at_steps(self.rows())
        for (code, message, fix), (first, *more) in self.found.items():
            others = f" and {counted(len(more), 'more step')}" if first and more else ""
            self.problems.append(Checkup("error", f"{first}{others}{message}", fix, id=code))
        return self

    def not_ready(self, code: str, message: str, fix: str | None, step: str = "") -> None:
        self.found.setdefault((code, message, fix or f"`handrail explain {code}` says what to do"), []).append(step)

    @contextlib.contextmanager
    def trying(self, code: str = "", step: str = "") -> Iterator[None]:
        """An error inside is a problem, with this code or its own."""
        try:
            yield
        except (HandrailError, NodeError, Unresolved) as error:
            if error.code not in _UNSURE:
                hint: str | None = getattr(error, "hint", None)
                message = (": " if step else "") + error.message.removesuffix(f"; {hint}")
                self.not_ready(code or error.code, message, hint, step)

    def is_first(self, *what: object) -> bool:
        """True if this was not looked at before: all rounds of a repeat have the same steps."""
        is_new = what not in self.seen
        self.seen.add(what)
        return is_new

    async def exam(self, name: str, subject: Subject) -> None:
        for one in await checkups_of(name, EXAMS[name], subject):
            is_bad = one.status == "error" or (one.status == "warning" and name in _STOPPING_WARNINGS)
            if is_bad and not one.id.endswith(".installed") and not (name == "login" and one.command):
                self.not_ready(BY_EXAM[name], one.message, one.cure)

    def at_project(self) -> None:
        app, runs, folder = self.app, self.app.runs, self.request.folder(self.app.project)
        with self.trying("settings"):
            app.check_settings()
        with self.trying():
            app.trust.refuse(lambda: app.definitions.programs_of_flow(self.flow))
        for id_ in (id_ for id_ in runs.engine.ids() if runs.engine.driver(id_) is not None):
            with contextlib.suppress(HandrailError):
                if runs.load(id_).about.request.folder(app.project) == folder:
                    fix = f"wait for it, run `handrail stop {id_}`, or add `--worktree`"
                    self.not_ready("project-busy", f"run `{id_}` works in `{folder}`, and changes the same files", fix)
        whole = estimate_run(runs, app.flows, self.flow, self.request).whole
        for words in bound_warnings(whole, self.request.bounds):
            self.not_ready("budget", words, "allow more, or change `limits` in your settings")

    def rows(self) -> list[PreviewRow]:
        """What the run would do. Sets `loaded`, the run as it would begin, and the `context` of its steps."""
        runs, request, flows, rows = self.app.runs, self.request, self.app.flows, list[PreviewRow]()
        with self.trying("params"):
            about, plans = runs.check_request(flows, self.flow, request)
            history = History(records=[], offset=0)
            self.loaded = LoadedRun(id="", about=about, plans=plans, history=history, payload=lambda _: None)
            self.context: NodeContext = runs.outside(self.loaded).context
            with self.trying():
                refuse_unusable(plans.values(), runs.registry)
            with self.trying("variable-missing"):
                rows = runs.preview(flows, self.flow, request)
            refuse_missing_params(self.loaded.plan, about.request, self.app.project)
        return rows

    async def at_steps(self, rows: list[PreviewRow]) -> None:
        open_paths = tuple(f"{row.path}/" for row in rows if row.verdict == "depends")
        for row in rows:
            step = step_at(self.loaded.plan, row.path, self.loaded.find) if row.kind == "step" else None
            if row.verdict == "fails":
                fix = f"`{self.again('run', '--dry-run')}` shows what would happen"
                self.not_ready("would-fail", f" would fail: {row.why}", fix, f"`{row.path}`")
            elif step is not None and row.verdict != "skipped":
                with self.trying(step=f"`{row.path}`"):
                    await self.at_step(row, step, is_certain=not f"{row.path}/".startswith(open_paths))
                self.has_run |= step.declared.calls_agent or "argv" in step.params
        if self.programs:
            argv = ["/bin/sh", "-c", _FIND_MISSING, "sh", *self.programs]
            for name in (await run(argv, self.context.project, self.context.env, SECONDS)).output.splitlines():
                by = self.programs.get(name, "the run")
                message = f"the program `{name}` is not there or not executable, and {by} needs it"
                self.not_ready("program-missing", message, f"install `{name}`, or put its folder on the PATH")

    async def at_step(self, row: PreviewRow, step: Step, *, is_certain: bool) -> None:
        params, node = {name: row.params[name] for name in row.params if name not in row.unknown}, step.node
        self.at_question(row, step, params)
        self.at_program(row.params.get("argv"), f"`{row.path}`")
        for check in (check for check in step.expect or () if check.kind == "run"):
            self.at_program(as_data(check.params["command"]), f"`{row.path}`")
        if node == "propose":
            node, params = str(params.get("effect")), params.get("params") or {}
        plain = Work(path=row.path, node=node, params=params, prompt="", own_checks=False, timeout=SECONDS)
        work = replace(plain, group=step.routing_group)
        if node in ("command-check", "find-check") and not row.unknown:
            found = await self.context.registry.nodes()[node].run(work, self.context)
            self.at_program(found.get("command"), f"`{row.path}`")
        if step.declared.calls_agent and own_of(step) is not None:
            await self.at_agent(work, step)
        if node.startswith(("git-", "pr-open")) and not node.endswith("-form"):
            await self.at_git(await open_repository(work, self.context), work, is_certain=is_certain)
        service = next((name for name in OWN_ACCOUNT if node.startswith((f"{name}-", f"fetch-{name}-"))), None)
        if service is not None and is_certain:
            await self.at_service(service)

    def at_program(self, command: Any, by: str) -> None:
        """Remember the programs of a command: a list, or a line for a shell. A step before may make one with a path."""
        words = [str(word) for word in command] if isinstance(command, list) else []
        line = command if isinstance(command, str) else words[2] if words[1:2] == ["-c"] and len(words) > 2 else None
        names = words[:1] if line is None else [found[0] for found in commands(line) if "()" not in line]
        for name in names:
            if name and not {*"${"} & {*name} and not ("/" in name and self.has_run):
                self.programs.setdefault(name, by)

    def at_question(self, row: PreviewRow, step: Step, params: Mapping[str, Any]) -> None:
        """A question needs an answer in the file, a rule that says yes, or a default."""
        id_, effect = str(params.get("formId") or row.path), str(params.get("effect", row.node))
        is_moot = params.get("fields") == [] or params.get("acceptDraft") is True
        is_ruled = any(rule.fits(effect, {STEP: row.path}, ()) for rule in self.context.rules)
        if step.declared.asks is None or is_moot or is_ruled:
            return
        if step.deadline is not None:
            values = {name: as_data(value) for name, value in step.default.items()}
            if self.is_first("question", effect, step.id, step.line):
                self.taken.append({"path": row.path, "deadline": step.deadline, "default": values})
            return
        form = form_from(params) if {"fields", "formId"} <= params.keys() else None
        if APPROVED in step.declared.asks:
            title = str(params.get("question") or params.get("title") or effect)
            form = approval_form(id_, "Do you approve it in advance?", {"title": title, "facts": ()}, None)
        fields = {*step.declared.asks, *(one.id for one in (form.fields if form is not None else ()))}
        keys = {row.path, id_, row.node}
        if self.answers is None or not (keys & self.answers.sets.keys() or fields & self.answers.names(None).keys()):
            self.forms |= {id_: form} if form is not None else {}
            if self.is_first("question", effect, step.id, step.line):
                fix = self.way(id_, effect, form, params)
                self.not_ready("unanswered", f"`{row.path}` asks a person, and nobody is there", fix)
        elif form is not None:
            with self.trying("unanswered"):
                answers_for(self.answers, form, row.path)

    def way(self, id_: str, effect: str, form: Form | None, params: Mapping[str, Any]) -> str:
        """How to answer a question in advance. A yes to an effect is a person's: an option says it, or a rule."""
        ask = f"`{self.again('ready', '--ask', 'answers.json')}` asks it now, for `--answers answers.json`"
        if "acceptDraft" in params:
            return "`--accept-playbook-draft` accepts it in advance"
        if form is None:
            return f"give its answers in `--answers FILE`, below `{id_}`, or give the step a `deadline` and a `default`"
        return f"`--approve {effect}` says yes in advance; or {ask}" if form.fields[0].id == APPROVED else ask

    async def at_git(self, repository: Repository, work: Work, *, is_certain: bool) -> None:
        params, remote = work.params, str(work.params.get("remote") or "origin")
        if work.node == "git-commit" and self.is_first("identity"):
            await self.exam("identity", Subject(self.app))
        is_switch = work.node == "git-branch" and await repository.branch() != params.get("name")
        if is_switch and not self.has_run and not params.get("allowDirty") and await repository.changes():
            message = f"there are uncommitted changes, so `{work.path}` cannot change the branch"
            self.not_ready("git-dirty", message, "run `git stash --include-untracked`, or commit them")
        if is_certain and work.node == "git-push" and self.is_first("remote", remote):
            await (await open_transport(repository, remote, work, self.context)).commit_of("refs/heads/handrail-ready")
        if is_certain and work.node == "pr-open":
            address = parse_remote(await repository.remote_address(remote))
            if (kind := params.get("forge") or (address and forge_of_remote(address, self.context.env))) is not None:
                await self.at_service(kind)

    async def at_service(self, name: str) -> None:
        if self.is_first("service", name):
            service: Any = SERVICES[name][1](self.context.env)
            async with replace(service, limits=HttpLimits(seconds=SECONDS, connect=5.0, tries=1)) as bounded:
                await bounded.get_json(OWN_ACCOUNT[name])

    async def at_agent(self, work: Work, step: Step) -> None:
        """Look at the agent of a step, and at the workflow that it is driven through."""
        name = next((one.name for one in step.declared.params if one.names == "workflow"), None)
        stops: tuple[Stop, ...] | None = None
        if name is not None and name in work.params:
            stops = self.app.catalog.plan(self.app.catalog.find(str(work.params[name]))).stops
        chosen = choose_agent(work, self.context, step.declared.agent)
        job, agent = job_for(chosen, work, self.context, ""), chosen.route.agent
        chosen.executor.launch(job, self.context.project)
        for stop in stops or ():
            for check in stop.checks:
                self.at_program(check.params.get("command"), f"the exit of phase `{stop.name}`")
        if stops is not None and not self.app.registry.is_host(agent):
            self.not_ready("agent-unguided", f"`{agent}` cannot run a workflow", "choose another agent: `--agent NAME`")
        if (unmet := unmet_requirement(self.app.places, agent, stops or ())) is not None:
            self.not_ready("not-enforced", *unmet)
        tested = getattr(chosen.executor, "TESTED", None)
        if tested and self.is_first("agent", agent, work.params.get(name or "")):
            await self.at_product(agent, tested[0], stops, job.permissions)

    async def at_product(self, agent: str, oldest: str, stops: tuple[Stop, ...] | None, permissions: str) -> None:
        """Look at an agent's program, login, hooks and settings. `stops` are the phases that it works through."""
        subject = Subject(self.app, agent)
        version = (await subject.programs())[agent].version
        of_login = ("login",) if sys.platform != "darwin" else ()  # there it may be in the key chain
        of_hooks = ("installed", "hook") if stops is not None else ()
        for name in ("program",) if version is None else (*of_login, *of_hooks):
            await self.exam(name, subject)
        if version is not None and numbers(version) < numbers(oldest):
            message = f"{agent} {version} is older than {oldest}, the oldest version that was tested"
            self.not_ready("agent-version", message, f"update {agent}")
        for recipe in (installer_for(self.app, agent, for_project=is_own).recipe for is_own in (False, True)):
            for setting in (getattr(recipe, "switched_off", None) or list)() if stops is not None else ():
                message = f"{agent} runs no hooks, so the workflow is not enforced: {setting}"
                self.not_ready("unguarded", message, "remove this setting from the file")
            for tool, setting in (getattr(recipe, "denied", None) or dict)().items():
                if _is_needed({tool, *self.app.registry.host(agent).aliases(tool)}, stops, permissions):
                    message = f"{agent} denies the tool `{tool}`, which the run needs: {setting}"
                    self.not_ready("tool-denied", message, "remove this setting from the file")


def _is_needed(names: set[str], stops: tuple[Stop, ...] | None, permissions: str) -> bool:
    """True if a tool with these names is needed: each phase needs what it lists, or else can change files."""
    if stops is None:
        return permissions != "read" and not names.isdisjoint(_CHANGING)
    needs = (_CHANGING - {*(stop.deny or ())} if stop.allow is None else {*stop.allow} for stop in stops)
    return STEP_TOOL in names or any(not names.isdisjoint(need) for need in needs)
