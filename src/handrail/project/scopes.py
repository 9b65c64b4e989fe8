"""The scopes of one project: finds them, judges their stages, archives everything of one, and restores an archive.

An archive has the form of AgentWeaver: `restart-archives/attempt-NNNN/{workspace,artifacts}` in `.artifacts` of the
scope. A new folder with the archive is built beside the scope and synced; then both are exchanged in one step, and the
old one is removed. A process that is killed leaves the old state or the archive, never a mixture. If the system cannot
exchange folders, there is a moment in which the scope has no folder; `settle` then finishes the work.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property

from handrail.base import locks
from handrail.base.dataclasses import dataclass
from handrail.base.errors import NotFound, RefusedError, StateError
from handrail.base.files import entries, exchange, files_below, sync_folder
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL, scope_name
from handrail.driven.artifacts.scope import default_scope, issue_key
from handrail.driven.artifacts.shelf import Shelf
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import ENDED
from handrail.project.agentweaver_files import ARCHIVES, INNER, not_imported, scope_files
from handrail.project.scope_stages import (
    ScopeContext,
    ScopeRun,
    Stage,
    StagePiece,
    StageStanding,
    judge_stages,
    last_code_change,
    load_stages,
    runs_by_scope,
)
from handrail.settings.folders import file_name
from handrail.source.plain_text import some
from handrail.source.suggestions import did_you_mean
from handrail.source.values import Unresolved

ROOTS = (AGENTWEAVER, HANDRAIL)
PATIENCE = 10.0


@dataclass(frozen=True)
class ScopeView:
    """A scope at one moment: its stages, its runs, other artifacts, and its archives.

    `not_imported` are the files that AgentWeaver saved and no import has seen.
    """

    key: str
    folders: list[str]
    standings: list[StageStanding]
    runs: list[ScopeRun]
    not_imported: list[str]
    others: int
    archives: list[str]
    is_current: bool


@dataclass(frozen=True)
class Reset:
    """What a reset archives, or archived: per folder the archive, the number of files and their size.

    `waiting` are the runs that have not ended.
    """

    archives: list[tuple[str, str, int, int]]
    waiting: list[ScopeRun]


class Scopes:
    """The scopes of one project. `state` is Handrail's state folder. `folder` has their files, if it is a worktree."""

    def __init__(self, runs: Runs, state: str, env: Mapping[str, str], folder: str | None = None) -> None:
        self.project = folder or runs.project
        self.runs = runs
        self.state = state
        self.env = env

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        return load_stages()

    @cached_property
    def _runs(self) -> dict[str, list[ScopeRun]]:
        return runs_by_scope(self.runs, {prompt for stage in self.stages for prompt in stage.prompts})

    @cached_property
    def _code(self) -> StagePiece | None:
        return asyncio.run(last_code_change(self.project, self.env))

    def keys(self) -> list[str]:
        """The keys of all scopes that have a folder or published artifacts."""
        found = {
            entry.name
            for root in ROOTS
            for entry in entries(os.path.join(self.project, root))
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
        }
        return sorted(found | {record.scope for record in self.runs.shelves.records()})

    def find(self, name: str) -> str:
        """The key of a scope: the key itself, an issue, or the only key that begins like this."""
        known = self.keys()
        issue = issue_key(name)
        wanted = [name]
        with suppress(Unresolved):
            wanted += [scope_name(name), default_scope(self.project, issue or name)]
        exact = [key for key in wanted if key in known]
        if exact:
            return exact[0]
        begins = [key for key in known if name and key.startswith(name.lower())]
        if len(begins) == 1:
            return begins[0]
        hint = f"scopes: {some(begins or known)}" if known else "`handrail run FLOW` makes one"
        near = None if begins else did_you_mean(name, known)
        raise NotFound(f"there is no scope `{name}` in this project", near or hint)

    def view(self, key: str) -> ScopeView:
        """A scope as it stands. Finishes a reset that was killed."""
        for folder in self._folders(key, also_missing=True):
            if is_unsettled(folder):
                with self._locked(key):
                    settle(folder)
        shelf = Shelf(self.runs.shelves.folder_of(key))
        ground = ScopeContext(self.project, key, shelf, tuple(self._runs.get(key, ())), self.env)
        contents = {record.id: record.sha256 for record in ground.records}
        found = judge_stages(map(ground.evidence, self.stages), self._code, contents)
        own = {piece.path for one in found for piece in one.evidence.pieces}
        others = {record.path for record in ground.records if os.path.isfile(os.path.join(self.project, record.path))}
        saved = scope_files(os.path.join(self.runs.project, AGENTWEAVER, key))
        return ScopeView(
            key,
            self._folders(key),
            [one for one in found if one.state != "missing" or not one.stage.optional],
            list(ground.runs),
            not_imported(self.state, self.runs.project, saved),
            len(others - own),
            [path for folder in self._folders(key) for path in attempts(folder)],
            key == default_scope(self.project),
        )

    def _folders(self, key: str, *, also_missing: bool = False) -> list[str]:
        """The folders of a scope."""
        found = [os.path.join(self.project, root, key) for root in ROOTS]
        return [folder for folder in found if also_missing or os.path.isdir(folder)]

    def plan_reset(self, key: str) -> Reset:
        """What a reset would archive. Raises `RefusedError` if a run of the scope is driven now."""
        runs = self._runs.get(key, [])
        driven = [run.summary.id for run in runs if self.runs.engine.driver(run.summary.id) is not None]
        if driven:
            hint = f"`handrail stop {driven[0]}` stops it"
            raise RefusedError(f"the scope `{key}` is used by a run that is running: {some(driven)}", hint)
        found = Reset([], [run for run in runs if run.summary.status not in (*ENDED, "damaged")])
        for folder in self._folders(key):
            if contents(folder):
                refuse_link(folder)
                files = files_below(folder, without=(ARCHIVES,))
                sizes = [entry.stat(follow_symlinks=False).st_size for entry in files]
                found.archives.append((folder, next_attempt(folder), len(sizes), sum(sizes)))
        return found

    def reset(self, key: str) -> Reset:
        """Archive everything of a scope. Each of its folders is archived in one step."""
        with self._locked(key):
            for folder in self._folders(key, also_missing=True):
                settle(folder)
            plan = self.plan_reset(key)
            for folder, _, _, _ in plan.archives:
                archive_folder(folder)
        return plan

    def restore(self, key: str, attempt: str) -> list[str]:
        """Put an archive back. Returns the paths of the archives that were restored."""
        with self._locked(key):
            self.plan_reset(key)
            return [restore_folder(folder, attempt) for folder in self.having(key, attempt)]

    def having(self, key: str, attempt: str) -> list[str]:
        """The folders of a scope that have this archive. Raises `NotFound` if none has it."""
        archives = {folder: attempts(folder) for folder in self._folders(key)}
        found = [folder for folder, paths in archives.items() if archive_named(attempt, paths)]
        if not found:
            raise _unknown(attempt, next(iter(archives.values()), []))
        return found

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        def busy() -> StateError:
            return StateError(f"the scope `{key}` is being reset by another process", "wait until it ends")

        path = os.path.join(self.state, "scopes", file_name(self.project), f"{file_name(key)}.lock")
        with locks.locked(path, PATIENCE, busy):
            yield


WORKSPACE, ARTIFACTS = "workspace", "artifacts"
_ATTEMPT = re.compile(r"attempt-([0-9]{4,9})\Z")
_NEW, _OLD = ".handrail-new", ".handrail-old"
PlaceFile = Callable[[str, str], None]


def attempts(scope: str) -> list[str]:
    """The paths of the archives in the folder of a scope, the oldest first."""
    found = [entry.path for entry in entries(_archives(scope)) if _ATTEMPT.match(entry.name)]
    return sorted(found, key=_number)


def archive_named(name: str, paths: list[str]) -> str | None:
    """The path of the archive `1`, `0001` or `attempt-0001`. None if there is none."""
    wanted = name.removeprefix("attempt-")
    return next((path for path in paths if wanted.isdecimal() and int(wanted) == _number(path)), None)


def _unknown(name: str, paths: list[str]) -> NotFound:
    known = some([os.path.basename(path) for path in paths])
    return NotFound(f"this scope has no archive `{name}`", f"its archives: {known}" if paths else None)


def contents(scope: str) -> list[os.DirEntry[str]]:
    """What a reset archives: all entries of the workspace and of `.artifacts`, but not the archives."""
    inner = [entry for entry in entries(os.path.join(scope, INNER)) if entry.name != ARCHIVES]
    return [entry for entry in entries(scope) if entry.name != INNER] + inner


def next_attempt(scope: str) -> str:
    """The path of the next archive."""
    last = max(map(_number, attempts(scope)), default=0)
    return os.path.join(_archives(scope), f"attempt-{last + 1:04d}")


def archive_folder(scope: str) -> str:
    """Move everything of a scope into its next archive, and return the path of the archive."""
    refuse_link(scope)
    settle(scope)
    path = next_attempt(scope)
    new = _beside(scope, _NEW)
    into = os.path.join(new, os.path.relpath(path, scope))
    with _built(new, scope):
        _copy(_archives(scope), _archives(new), link_file)
        _copy(scope, os.path.join(into, WORKSPACE), link_file, without=INNER)
        _copy(os.path.join(scope, INNER), os.path.join(into, ARTIFACTS), link_file, without=ARCHIVES)
    _swap(scope, new)
    return path


def restore_folder(scope: str, attempt: str) -> str:
    """Put an archive back into an empty scope. The archive stays. Returns its path."""
    refuse_link(scope)
    settle(scope)
    path = archive_named(attempt, attempts(scope))
    if path is None:
        raise _unknown(attempt, attempts(scope))
    if contents(scope):
        raise RefusedError(
            "the scope is not empty, so nothing is restored", "reset it first: that archives what it has"
        )
    new = _beside(scope, _NEW)
    with _built(new, scope):
        _copy(_archives(scope), _archives(new), link_file)
        _copy(os.path.join(path, WORKSPACE), new, copy_file)
        _copy(os.path.join(path, ARTIFACTS), os.path.join(new, INNER), copy_file)
    _swap(scope, new)
    return path


def is_unsettled(scope: str) -> bool:
    """True if a killed process left a scope without its folder."""
    return not os.path.lexists(scope) and os.path.lexists(_beside(scope, _OLD))


def settle(scope: str) -> None:
    """Finish or undo what a killed process left beside a scope. The caller holds the lock of the scope."""
    new, old = _beside(scope, _NEW), _beside(scope, _OLD)
    if is_unsettled(scope):
        os.rename(new if os.path.lexists(new) else old, scope)
        sync_folder(os.path.dirname(scope))
    for path in (new, old):
        _remove(path)


def refuse_link(scope: str) -> None:
    """Raise `RefusedError` if the folder of a scope, or its inner one, is a link: it would lead elsewhere."""
    for path in (os.path.dirname(scope), scope, os.path.join(scope, INNER), _archives(scope)):
        if os.path.islink(path):
            raise RefusedError(f"`{path}` is a link, so it is left alone", "replace it with the folder itself")


def _archives(scope: str) -> str:
    return os.path.join(scope, INNER, ARCHIVES)


def _number(path: str) -> int:
    found = _ATTEMPT.match(os.path.basename(path))
    return int(found[1]) if found else 0


def _beside(scope: str, ending: str) -> str:
    folder, name = os.path.split(scope)
    return os.path.join(folder, f".{name}{ending}")


@contextmanager
def _built(new: str, scope: str) -> Iterator[None]:
    """Build a new folder: synced in the end, and removed if something fails."""
    try:
        os.makedirs(_archives(new))
        shutil.copystat(scope, new)
        yield
        for folder, _, _ in os.walk(new):
            sync_folder(folder)
        sync_folder(os.path.dirname(new))
    except OSError as error:
        _remove(new)
        hint = "free some space or correct the permissions, then run the command again; nothing was changed"
        raise StateError(f"the archive of `{scope}` cannot be written: {error.strerror or error}", hint) from error
    except BaseException:
        _remove(new)
        raise


def _swap(scope: str, new: str) -> None:
    """Let the new folder be the scope, and remove the old one."""
    parent = os.path.dirname(scope)
    if exchange(scope, new):
        sync_folder(parent)
        _remove(new)
        return
    old = _beside(scope, _OLD)
    os.rename(scope, old)
    os.rename(new, scope)
    sync_folder(parent)
    _remove(old)


def _copy(source: str, target: str, place: PlaceFile, without: str = "") -> None:
    """Bring a folder with all that is below it to a new place. Links are not followed."""
    if os.path.islink(source) or not os.path.isdir(source):
        return
    os.makedirs(target, exist_ok=True)
    with os.scandir(source) as listed:
        below = [entry for entry in listed if entry.name != without]
    for entry in below:
        copy = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            _copy(entry.path, copy, place)
        else:
            place(entry.path, copy)
    shutil.copystat(source, target)


def link_file(source: str, target: str) -> None:
    """The same file under a second name; a copy if the file system has no such names."""
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        copy_file(source, target)


def copy_file(source: str, target: str) -> None:
    """A copy of a file with its times and permissions, on the disk. A link is copied as a link."""
    shutil.copy2(source, target, follow_symlinks=False)
    if not os.path.islink(target):
        handle = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(path: str) -> None:
    if os.path.lexists(path):
        shutil.rmtree(path)
        sync_folder(os.path.dirname(path))
