"""Checks of the agents: their programs and versions, Handrail's files in them, their last probe; and of logins.

Handrail's files have to be complete, unchanged, trusted, not switched off, and alive. A stub is called only if its
files are exactly those that this Handrail writes: a changed file could do anything. Of a login, only the name is shown;
no file with one is opened.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import handrail
from handrail import FOR_ONE_CALL
from handrail.agents.calls.install import FileChange, Installer, installer_for
from handrail.app import App
from handrail.base.errors import HandrailError
from handrail.base.processes import ProgramResult, Task, run_task
from handrail.doctor.examination import AgentProgram, Checkup, Status, Subject, chosen_by
from handrail.extensions.contracts import Executor, NodeError
from handrail.guided.sessions import phase_requirements
from handrail.settings.environment import with_env_files
from handrail.settings.secrets import DEFAULT_RULES
from handrail.source.plain_text import one_line, some
from handrail.steps.services import github, gitlab
from handrail.steps.services.chat import telegram_bot
from handrail.steps.services.jira import jira

_NUMBERS = re.compile(r"\d+")


async def program(subject: Subject) -> list[Checkup]:
    """A named agent has to be there. Of the others, those that are there have to start."""
    found = []
    for agent, one in (await subject.programs()).items():
        id_, name = f"{agent}.program", subject.executor(agent).PROGRAM
        if one.error is not None:
            found.append(Checkup(id_, "error", one.error.message, one.error.hint))
        elif one.path is None:
            fix = f"install {agent}, or put the folder of `{name}` on the PATH"
            found.append(Checkup(id_, "error" if subject.agent else "skipped", f"`{name}` is not on the PATH", fix))
        else:
            variable = chosen_by(name, subject.app.run_env)
            chosen = f", chosen by `{variable}`" if variable else ""
            found.append(Checkup(id_, "ok", f"{one.version} at {one.path}{chosen}"))
    return found


async def version(subject: Subject) -> list[Checkup]:
    programs = await subject.programs()
    return [
        version_checkup(agent, one.version, getattr(subject.executor(agent), "TESTED", ()))
        for agent, one in programs.items()
        if one.version is not None
    ]


def version_checkup(agent: str, found: str, tested: tuple[str, ...]) -> Checkup:
    """What is known about a version of an agent. `tested` are the versions that were tested, the oldest first."""
    id_, command = f"{agent}.version", f"handrail doctor {agent} --probe"
    if not tested:
        return Checkup(id_, "skipped", f"no version of {agent} was tested")
    oldest, newest = tested[0], tested[-1]
    if found in tested:
        return Checkup(id_, "ok", f"{found} was tested")
    if numbers(found) < numbers(oldest):
        message = f"{found} is older than {oldest}, the oldest version that was tested"
        return Checkup(id_, "warning", message, f"update {agent}, or run `{command}` to see what this version enforces")
    if numbers(found)[:1] > numbers(newest)[:1]:
        message = f"{found} is another major version than {newest}, the newest that was tested"
        return Checkup(id_, "warning", message, f"run `{command}` to see what this version enforces")
    beside = "newer than" if numbers(found) > numbers(newest) else "between versions up to"
    return Checkup(id_, "ok", f"{found} is {beside} {newest}, which was tested; `{command}` measures it")


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version before any other word: `0.9.1-rc.2` is (0, 9, 1)."""
    return tuple(map(int, _NUMBERS.findall(version.partition("-")[0])))


SCOPES = {"user": False, "project": True}
CONVERSATION = "handrail-doctor"
"""A conversation that no agent has."""
ALIVE = "No workflow is active in this conversation"
"""What a hook in working order answers."""
LONGEST_OUTPUT = 300
SECONDS = 15.0
_INTERPRETER = re.compile(r"""(?<![\w/.-])/[^\s'"`]*/python[0-9.]*(?![\w/.-])""")
_VERBS = {"create": "missing", "change": "changed", "remove": "no longer used"}


async def installed(subject: Subject) -> list[Checkup]:
    """One checkup per installation; one that says that there is none."""
    found: list[Checkup] = []
    for agent in await _present(subject):
        there = _installers(subject, agent)
        found += [_files(agent, scope, one) for scope, one in there.items()]
        if not there:
            message, command = f"Handrail is not installed into {agent}", _install(agent, "user")
            status: Status = "error" if subject.agent else "skipped"
            found.append(Checkup(f"{agent}.installed", status, message, command=command))
    return found


async def _present(subject: Subject) -> list[str]:
    """The agents whose program is there, the one that a person named, and those with an installation."""
    programs = await subject.programs()
    return [agent for agent in subject.agents if programs[agent].path or subject.agent or _installers(subject, agent)]


def _installers(subject: Subject, agent: str) -> dict[str, Installer]:
    """The installations of an agent: those with a record, even if it cannot be read."""
    every = {scope: installer_for(subject.app, agent, for_project=is_project) for scope, is_project in SCOPES.items()}
    return {scope: installer for scope, installer in every.items() if os.path.lexists(installer.record)}


def _install(agent: str, scope: str) -> str:
    return f"handrail install {agent}{' --project' if scope == 'project' else ''}"


def _files(agent: str, scope: str, installer: Installer) -> Checkup:
    id_, command = f"{agent}.{scope}", _install(agent, scope)
    known = installer.known()
    if not known:
        message = f"the record of the installation cannot be read: `{installer.record}`"
        return Checkup(id_, "error", message, command=command)
    gone = _missing_interpreter(installer)
    if gone is not None:
        return Checkup(id_, "error", f"its files start `{gone}`, which does not exist", command=command)
    try:
        changes = installer.plan_install()
        find_untrusted = getattr(installer.recipe, "untrusted", None)
        untrusted = find_untrusted() if find_untrusted is not None else []
    except HandrailError as error:
        return Checkup(id_, "error", error.message, error.hint)
    if untrusted:
        message = f"{agent} does not trust these hooks, so they do not run: {some(untrusted)}"
        return Checkup(id_, "error", message, command=command)
    if changes:
        return Checkup(id_, "error", _changed(changes, known.get("handrail")), command=command)
    trusts = f"; {agent} trusts its hooks" if find_untrusted is not None else ""
    return Checkup(id_, "ok", f"installed for the {scope}; all files are as they should be{trusts}")


def _changed(changes: list[FileChange], version: object) -> str:
    by_verb = {verb: [one.path for one in changes if one.verb == verb] for verb in _VERBS}
    message = "; ".join(f"{_VERBS[verb]}: {some(paths, 3)}" for verb, paths in by_verb.items() if paths)
    if version != handrail.__version__:
        by = f"Handrail {version}" if isinstance(version, str) else "another version of Handrail"
        return f"installed by {by}, and this is {handrail.__version__}; {message}"
    return f"installed files are not as they should be; {message}"


def _missing_interpreter(installer: Installer) -> str | None:
    """The interpreter that installed files name, if it does not exist."""
    for path in installer.known().get("owned", []):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            continue
        for found in _INTERPRETER.findall(text):
            if not os.path.exists(found):
                return str(found)
    return None


async def switch(subject: Subject) -> list[Checkup]:
    """Settings that switch hooks off. The agent then runs free, whatever workflow is active."""
    return [one for agent in await _present(subject) for one in _switches(subject, agent)]


def _switches(subject: Subject, agent: str) -> Iterator[Checkup]:
    finders = [getattr(one.recipe, "switched_off", None) for one in _installers(subject, agent).values()]
    answers = [find() for find in finders if find is not None]
    off = list(dict.fromkeys(setting for settings in answers for setting in settings))
    if off:
        message = f"{agent} runs no hooks, so nothing is enforced: {some(off)}"
        yield Checkup(f"{agent}.switch", "error", message, "remove this setting from the file")
    elif answers:
        yield Checkup(f"{agent}.switch", "ok", f"no setting of {agent} switches hooks off")


async def hook(subject: Subject) -> list[Checkup]:
    """A real call of each installed hook."""
    found = []
    for agent in await _present(subject):
        there = _installers(subject, agent)
        for scope, one in there.items():
            found.append(await _alive(subject, agent, scope, one, is_second="user" in there and scope == "project"))
    return found


async def _alive(subject: Subject, agent: str, scope: str, installer: Installer, *, is_second: bool) -> Checkup:
    id_ = f"{agent}.hook.{scope}"
    if is_second:
        return Checkup(id_, "skipped", "the user's installation answers in its place")
    find_trial = getattr(installer.recipe, "trial", None)
    if find_trial is None:
        return Checkup(id_, "skipped", f"it is not known how to call the hook of {agent}")
    try:
        is_changed = not installer.known() or bool(installer.plan_install())
    except HandrailError:
        is_changed = True
    if is_changed:
        return Checkup(id_, "skipped", f"not called, because its files are not as they should be: see {agent}.{scope}")
    trial = find_trial(CONVERSATION, subject.app.project)
    env = {name: value for name, value in subject.app.env.items() if name != FOR_ONE_CALL} | dict(trial.env)
    task = Task(argv=trial.argv, cwd=subject.app.project, env=env, timeout=SECONDS, stdin=trial.message.encode())
    try:
        ended = await run_task(task)
    except OSError as error:
        return Checkup(id_, "error", f"the hook cannot be started: {error.strerror}", command=_install(agent, scope))
    if ALIVE in ended.output:
        return Checkup(id_, "ok", f"the hook answers, in {ended.seconds:.1f} s")
    repair = f"correct what the other checks found, then run `{_install(agent, scope)}`"
    return Checkup(id_, "error", f"the hook does not answer as it should: {_how(ended)}", repair)


def _how(ended: ProgramResult) -> str:
    if ended.timed_out:
        return f"no answer after {SECONDS:g} seconds"
    output = one_line(ended.output) or "no output"
    if len(output) > LONGEST_OUTPUT:  # a path that is cut inside could not be hidden in a report
        output = output[:LONGEST_OUTPUT].rpartition(" ")[0]
    return f"exit code {ended.exit_code}, {output}"


OLD_DAYS = 90
"""After so many days a probe is said to be old. It still counts: agents change by updates, not by time."""
DAY = 24 * 3600.0


async def probe(subject: Subject) -> list[Checkup]:
    programs = await subject.programs()
    return [_probe(subject.app, agent) for agent in programs if programs[agent].path or subject.agent]


def _probe(app: App, agent: str) -> Checkup:
    id_, command = f"{agent}.probe", f"handrail doctor {agent} --probe"
    found = phase_requirements.read_probe(app.places, agent)
    if found is None:
        return Checkup(id_, "skipped", f"what {agent} really enforces was not measured here", command=command)
    message = f"version {found.version}, measured {time.strftime('%Y-%m-%d', time.localtime(found.time))}"
    outdated = phase_requirements.why_outdated(found)
    if outdated is not None:
        return Checkup(id_, "warning", f"{outdated} ({message})", command=command)
    why = phase_requirements.unmet(app.places, agent)
    if why is not None:
        fix = f"phases with `require: hard` need another version; after an update, run `{command}`"
        return Checkup(id_, "warning", f"{message}; does not meet `require: hard`: {why}", fix)
    days = (app.clock() - found.time) / DAY
    if days > OLD_DAYS:
        message += f", {int(days)} days ago; it may be time to measure again"
        return Checkup(id_, "warning", message, command=command)
    return Checkup(id_, "ok", f"{message}; meets `require: hard`")


def kept_probe(app: App, agent: str) -> dict[str, Any] | None:
    """The last probe of an agent as JSON data; None if there is none."""
    found = phase_requirements.read_probe(app.places, agent)
    return None if found is None else {**probe_json(found), "outdated": phase_requirements.why_outdated(found)}


def probe_json(found: phase_requirements.Probe) -> dict[str, Any]:
    rows = [{"row": row.row, "level": row.level, "detail": row.detail, "absent": row.is_absent} for row in found.rows]
    about = {"agent": found.agent, "version": found.version, "program": found.program, "time": found.time}
    return {**about, "rows": rows}


SERVICES: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, str]], object]]] = {
    "jira": (("JIRA_BASE_URL", "JIRA_API_KEY", "JIRA_USERNAME", "JIRA_AUTH_MODE"), jira),
    "github": (("GITHUB_API_URL", "GITHUB_TOKEN", "GH_TOKEN"), github.open_service),
    "gitlab": (("GITLAB_BASE_URL", "GITLAB_HOST", "GITLAB_TOKEN"), gitlab.open_service),
    "telegram": (("TELEGRAM_BOT_TOKEN", "BOT_TOKEN", "TELEGRAM_CHAT_ID", "chat_id", "CHAT_ID"), telegram_bot),
}
"""The variables of each service, and the function that raises `NodeError` if something is missing or wrong."""
FILE_WITH_LOGIN = "GOOGLE_APPLICATION_CREDENTIALS"
"""A variable that is no secret, but names a file with one."""


def services(subject: Subject) -> Iterator[Checkup]:
    env = subject.app.run_env
    for name, (variables, make) in SERVICES.items():
        found = [variable for variable in variables if env.get(variable, "").strip()]
        if not found:
            yield Checkup(f"services.{name}", "skipped", f"{name} is not set up")
            continue
        try:
            make(env)
        except NodeError as error:
            message = f"{name} is set up only in part ({some(found)} is set)"
            yield Checkup(f"services.{name}", "warning", message, error.message.partition(": ")[2] or error.message)
        else:
            yield Checkup(f"services.{name}", "ok", f"{name} is set up with {some(found)}")


def variables(subject: Subject) -> Iterator[Checkup]:
    app = subject.app
    notes = with_env_files(app.env, app.places.home, app.project)[1]
    if notes:
        yield Checkup("variables", "warning", "; ".join(notes), "correct the file as the message says")
    else:
        yield Checkup("variables", "ok", "every variable of `.agentweaver/.env` is used, or there is no such file")


async def login(subject: Subject) -> list[Checkup]:
    """Whether each agent that is there has a login, as far as variables and files show."""
    programs, found = await subject.programs(), []
    used = subject.app.installed()
    for agent, program in programs.items():
        if program.path is not None:
            is_used = agent == subject.agent or agent in used
            found.append(_login(subject, agent, program, is_used=is_used))
    return found


def _login(subject: Subject, agent: str, program: AgentProgram, *, is_used: bool) -> Checkup:
    id_, env, executor = f"{agent}.login", subject.app.run_env, subject.executor(agent)
    named = sorted(name for name in env if env[name].strip() and _is_login(name, executor.ENVIRONMENT))
    path = _login_file(executor, env, subject.app.places.home)
    if path is not None and _mode(path) & 0o077:
        quoted = shlex.quote(path)
        return Checkup(id_, "warning", f"other users can read `{path}`, a login", command=f"chmod 600 {quoted}")
    there = [*named, *([f"`{path}`"] if path is not None and os.path.isfile(path) else [])]
    if there:
        return Checkup(id_, "ok", f"a login is there: {some(there)}")
    where = f"no variable with a key{f' and no `{path}`' if path else ''}; it may be in the key ring of the system"
    fix = f"start `{program.path}` and log in, or set the variable with your key"
    return Checkup(id_, "warning" if is_used else "skipped", f"no login of {agent} was found: {where}", fix)


def _is_login(name: str, patterns: tuple[str, ...]) -> bool:
    is_secret = DEFAULT_RULES.names(name) or name == FILE_WITH_LOGIN
    return is_secret and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _login_file(executor: Executor, env: Mapping[str, str], home: str) -> str | None:
    """The file in which an agent keeps a login; None if that is not known."""
    place = getattr(executor, "LOGIN", None)
    if place is None:
        return None
    variable, folder, name = place
    return os.path.join(env.get(variable) or os.path.join(home, folder), name)


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0
