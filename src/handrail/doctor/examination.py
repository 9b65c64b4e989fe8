"""The checks of `handrail doctor`, one row each, how they run, and the report about them.

A new check is a function in a module of `exams/` and a row here. It gets the `Subject`, or with `of_agents` one
`AgentSubject` after the other, and returns a `Checkup`, several or None; it only looks, and changes nothing. One that
starts programs is `async`. A checkup has the id of its row, or one of the row's `ids`; that of an agent has `AGENT.`
before it. A check that fails or takes too long is itself a
finding. The report is Markdown for a public issue: no values of variables, no path of the home or project, no token.
"""

from __future__ import annotations

import asyncio
import fnmatch
import importlib
import inspect
import os
import platform
import re
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Literal

import handrail
from handrail.app import App
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import HandrailError, UsageError
from handrail.base.processes import run
from handrail.extensions.contracts import Executor
from handrail.settings.environment import NoSuchProgram, chosen_program, variable_of
from handrail.settings.folders import file_name
from handrail.settings.secrets import HIDDEN, secret_parts
from handrail.source.plain_text import counted, one_line
from handrail.source.suggestions import nearest

VERSION_SECONDS = 30.0
_VERSION = re.compile(r"\d+\.\d+(?:[\w.+-]*\w)?")


def find_program(name: str, env: Mapping[str, str], chosen_name: str | None = None) -> str | None:
    """The path of an agent's program: the named one, that of its variable, or the one on the PATH; else None.

    `own` is what the agent calls it. Raises `HandrailError` if the variable names no program.
    """
    try:
        path = chosen_program(name, env) if chosen_name is None else None
    except NoSuchProgram as error:
        raise HandrailError(error.message, f"correct or unset `{variable_of(name)}`") from None
    path = path or shutil.which(chosen_name or name, path=env.get("PATH"))
    return os.path.abspath(path) if path else None


async def version_of(program: str, env: Mapping[str, str]) -> str:
    """The version that a program prints. Raises `HandrailError` if it cannot be started or prints none."""
    argv = [program, "--version"]
    try:
        result = await run(argv, os.path.dirname(program), env, VERSION_SECONDS)
    except OSError as error:
        raise HandrailError(f"`{program}` cannot be started: {error.strerror}") from error
    match = _VERSION.search(result.output)
    if result.timed_out or result.exit_code != 0 or match is None:
        problem = "took too long" if result.timed_out else f"ended with exit code {result.exit_code}"
        raise HandrailError(f"`{program} --version` {problem}", "start the program yourself to see why")
    return match[0]


@dataclass(frozen=True)
class AgentProgram:
    """The program of an agent. `path` is None if there is none. `error` says why its version is not known."""

    path: str | None = None
    version: str | None = None
    error: HandrailError | None = None


async def _program(name: str, app: App) -> AgentProgram:
    """The program that an agent calls `own`, with its version."""
    path = None
    try:
        path = find_program(name, app.run_env)
        return AgentProgram() if path is None else AgentProgram(path, await version_of(path, app.env))
    except HandrailError as error:
        return AgentProgram(path, error=error)


Status = Literal["ok", "warning", "error", "skipped"]
STATUSES: tuple[Status, ...] = ("error", "warning", "skipped", "ok")


@dataclass(frozen=True)
class Checkup:
    """What was found, and what to do about it. `id` is stable; by default it is that of the check.

    `command` repairs it, and can be pasted into a shell. `fix` says in words what to do; by default, to run `command`.
    """

    status: Status
    message: str
    fix: str | None = None
    command: str | None = None
    id: str = ""
    category: str = ""

    @property
    def cure(self) -> str | None:
        return self.fix or (f"run `{self.command}`" if self.command else None)

    def to_json(self) -> dict[str, Any]:
        names = ("id", "category", "status", "message")
        return {**{name: getattr(self, name) for name in names}, "fix": self.cure, "command": self.command}


@dataclass
class Subject:
    """What is checked: Handrail in one project, and agents. `agent` is the one that a person named, else None."""

    app: App
    agent: str | None = None
    _programs: dict[str, AgentProgram] | None = field(default=None, repr=False)

    @property
    def agents(self) -> list[str]:
        return [self.agent] if self.agent else self.app.registry.installable()

    async def programs(self) -> dict[str, AgentProgram]:
        """The program of each agent. They are asked for their versions once, all at the same time."""
        if self._programs is None:
            names = [self.app.registry.executor(agent).PROGRAM for agent in self.agents]
            programs = await asyncio.gather(*(_program(name, self.app) for name in names))
            self._programs = dict(zip(self.agents, programs, strict=True))
        return self._programs


@dataclass(frozen=True)
class AgentSubject:
    """One agent that is checked. `is_named`: a person named it, so it has to be there."""

    app: App
    name: str
    program: AgentProgram
    is_named: bool

    @property
    def executor(self) -> Executor:
        return self.app.registry.executor(self.name)


def is_ok(checkups: list[Checkup], *, strict: bool = False) -> bool:
    """True if no check found an error. With `strict`, a warning counts as an error."""
    wrong = ("error", "warning") if strict else ("error",)
    return all(one.status not in wrong for one in checkups)


CATEGORIES = {
    "machine": "this computer",
    "state": "Handrail's own files",
    "definitions": "what the project and the user wrote",
    "credentials": "logins of services and agents; their values are never shown",
    "agents": "the programs of the agents",
    "hooks": "Handrail's files in the agents",
    "probe": "what was measured with `--probe`",
}


@dataclass(frozen=True)
class Exam:
    """One check: its category, its function, and what it looks at.

    The function is `module:name`; the module is in `exams/`, or has dots. `seconds` is how long it may take. With
    `of_agents`, it is called for each agent. `ids` are the ids of its checkups, if there are others than its own.
    """

    category: str
    function: str
    about: str
    seconds: float = 20.0
    ids: tuple[str, ...] = ()
    of_agents: bool = False


def _of_agents(category: str, function: str, about: str, seconds: float = 60.0, ids: tuple[str, ...] = ()) -> Exam:
    return Exam(category, function, about, seconds, ids, of_agents=True)


_SERVICES = ("services.jira", "services.github", "services.gitlab", "services.telegram")
EXAMS: dict[str, Exam] = {
    "python": Exam("machine", "machine:python", "the version of Python, and that Handrail's own files can be read"),
    "git": Exam("machine", "machine:git", "that Git is there, its version, and that the project is in a repository"),
    "identity": Exam("machine", "machine:identity", "the name and the address with which Git makes commits"),
    "index-lock": Exam("machine", "machine:index_lock", "a lock of Git that a killed process left in the repository"),
    "disk": Exam("machine", "machine:disk", "free space where the state, the project and temporary files are"),
    "notify": Exam(
        "machine", "machine:notify", "that you can be told as `notify` in your settings says; sends nothing"
    ),
    "state": Exam("state", "machine:folder", "the state folder: owner, permissions, no link, writable"),
    "locks": Exam("state", "machine:locks", "that locks work in the state folder, also on a network file system"),
    "sessions": Exam("state", "machine:sessions", "that every session of the project can be read"),
    "links": Exam("state", "machine:links", "links from conversations to sessions that do not exist"),
    "runs": Exam("state", "machine:runs", "that every run of the project can be read"),
    "leftovers": Exam("state", "machine:leftovers", "files that killed processes left"),
    "worktrees": Exam("state", "machine:worktrees", "worktrees that killed runs left", seconds=60.0),
    "config": Exam("definitions", "definitions:config", "that only you can change your settings and definitions"),
    "settings": Exam("definitions", "definitions:settings", "the settings of the user and of the project"),
    "definitions": Exam("definitions", "definitions:definitions", "all workflows and flows, as `handrail validate`"),
    "playbook": Exam("definitions", "definitions:playbook", "the playbook of the project"),
    "agentweaver": Exam(
        "definitions",
        "definitions:agentweaver",
        "states, manifests and routes that AgentWeaver saved and no import has seen",
    ),
    "plugins": Exam(
        "definitions", "definitions:plugins", "that each plugin is trusted and keeps to its contract", 120.0
    ),
    "trust": Exam("definitions", "definitions:trust", "that a person trusted the project, if it runs anything"),
    "variables": Exam("credentials", "definitions:variables", "variables of `.agentweaver/.env` that are not used"),
    "services": Exam(
        "credentials",
        "definitions:services",
        "services that are set up only in part, such as an address without a token",
        ids=_SERVICES,
    ),
    "program": _of_agents("agents", "agents:program", "that the program starts and says its version"),
    "version": _of_agents("agents", "agents:version", "whether the version was tested with Handrail"),
    "login": _of_agents("credentials", "agents:login", "a variable or a file with a login"),
    "installed": _of_agents(
        "hooks",
        "agents:installations",
        "that the installed files are complete, unchanged and of this version",
        ids=("user", "project"),
    ),
    "switch": _of_agents("hooks", "agents:switch", "settings of the agent that switch hooks off"),
    "hook": _of_agents(
        "hooks",
        "agents:hook",
        "that the installed hook answers a harmless message",
        120.0,
        ("hook.user", "hook.project"),
    ),
    "probe": _of_agents("probe", "agents:probe", "that a probe was made, with this version, and not long ago"),
}
"""The built-in checks, in the order in which they run. Extensions add rows."""


@dataclass(frozen=True)
class ExamChoice:
    """Which checks a person wants: categories, checks, agents, or ids of checkups. Empty `only` means all."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    def runs(self, name: str, agents: Iterable[str]) -> bool:
        return any(self.is_wanted(id_, name) for id_ in ids_of(name, EXAMS[name], agents))

    def is_wanted(self, id_: str, name: str) -> bool:
        names = {name, EXAMS[name].category, id_}
        if EXAMS[name].of_agents:
            names |= {*id_.split(".", 1)}
        return (not self.only or not names.isdisjoint(self.only)) and names.isdisjoint(self.skip)


def ids_of(name: str, exam: Exam, agents: Iterable[str]) -> list[str]:
    """The ids that the checkups of a check can have."""
    ids = (name, *exam.ids)
    return [f"{agent}.{id_}" for agent in agents for id_ in ids] if exam.of_agents else list(ids)


def refuse_unknown(names: Collection[str], agents: Collection[str]) -> None:
    """Raise `UsageError` if one of these names is no category, no check, no agent and no id."""
    ids = [id_ for name, exam in EXAMS.items() for id_ in (*ids_of(name, exam, agents), name, *exam.ids)]
    choices = list(dict.fromkeys([*CATEGORIES, *(exam.category for exam in EXAMS.values()), *agents, *ids]))
    for name in names:
        if name not in choices:
            similar = [f"`{one}`" for one in nearest(name, choices, 3)]
            checks = ", ".join(dict.fromkeys([*CATEGORIES, *EXAMS]))
            hint = f"did you mean {' or '.join(similar)}?" if similar else f"known: {checks}"
            raise UsageError(f"there is no agent and no check `{name}`", hint)


ShowName = Callable[[str], None]
ALL_EXAMS = ExamChoice()


async def examine(subject: Subject, choice: ExamChoice = ALL_EXAMS, show: ShowName = lambda _: None) -> list[Checkup]:
    """The results of all wanted checks. `shown` gets the name of each check before it runs."""
    checkups: list[Checkup] = []
    for name, exam in EXAMS.items():
        if choice.runs(name, subject.agents):
            show(name)
            results = await checkups_of(name, exam, subject)
            checkups += [replace(one, category=exam.category) for one in results if choice.is_wanted(one.id, name)]
    return checkups


async def checkups_of(name: str, exam: Exam, subject: Subject) -> list[Checkup]:
    try:
        async with asyncio.timeout(exam.seconds):
            function = _function(exam.function)
            if not exam.of_agents:
                return [replace(one, id=one.id or name) for one in await _results(function, subject)]
            checkups = []
            for agent, program in (await subject.programs()).items():
                results = await _results(function, AgentSubject(subject.app, agent, program, agent == subject.agent))
                checkups += [replace(one, id=f"{agent}.{one.id or name}") for one in results]
            return checkups
    except TimeoutError:
        reason = f"it was not done after {counted(exam.seconds, 'second')}"
    except HandrailError as error:
        return [Checkup("error", error.message, error.hint, id=name)]
    except Exception as error:  # noqa: BLE001 - a check of a plugin may raise anything, and the others go on
        reason = f"it failed: {type(error).__name__}: {one_line(str(error))}"
    fix = f"run the other checks with `handrail doctor --skip {name}`; report it with `handrail doctor --report`"
    return [Checkup("error", f"this check gave no result: {reason}", fix, id=name)]


def _function(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module if "." in module else f"handrail.doctor.exams.{module}"), name)


async def _results(function: Callable[[Any], Any], subject: Subject | AgentSubject) -> list[Checkup]:
    """The checkups of a function: one, several or None. One that may wait for a disk is called in a thread.

    The thread is a daemon, so a hanging disk does not keep the process.
    """

    def as_list(result: Any) -> list[Checkup]:
        return [result] if isinstance(result, Checkup) else list(result or ())

    if inspect.iscoroutinefunction(function):
        return as_list(await function(subject))
    done: Future[list[Checkup]] = Future()
    done.set_running_or_notify_cancel()  # from here on, a timeout does not cancel it

    def work() -> None:
        try:
            done.set_result(as_list(function(subject)))
        except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
            done.set_exception(error)

    threading.Thread(target=work, daemon=True, name="handrail-doctor").start()
    return await asyncio.wrap_future(done)


NAMED_VARIABLES = ("HANDRAIL_*", "XDG_*", "*_BIN", "NO_COLOR", "TERM", "CI")
"""The variables whose names are in the report, if they are set. Their values are not."""
_KEY = re.compile(r"^([A-Za-z][A-Za-z-]*):", re.MULTILINE)


def report(app: App, checkups: list[Checkup], versions: Mapping[str, str]) -> str:
    """The report about these findings. `versions` are those of the agents' programs."""
    clean = cleaner(app)
    lines = ["### Versions", "", f"- Handrail {handrail.__version__}", f"- Python {platform.python_version()}"]
    lines.append(f"- {platform.system()} {platform.release()}, {platform.machine()}")
    lines += [f"- {agent} {version}" for agent, version in versions.items()]
    lines += ["", "### Findings", ""]
    wrong = [one for one in checkups if one.status in ("error", "warning")]
    ok_ids = [one.id for one in checkups if one not in wrong]
    for one in sorted(wrong, key=lambda one: STATUSES.index(one.status)):
        cure = f" Fix: {clean(one.cure)}." if one.cure else ""
        lines.append(f"- **{one.status}** `{clean(one.id)}`: {clean(one.message)}.{cure}")
    lines += [] if wrong else ["No errors and no warnings."]
    lines += ["", f"Fine or skipped: {', '.join(ok_ids) or 'none'}.", "", "### Settings", ""]
    lines += [f"- {owner}: {', '.join(names) or 'none'}" for owner, names in _settings(app).items()]
    variables = sorted(name for name in app.env if any(fnmatch.fnmatchcase(name, one) for one in NAMED_VARIABLES))
    lines.append(f"- variables that are set: {', '.join(variables) or 'none'}")
    return "\n".join(lines) + "\n"


def _settings(app: App) -> dict[str, list[str]]:
    """The names of the keys at the top of the settings files, as far as they can be read."""
    from handrail.settings.settings import SETTINGS

    names_of: dict[str, list[str]] = {}
    fields = {field.name for field in SETTINGS.fields}
    folders = {"of the user": app.places.config, "of the project": os.path.join(app.project, ".handrail")}
    for owner, folder in folders.items():
        try:
            with open(os.path.join(folder, handrail.SETTINGS_FILE), encoding="utf-8", errors="replace") as file:
                names = _KEY.findall(file.read(1024 * 1024))
        except OSError:
            names = []
        unknown_count = sum(name not in fields for name in names)
        names_of[owner] = [name for name in names if name in fields]
        names_of[owner] += [counted(unknown_count, "unknown key")] if unknown_count else []
    return names_of


def cleaner(app: App) -> Callable[[str], str]:
    """A function that makes a text public: folders of the person become names, and secrets are hidden."""
    state, home = app.places.state, app.places.home
    places = {app.project: "<project>", state: "<state>", app.places.config: "<config>", home: "~"}
    paths = {form: name for path, name in places.items() for form in (path, os.path.realpath(path)) if len(form) > 1}
    forms = {**paths, **{file_name(path): name for path, name in paths.items()}}  # folders of the state have such names
    longest_first = sorted(forms, key=len, reverse=True)
    mask = app.secrets.mask

    def clean(text: str) -> str:
        text = mask(one_line(text))
        for part in secret_parts(text):
            text = text.replace(part, HIDDEN)
        for path in longest_first:
            text = re.sub(re.escape(path) + r"(?![\w.-])", forms[path], text)
        return text

    return clean
