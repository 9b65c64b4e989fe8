"""Checks of what people wrote: settings, workflows, flows, the playbook, plugins, their trust, and services.

Also checks who else can change these files, and whether AgentWeaver left something that can be imported.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping

from handrail.base.errors import StateError
from handrail.base.files import entries
from handrail.doctor.examination import Checkup, Subject
from handrail.extensions.contracts import NodeError
from handrail.extensions.plugins.manifest import Plugin
from handrail.project.agentweaver_files import FOLDER, SCOPES, not_imported, scope_files
from handrail.settings.environment import with_env_files
from handrail.settings.folders import shown_path
from handrail.source.diagnostics import Diagnostic, as_line, has_errors
from handrail.source.plain_text import counted, some
from handrail.steps.playbook.load import read_playbook
from handrail.steps.services import github, gitlab
from handrail.steps.services.chat import telegram_bot
from handrail.steps.services.jira import jira

_OTHERS_WRITE = 0o022


def config(subject: Subject) -> Checkup:
    """Settings and definitions of the user choose programs, so nobody else may change them."""
    top, bad = subject.app.places.config, []
    paths = [os.path.join(at, name) for at, folders, names in os.walk(top) for name in (*folders, *names)]
    for path in [top, *paths]:
        try:
            status = os.lstat(path)
        except OSError:
            continue
        is_shared = status.st_mode & _OTHERS_WRITE or status.st_uid not in (0, os.geteuid())
        if is_shared and not stat.S_ISLNK(status.st_mode):
            bad.append(path)
    if bad:
        message = f"other users can change {some([f'`{path}`' for path in bad], 3)}, which choose the programs that run"
        return Checkup("error", message, command=f"chmod go-w {' '.join(map(shlex.quote, bad))}")
    return Checkup("ok", "only you can change your settings and definitions")


def settings(subject: Subject) -> Checkup:
    problems = [problem for problem in subject.app.problems if _is_of_settings(problem)]
    return _of_problems("the settings are valid", problems, subject)


def definitions(subject: Subject) -> Checkup:
    result = subject.app.validate([])
    problems = [problem for problem in result.problems if not _is_of_settings(problem)]
    message = f"{counted(sum(result.counts.values()), 'file')} of definitions and settings checked"
    return _of_problems(message, problems, subject)


def _is_of_settings(problem: Diagnostic) -> bool:
    return os.path.basename(problem.file).startswith("settings.")


def _of_problems(message_if_none: str, problems: list[Diagnostic], subject: Subject) -> Checkup:
    errors = [problem for problem in problems if problem.severity == "error"]
    if not problems:
        return Checkup("ok", message_if_none)
    files = some(sorted({shown_path(problem.file, subject.app.project) for problem in errors or problems}))
    message = f"{counted(len(errors), 'error')} and {counted(len(problems) - len(errors), 'warning')} in {files}"
    return Checkup("error" if errors else "warning", message, "run `handrail validate`, which shows each place")


def playbook(subject: Subject) -> Checkup:
    book = read_playbook(subject.app.project)
    if book.folder is None:
        message = "the project has no playbook; `handrail playbook init` makes one"
        return Checkup("skipped", message)
    if not book.problems:
        practices = counted(len(book.playbook.practices) if book.playbook else 0, "practice")
        return Checkup("ok", f"`{book.folder}` has {practices}")
    worst = min(book.problems, key=lambda problem: problem.severity != "error")
    message = as_line(worst._replace(file=shown_path(worst.file, subject.app.project)))
    fix = "run `handrail playbook check`, which shows each place"
    return Checkup("error" if book.playbook is None else "warning", message, fix)


def agentweaver(subject: Subject) -> Checkup:
    project, home, state = subject.app.project, subject.app.places.home, subject.app.places.state
    files = not_imported(state, project, scope_files(os.path.join(project, SCOPES)))
    files += not_imported(state, home, entries(os.path.join(home, FOLDER)))
    if files:
        message = f"AgentWeaver saved {counted(len(files), 'file')} that Handrail has not imported: {some(files, 3)}"
        return Checkup("warning", message, command="handrail import agentweaver")
    return Checkup("ok", "nothing of AgentWeaver is left to import")


def plugins(subject: Subject) -> Iterator[Checkup]:
    """Whether each plugin can be used. Tries the code of those that are trusted."""
    all_plugins = subject.app.definitions.plugins
    if not all_plugins.found:
        yield Checkup("skipped", "there are no plugins")
    for plugin in all_plugins.found:
        yield _of_plugin(plugin, all_plugins.problems(plugin, again=True))


def _of_plugin(plugin: Plugin, problems: list[Diagnostic]) -> Checkup:
    id_ = f"plugin.{plugin.id}"
    if not problems:
        version = plugin.manifest.version if plugin.manifest is not None else ""
        return Checkup("ok", f"{version} from {plugin.place.source}, `{plugin.place.folder}`", id=id_)
    worst = min(problems, key=lambda problem: problem.severity != "error")
    suffix = f", and {counted(len(problems) - 1, 'more problem')}" if len(problems) > 1 else ""
    fix = f"run `handrail plugins`; {worst.hint}" if worst.hint else "run `handrail plugins`"
    return Checkup("error" if has_errors(problems) else "warning", f"{worst.message}{suffix}", fix, id=id_)


def trust(subject: Subject) -> Checkup:
    """A project whose definitions run nothing needs no trust."""
    app = subject.app
    try:
        record = app.trust.record
    except StateError as error:
        return Checkup("error", error.message, error.hint)
    if record is not None:
        by = "" if record.path == app.project else f", because everything below `{record.path}` is"
        return Checkup("ok", f"the project is trusted{by}")
    programs = app.definitions.own_programs()
    if not programs:
        return Checkup("skipped", "nobody has trusted the project, and its definitions run nothing")
    message = f"nobody has trusted the project, so it does not run {counted(len(programs), 'thing')} of its definitions"
    fix = "look at `handrail trust --show`, then run `handrail trust`"
    return Checkup("warning", message, fix, "handrail trust")


SERVICES: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, str]], object]]] = {
    "jira": (("JIRA_BASE_URL", "JIRA_API_KEY", "JIRA_USERNAME", "JIRA_AUTH_MODE"), jira),
    "github": (("GITHUB_API_URL", "GITHUB_TOKEN", "GH_TOKEN"), github.open_service),
    "gitlab": (("GITLAB_BASE_URL", "GITLAB_HOST", "GITLAB_TOKEN"), gitlab.open_service),
    "telegram": (("TELEGRAM_BOT_TOKEN", "BOT_TOKEN", "TELEGRAM_CHAT_ID", "chat_id", "CHAT_ID"), telegram_bot),
}
"""The variables of each service, and the function that raises `NodeError` if something is missing or wrong."""


def services(subject: Subject) -> Iterator[Checkup]:
    env = subject.app.run_env
    for name, (variables, make) in SERVICES.items():
        id_, names = f"services.{name}", [variable for variable in variables if env.get(variable, "").strip()]
        if not names:
            yield Checkup("skipped", f"{name} is not set up", id=id_)
            continue
        try:
            make(env)
        except NodeError as error:
            message = f"{name} is set up only in part ({some(names)} is set)"
            yield Checkup("warning", message, error.message.partition(": ")[2] or error.message, id=id_)
        else:
            yield Checkup("ok", f"{name} is set up with {some(names)}", id=id_)


def variables(subject: Subject) -> Checkup:
    app = subject.app
    if notes := with_env_files(app.env, app.places.home, app.project)[1]:
        return Checkup("warning", "; ".join(notes), "correct the file as the message says")
    return Checkup("ok", "every variable of `.agentweaver/.env` is used, or there is no such file")
