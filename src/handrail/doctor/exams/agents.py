"""Checks of the agents: their programs, versions and logins, Handrail's files in them, and their last probe.

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
from collections.abc import Iterator
from typing import Any

import handrail
from handrail import FOR_ONE_CALL
from handrail.agents.calls.install import FileChange, Installer, installer_for
from handrail.app import App
from handrail.base.errors import HandrailError
from handrail.base.processes import ProgramResult, Task, run_task
from handrail.doctor.examination import AgentSubject, Checkup
from handrail.guided.sessions import phase_requirements
from handrail.settings.environment import variable_of
from handrail.settings.secrets import DEFAULT_RULES
from handrail.source.plain_text import one_line, some

_NUMBERS = re.compile(r"\d+")


def program(agent: AgentSubject) -> Checkup:
    """A named agent has to be there. Of the others, those that are there have to start."""
    program, name = agent.program, agent.executor.PROGRAM
    if program.error is not None:
        return Checkup("error", program.error.message, program.error.hint)
    if program.path is None:
        fix = f"install {agent.name}, or put the folder of `{name}` on the PATH"
        return Checkup("error" if agent.is_named else "skipped", f"`{name}` is not on the PATH", fix)
    variable = variable_of(name)
    origin = f", chosen by `{variable}`" if variable and agent.app.run_env.get(variable) else ""
    return Checkup("ok", f"{program.version} at {program.path}{origin}")


def version(agent: AgentSubject) -> Checkup | None:
    version = agent.program.version
    return None if version is None else version_checkup(agent.name, version, getattr(agent.executor, "TESTED", ()))


def version_checkup(agent: str, version: str, tested: tuple[str, ...]) -> Checkup:
    """What is known about a version of an agent. `tested` are the versions that were tested, the oldest first."""
    command = f"handrail doctor {agent} --probe"
    if not tested:
        return Checkup("skipped", f"no version of {agent} was tested")
    oldest, newest = tested[0], tested[-1]
    if version in tested:
        return Checkup("ok", f"{version} was tested")
    if numbers(version) < numbers(oldest):
        message = f"{version} is older than {oldest}, the oldest version that was tested"
        return Checkup("warning", message, f"update {agent}, or run `{command}` to see what this version enforces")
    if numbers(version)[:1] > numbers(newest)[:1]:
        message = f"{version} is another major version than {newest}, the newest that was tested"
        return Checkup("warning", message, f"run `{command}` to see what this version enforces")
    position = "newer than" if numbers(version) > numbers(newest) else "between versions up to"
    return Checkup("ok", f"{version} is {position} {newest}, which was tested; `{command}` measures it")


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


def installations(agent: AgentSubject) -> Iterator[Checkup]:
    """One checkup per installation; one that says that there is none if the agent should have one."""
    installers = _installers(agent)
    for scope, installer in installers.items():
        yield _files(agent.name, scope, installer)
    if not installers and (agent.program.path or agent.is_named):
        message = f"Handrail is not installed into {agent.name}"
        yield Checkup("error" if agent.is_named else "skipped", message, command=_install(agent.name, "user"))


def _installers(agent: AgentSubject) -> dict[str, Installer]:
    """The installations of an agent: those with a record, even if it cannot be read."""
    every = {
        scope: installer_for(agent.app, agent.name, for_project=is_project) for scope, is_project in SCOPES.items()
    }
    return {scope: installer for scope, installer in every.items() if os.path.lexists(installer.record)}


def _install(agent: str, scope: str) -> str:
    return f"handrail install {agent}{' --project' if scope == 'project' else ''}"


def _files(agent: str, scope: str, installer: Installer) -> Checkup:
    command = _install(agent, scope)
    try:
        wrong, is_trusting = _wrong_files(agent, installer)
    except HandrailError as error:
        return Checkup("error", error.message, error.hint, id=scope)
    if wrong is not None:
        return Checkup("error", wrong, command=command, id=scope)
    trusts = f"; {agent} trusts its hooks" if is_trusting else ""
    return Checkup("ok", f"installed for the {scope}; all files are as they should be{trusts}", id=scope)


def _wrong_files(agent: str, installer: Installer) -> tuple[str | None, bool]:
    """What is wrong with installed files, and whether the agent asks its user to trust hooks."""
    record, find_untrusted = installer.known(), getattr(installer.recipe, "untrusted", None)
    if not record:
        return f"the record of the installation cannot be read: `{installer.record}`", False
    if (interpreter := _missing_interpreter(record.get("owned", []))) is not None:
        return f"its files start `{interpreter}`, which does not exist", False
    changes = installer.plan_install()
    if find_untrusted is not None and (untrusted := find_untrusted()):
        return f"{agent} does not trust these hooks, so they do not run: {some(untrusted)}", True
    return _change_words(changes, record.get("handrail")) if changes else None, find_untrusted is not None


def _change_words(changes: list[FileChange], version: object) -> str:
    by_verb = {verb: [one.path for one in changes if one.verb == verb] for verb in _VERBS}
    message = "; ".join(f"{_VERBS[verb]}: {some(paths, 3)}" for verb, paths in by_verb.items() if paths)
    if version != handrail.__version__:
        by = f"Handrail {version}" if isinstance(version, str) else "another version of Handrail"
        return f"installed by {by}, and this is {handrail.__version__}; {message}"
    return f"installed files are not as they should be; {message}"


def _missing_interpreter(paths: list[str]) -> str | None:
    """The interpreter that installed files name, if it does not exist."""
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                interpreters = _INTERPRETER.findall(file.read())
        except (OSError, UnicodeDecodeError):
            continue
        for interpreter in interpreters:
            if not os.path.exists(interpreter):
                return str(interpreter)
    return None


def switch(agent: AgentSubject) -> Checkup | None:
    """Settings that switch hooks off. The agent then runs free, whatever workflow is active."""
    finders = [getattr(one.recipe, "switched_off", None) for one in _installers(agent).values()]
    answers = [find() for find in finders if find is not None]
    if settings := list(dict.fromkeys(setting for settings in answers for setting in settings)):
        message = f"{agent.name} runs no hooks, so nothing is enforced: {some(settings)}"
        return Checkup("error", message, "remove this setting from the file")
    return Checkup("ok", f"no setting of {agent.name} switches hooks off") if answers else None


async def hook(agent: AgentSubject) -> list[Checkup]:
    checkups, installers = [], _installers(agent)
    for scope, installer in installers.items():
        if scope == "project" and "user" in installers:
            checkups.append(Checkup("skipped", "the user's installation answers in its place", id="hook.project"))
        else:
            checkups.append(await _check_hook(agent, scope, installer))
    return checkups


async def _check_hook(agent: AgentSubject, scope: str, installer: Installer) -> Checkup:
    id_, install = f"hook.{scope}", _install(agent.name, scope)
    find_trial = getattr(installer.recipe, "trial", None)
    if find_trial is None:
        return Checkup("skipped", f"it is not known how to call the hook of {agent.name}", id=id_)
    try:
        is_changed = not installer.known() or bool(installer.plan_install())
    except HandrailError:
        is_changed = True
    if is_changed:
        message = f"not called, because its files are not as they should be: see {agent.name}.{scope}"
        return Checkup("skipped", message, id=id_)
    trial = find_trial(CONVERSATION, agent.app.project)
    env = {name: value for name, value in agent.app.env.items() if name != FOR_ONE_CALL} | dict(trial.env)
    task = Task(argv=trial.argv, cwd=agent.app.project, env=env, timeout=SECONDS, stdin=trial.message.encode())
    try:
        result = await run_task(task)
    except OSError as error:
        return Checkup("error", f"the hook cannot be started: {error.strerror}", command=install, id=id_)
    if ALIVE in result.output:
        return Checkup("ok", f"the hook answers, in {result.seconds:.1f} s", id=id_)
    repair = f"correct what the other checks found, then run `{install}`"
    return Checkup("error", f"the hook does not answer as it should: {_outcome(result)}", repair, id=id_)


def _outcome(result: ProgramResult) -> str:
    if result.timed_out:
        return f"no answer after {SECONDS:g} seconds"
    output = one_line(result.output) or "no output"
    if len(output) > LONGEST_OUTPUT:  # a path that is cut inside could not be hidden in a report
        output = output[:LONGEST_OUTPUT].rpartition(" ")[0] or "much output without a blank"
    return f"exit code {result.exit_code}, {output}"


OLD_DAYS = 90
"""After so many days a probe is said to be old. It still counts: agents change by updates, not by time."""
DAY = 24 * 3600.0


def probe(agent: AgentSubject) -> Checkup | None:
    if not agent.program.path and not agent.is_named:
        return None
    app, command = agent.app, f"handrail doctor {agent.name} --probe"
    probe = phase_requirements.read_probe(app.places, agent.name)
    if probe is None:
        return Checkup("skipped", f"what {agent.name} really enforces was not measured here", command=command)
    message = f"version {probe.version}, measured {time.strftime('%Y-%m-%d', time.localtime(probe.time))}"
    if (problem := phase_requirements.why_outdated(probe)) is not None:
        return Checkup("warning", f"{problem} ({message})", command=command)
    if (why := phase_requirements.unmet(app.places, agent.name)) is not None:
        fix = f"phases with `require: hard` need another version; after an update, run `{command}`"
        return Checkup("warning", f"{message}; does not meet `require: hard`: {why}", fix)
    days = (app.clock() - probe.time) / DAY
    if days > OLD_DAYS:
        message += f", {int(days)} days ago; it may be time to measure again"
        return Checkup("warning", message, command=command)
    return Checkup("ok", f"{message}; meets `require: hard`")


def kept_probe(app: App, agent: str) -> dict[str, Any] | None:
    """The last probe of an agent as JSON data; None if there is none."""
    probe = phase_requirements.read_probe(app.places, agent)
    return None if probe is None else {**probe_json(probe), "outdated": phase_requirements.why_outdated(probe)}


def probe_json(probe: phase_requirements.Probe) -> dict[str, Any]:
    rows = [{"row": row.row, "level": row.level, "detail": row.detail, "absent": row.is_absent} for row in probe.rows]
    about = {"agent": probe.agent, "version": probe.version, "program": probe.program, "time": probe.time}
    return {**about, "rows": rows}


FILE_WITH_LOGIN = "GOOGLE_APPLICATION_CREDENTIALS"
"""A variable that is no secret, but names a file with one."""


def login(agent: AgentSubject) -> Checkup | None:
    """Whether an agent that is there has a login, as far as variables and files show."""
    if agent.program.path is None:
        return None
    env, executor, path = agent.app.run_env, agent.executor, None
    variables = sorted(name for name in env if env[name].strip() and _is_login(name, executor.ENVIRONMENT))
    if (place := getattr(executor, "LOGIN", None)) is not None:
        variable, folder, name = place
        path = os.path.join(env.get(variable) or os.path.join(agent.app.places.home, folder), name)
    if path is not None and os.path.exists(path) and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        quoted_path = shlex.quote(path)
        return Checkup("warning", f"other users can read `{path}`, a login", command=f"chmod 600 {quoted_path}")
    logins = [*variables, *([f"`{path}`"] if path is not None and os.path.isfile(path) else [])]
    if logins:
        return Checkup("ok", f"a login is there: {some(logins)}")
    details = f"no variable with a key{f' and no `{path}`' if path else ''}; it may be in the key ring of the system"
    fix = f"start `{agent.program.path}` and log in, or set the variable with your key"
    is_used = agent.is_named or agent.name in agent.app.installed_agents()
    return Checkup("warning" if is_used else "skipped", f"no login of {agent.name} was found: {details}", fix)


def _is_login(name: str, patterns: tuple[str, ...]) -> bool:
    is_secret = DEFAULT_RULES.names(name) or name == FILE_WITH_LOGIN
    return is_secret and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
