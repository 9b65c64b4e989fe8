"""Checks of logins: of services in variables, and of agents.

Only names are shown; no file with a login is opened.
"""

from __future__ import annotations

import fnmatch
import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping

from handrail.doctor.checkup import Checkup, Subject
from handrail.extensions import registry
from handrail.extensions.contracts import NodeError
from handrail.settings.environment import with_env_files
from handrail.settings.secrets import DEFAULT_RULES
from handrail.source.plain_text import some
from handrail.steps.services import github, gitlab
from handrail.steps.services.chat import telegram_bot
from handrail.steps.services.jira import jira

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
    used = (subject.agent, *subject.app.installed())
    programs = await subject.programs()
    return [
        _login(subject, agent, program.path, is_used=agent in used)
        for agent, program in programs.items()
        if program.path is not None
    ]


def _login(subject: Subject, agent: str, program: str, *, is_used: bool) -> Checkup:
    id_, env = f"{agent}.login", subject.app.run_env
    named = sorted(name for name in env if env[name].strip() and _is_login(name, registry.executor(agent).ENVIRONMENT))
    path = _login_file(agent, env, subject.app.places.home)
    if path is not None and os.path.exists(path) and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        command = f"chmod 600 {shlex.quote(path)}"
        return Checkup(id_, "warning", f"other users can read `{path}`, a login", command=command)
    there = [*named, *([f"`{path}`"] if path is not None and os.path.isfile(path) else [])]
    if there:
        return Checkup(id_, "ok", f"a login is there: {some(there)}")
    where = f"no variable with a key{f' and no `{path}`' if path else ''}; it may be in the key ring of the system"
    fix = f"start `{program}` and log in, or set the variable with your key"
    return Checkup(id_, "warning" if is_used else "skipped", f"no login of {agent} was found: {where}", fix)


def _is_login(name: str, patterns: tuple[str, ...]) -> bool:
    is_secret = DEFAULT_RULES.names(name) or name == FILE_WITH_LOGIN
    return is_secret and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _login_file(agent: str, env: Mapping[str, str], home: str) -> str | None:
    """The file in which an agent keeps a login; None if that is not known."""
    place = getattr(registry.executor(agent), "LOGIN", None)
    if place is None:
        return None
    variable, folder, name = place
    return os.path.join(env.get(variable) or os.path.join(home, folder), name)
