"""Checks of what people wrote: settings, workflows, flows, the playbook, and who else can change them."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator

from handrail.doctor.checkup import Checkup, Subject
from handrail.playbook.load import read_playbook
from handrail.project import shown_path
from handrail.source.diagnostics import Diagnostic, as_line
from handrail.source.plain import counted, some

_OTHERS_WRITE = 0o022


def config(subject: Subject) -> Iterator[Checkup]:
    """Settings and definitions of the user choose programs, so nobody else may change them."""
    top, bad = subject.app.places.config, []
    for path in [top, *_below(top)]:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISLNK(found.st_mode) and (found.st_mode & _OTHERS_WRITE or found.st_uid not in (0, os.geteuid())):
            bad.append(path)
    if bad:
        told = f"other users can change {some([f'`{path}`' for path in bad], 3)}, which choose the programs that run"
        yield Checkup("config", "error", told, command=f"chmod go-w {' '.join(map(shlex.quote, bad))}")
    else:
        yield Checkup("config", "ok", "only you can change your settings and definitions")


def _below(top: str) -> list[str]:
    return [os.path.join(at, name) for at, folders, names in os.walk(top) for name in (*folders, *names)]


def settings(subject: Subject) -> Iterator[Checkup]:
    found = [problem for problem in subject.app.problems if _is_of_settings(problem)]
    yield _of_problems("settings", "the settings are valid", found, subject)


def definitions(subject: Subject) -> Iterator[Checkup]:
    checked = subject.app.validate([])
    others = [problem for problem in checked.problems if not _is_of_settings(problem)]
    count = sum(checked.counts.values())
    fine = f"{counted(count, 'file')} of definitions and settings checked"
    yield _of_problems("definitions", fine, others, subject)


def _is_of_settings(problem: Diagnostic) -> bool:
    return os.path.basename(problem.file).startswith("settings.")


def _of_problems(id_: str, fine: str, found: list[Diagnostic], subject: Subject) -> Checkup:
    errors = [problem for problem in found if problem.severity == "error"]
    if not found:
        return Checkup(id_, "ok", fine)
    files = some(sorted({shown_path(problem.file, subject.app.project) for problem in errors or found}))
    told = f"{counted(len(errors), 'error')} and {counted(len(found) - len(errors), 'warning')} in {files}"
    return Checkup(id_, "error" if errors else "warning", told, "run `handrail validate`, which shows each place")


def playbook(subject: Subject) -> Iterator[Checkup]:
    found = read_playbook(subject.app.project)
    if found.folder is None:
        told = "the project has no playbook; `handrail playbook init` makes one"
        yield Checkup("playbook", "skipped", told)
    elif not found.problems:
        practices = counted(len(found.playbook.practices) if found.playbook else 0, "practice")
        yield Checkup("playbook", "ok", f"`{found.folder}` has {practices}")
    else:
        worst = min(found.problems, key=lambda problem: problem.severity != "error")
        message = as_line(worst._replace(file=shown_path(worst.file, subject.app.project)))
        fix = "run `handrail playbook check`, which shows each place"
        yield Checkup("playbook", "error" if found.playbook is None else "warning", message, fix)
