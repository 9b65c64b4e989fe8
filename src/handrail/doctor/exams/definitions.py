"""Checks of what people wrote: settings, workflows, flows, the playbook, plugins, and their trust.

Also checks who else can change these files, and whether AgentWeaver left something that can be imported.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator

from handrail.base.errors import StateError
from handrail.base.files import entries
from handrail.doctor.examination import Checkup, Subject
from handrail.extensions.plugins.plugin import Plugin
from handrail.project.agentweaver_files import FOLDER, SCOPES, not_imported, scope_files
from handrail.settings.folders import shown_path
from handrail.source.diagnostics import Diagnostic, as_line, has_errors
from handrail.source.plain_text import counted, some
from handrail.steps.playbook.load import read_playbook

_OTHERS_WRITE = 0o022


def config(subject: Subject) -> Iterator[Checkup]:
    """Settings and definitions of the user choose programs, so nobody else may change them."""
    top, bad = subject.app.places.config, []
    below = [os.path.join(at, name) for at, folders, names in os.walk(top) for name in (*folders, *names)]
    for path in [top, *below]:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISLNK(found.st_mode) and (found.st_mode & _OTHERS_WRITE or found.st_uid not in (0, os.geteuid())):
            bad.append(path)
    if bad:
        message = f"other users can change {some([f'`{path}`' for path in bad], 3)}, which choose the programs that run"
        yield Checkup("config", "error", message, command=f"chmod go-w {' '.join(map(shlex.quote, bad))}")
    else:
        yield Checkup("config", "ok", "only you can change your settings and definitions")


def settings(subject: Subject) -> Iterator[Checkup]:
    found = [problem for problem in subject.app.problems if _is_of_settings(problem)]
    yield _of_problems("settings", "the settings are valid", found, subject)


def definitions(subject: Subject) -> Iterator[Checkup]:
    checked = subject.app.validate([])
    others = [problem for problem in checked.problems if not _is_of_settings(problem)]
    fine = f"{counted(sum(checked.counts.values()), 'file')} of definitions and settings checked"
    yield _of_problems("definitions", fine, others, subject)


def _is_of_settings(problem: Diagnostic) -> bool:
    return os.path.basename(problem.file).startswith("settings.")


def _of_problems(id_: str, fine: str, found: list[Diagnostic], subject: Subject) -> Checkup:
    errors = [problem for problem in found if problem.severity == "error"]
    if not found:
        return Checkup(id_, "ok", fine)
    files = some(sorted({shown_path(problem.file, subject.app.project) for problem in errors or found}))
    message = f"{counted(len(errors), 'error')} and {counted(len(found) - len(errors), 'warning')} in {files}"
    return Checkup(id_, "error" if errors else "warning", message, "run `handrail validate`, which shows each place")


def playbook(subject: Subject) -> Iterator[Checkup]:
    found = read_playbook(subject.app.project)
    if found.folder is None:
        message = "the project has no playbook; `handrail playbook init` makes one"
        yield Checkup("playbook", "skipped", message)
    elif not found.problems:
        practices = counted(len(found.playbook.practices) if found.playbook else 0, "practice")
        yield Checkup("playbook", "ok", f"`{found.folder}` has {practices}")
    else:
        worst = min(found.problems, key=lambda problem: problem.severity != "error")
        message = as_line(worst._replace(file=shown_path(worst.file, subject.app.project)))
        fix = "run `handrail playbook check`, which shows each place"
        yield Checkup("playbook", "error" if found.playbook is None else "warning", message, fix)


def agentweaver(subject: Subject) -> Iterator[Checkup]:
    project, home, state = subject.app.project, subject.app.places.home, subject.app.places.state
    left = not_imported(state, project, scope_files(os.path.join(project, SCOPES)))
    left += not_imported(state, home, entries(os.path.join(home, FOLDER)))
    if left:
        message = f"AgentWeaver saved {counted(len(left), 'file')} that Handrail has not imported: {some(left, 3)}"
        yield Checkup("agentweaver", "warning", message, command="handrail import agentweaver")
    else:
        yield Checkup("agentweaver", "ok", "nothing of AgentWeaver is left to import")


def plugins(subject: Subject) -> Iterator[Checkup]:
    """Whether each plugin can be used. Tries the code of those that are trusted."""
    known = subject.app.definitions.plugins
    if not known.found:
        yield Checkup("plugins", "skipped", "there are no plugins")
    for plugin in known.found:
        yield _of_plugin(plugin, known.problems(plugin, again=True))


def _of_plugin(plugin: Plugin, problems: list[Diagnostic]) -> Checkup:
    id_ = f"plugin.{plugin.id}"
    if not problems:
        version = plugin.manifest.version if plugin.manifest is not None else ""
        return Checkup(id_, "ok", f"{version} from {plugin.place.source}, `{plugin.place.folder}`")
    first = min(problems, key=lambda problem: problem.severity != "error")
    more = f", and {counted(len(problems) - 1, 'more problem')}" if len(problems) > 1 else ""
    fix = f"run `handrail plugins`; {first.hint}" if first.hint else "run `handrail plugins`"
    return Checkup(id_, "error" if has_errors(problems) else "warning", f"{first.message}{more}", fix)


def trust(subject: Subject) -> list[Checkup]:
    """One check. A project whose definitions run nothing needs no trust."""
    app = subject.app
    try:
        record = app.trust.record
    except StateError as error:
        return [Checkup("trust", "error", error.message, error.hint)]
    if record is not None:
        by = "" if record.path == app.project else f", because everything below `{record.path}` is"
        return [Checkup("trust", "ok", f"the project is trusted{by}")]
    programs = app.definitions.own_programs()
    if not programs:
        return [Checkup("trust", "skipped", "nobody has trusted the project, and its definitions run nothing")]
    message = f"nobody has trusted the project, so it does not run {counted(len(programs), 'thing')} of its definitions"
    fix = "look at `handrail trust --show`, then run `handrail trust`"
    return [Checkup("trust", "warning", message, fix, "handrail trust")]
