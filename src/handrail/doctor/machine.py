"""Checks of this machine and this project: Python, folders, definitions, settings, journals, what is left over."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Iterator

from handrail.app import App
from handrail.doctor.checkup import Checkup
from handrail.doctor.playbook import playbook_checkup
from handrail.errors import HandrailError, StateError
from handrail.project import checkout, shown_path
from handrail.source.diagnostics import Diagnostic
from handrail.source.plain import counted, some
from handrail.state.aside import ASIDE
from handrail.state.private import refuse_shared

OLDEST = (3, 11)
NEW = ".new"
"""The ending of a file that is being written. One that is left belongs to a process that was killed."""


def machine_checks(app: App) -> Iterator[Checkup]:
    """All checks that do not depend on an agent."""
    yield _python()
    yield _state(app)
    yield _git(app)
    yield _settings(app)
    yield _definitions(app)
    yield playbook_checkup(app.project)
    yield _sessions(app)
    yield _runs(app)
    yield _leftovers(app)
    yield _worktrees(app)


def _python() -> Checkup:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return Checkup("python", "error", f"Python {version} is too old", f"install Handrail with Python {wanted}")
    return Checkup("python", "ok", f"Python {version} at {sys.executable}")


def _state(app: App) -> Checkup:
    folder = app.places.state
    try:
        refuse_shared(folder)
    except StateError as error:
        return Checkup("state", "error", error.message, error.hint)
    if not os.path.isdir(folder):
        return Checkup("state", "ok", f"`{folder}` does not exist yet; it is created when it is needed")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Checkup("state", "error", f"`{folder}` cannot be written", f"run `chmod u+rwx {folder}`")
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    if mode & 0o077:
        return Checkup("state", "warning", f"other users can read `{folder}`", f"run `chmod 700 {folder}`")
    return Checkup("state", "ok", f"`{folder}` is writable and private")


def _git(app: App) -> Checkup:
    program = shutil.which("git", path=app.env.get("PATH"))
    if program is None:
        return Checkup("git", "warning", "`git` is not on the PATH", "install Git")
    if checkout(app.project) is None:
        return Checkup("git", "warning", f"`{app.project}` is not in a Git repository", "run `git init` in it")
    return Checkup("git", "ok", f"{program}; the project is in a repository")


def _settings(app: App) -> Checkup:
    found = [problem for problem in app.problems if os.path.basename(problem.file).startswith("settings.")]
    return _of_problems("settings", "the settings are valid", found, app)


def _definitions(app: App) -> Checkup:
    try:
        checked = app.validate([])
    except HandrailError as error:
        return Checkup("definitions", "error", error.message, error.hint)
    others = [one for one in checked.problems if not os.path.basename(one.file).startswith("settings.")]
    count = sum(checked.counts.values())
    return _of_problems("definitions", f"{counted(count, 'file')} of definitions and settings checked", others, app)


def _of_problems(id_: str, fine: str, found: list[Diagnostic], app: App) -> Checkup:
    errors = [problem for problem in found if problem.severity == "error"]
    if not found:
        return Checkup(id_, "ok", fine)
    files = some(sorted({shown_path(problem.file, app.project) for problem in errors or found}))
    told = f"{counted(len(errors), 'error')} and {counted(len(found) - len(errors), 'warning')} in {files}"
    return Checkup(id_, "error" if errors else "warning", told, "run `handrail validate`")


def _sessions(app: App) -> Checkup:
    try:
        reports = app.sessions.reports()
    except HandrailError as error:
        return Checkup("sessions", "error", error.message, error.hint)
    bad = [report.session for report in reports if report.refusal]
    if bad:
        fix = f"`handrail cancel --yes --session {bad[0]}` frees the conversation and puts the session aside"
        return Checkup("sessions", "error", f"cannot be read: {some(bad)}", fix)
    active = sum(report.state.is_active for report in reports)
    return Checkup("sessions", "ok", f"{counted(len(reports), 'session')}, {active or 'none'} active")


def _runs(app: App) -> Checkup:
    try:
        found = app.runs.summaries()
    except HandrailError as error:
        return Checkup("runs", "error", error.message, error.hint)
    bad = [row.id for row in found if row.status == "damaged"]
    if bad:
        fix = "`handrail prune --damaged --yes` moves damaged runs away; nothing is deleted"
        return Checkup("runs", "error", f"cannot be read: {some(bad)}", fix)
    return Checkup("runs", "ok", counted(len(found), "run"))


def _leftovers(app: App) -> Checkup:
    """Files of processes that were killed, and what was put aside."""
    left, aside = [], os.path.join(app.places.state, ASIDE)
    for folder, folders, names in os.walk(app.places.state):
        folders[:] = [name for name in folders if os.path.join(folder, name) != app.places.trees]
        if not folder.startswith(aside):
            left += [os.path.join(folder, name) for name in names if name.endswith(NEW)]
    if left:
        return Checkup("leftovers", "warning", f"unfinished files: {some(left, 3)}", f"delete {some(left, 3)}")
    kept = len(os.listdir(aside)) if os.path.isdir(aside) else 0
    if kept:
        return Checkup("leftovers", "ok", f"{counted(kept, 'damaged thing')} put aside in `{aside}`")
    return Checkup("leftovers", "ok", "nothing is left over")


def _worktrees(app: App) -> Checkup:
    """Worktrees of runs, and what kills left of them."""
    if app.worktrees.is_empty:
        return Checkup("worktrees", "ok", "no run has a worktree")
    try:
        ids = frozenset(app.runs.ids())
        left = asyncio.run(app.worktrees.leftovers(ids.__contains__))
    except HandrailError as error:
        return Checkup("worktrees", "error", error.message, error.hint)
    free = [one.words for one in left if one.work is None]
    if free:
        return Checkup("worktrees", "warning", f"left over: {some(free, 3)}", "run `handrail prune --yes`")
    if left:
        fix = "`handrail worktrees` and `git branch` show them; merge or delete them by hand"
        return Checkup("worktrees", "warning", f"left over: {some([one.words for one in left], 3)}", fix)
    return Checkup("worktrees", "ok", counted(len(app.worktrees.trees.of_project(app.project)), "worktree"))
