"""The scopes of one project: finds and shows them, and resets or restores one while no other process does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property

from handrail.base import locks
from handrail.base.dataclasses import dataclass
from handrail.base.errors import NotFound, RefusedError, StateError
from handrail.base.files import entries, files_below
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL, scope_name
from handrail.driven.artifacts.scope import default_scope, issue_key
from handrail.driven.artifacts.shelf import Shelf
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import ENDED
from handrail.project import scope_archives, scope_stages
from handrail.project.agentweaver_files import ARCHIVES, not_imported, scope_files
from handrail.project.scope_stages import ScopeContext, ScopeRun, Stage, StagePiece, StageStanding
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
        return scope_stages.load_stages()

    @cached_property
    def _runs(self) -> dict[str, list[ScopeRun]]:
        return scope_stages.runs_by_scope(self.runs, {prompt for stage in self.stages for prompt in stage.prompts})

    @cached_property
    def _code(self) -> StagePiece | None:
        return asyncio.run(scope_stages.last_code_change(self.project, self.env))

    def keys(self) -> list[str]:
        """The keys of all scopes that have a folder or published artifacts."""
        names = {
            entry.name
            for root in ROOTS
            for entry in entries(os.path.join(self.project, root))
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
        }
        return sorted(names | {record.scope for record in self.runs.shelves.records()})

    def find(self, name: str) -> str:
        """The key of a scope: the key itself, an issue, or the only key that begins like this."""
        keys = self.keys()
        issue = issue_key(name)
        names = [name]
        with suppress(Unresolved):
            names += [scope_name(name), default_scope(self.project, issue or name)]
        exact = [key for key in names if key in keys]
        if exact:
            return exact[0]
        begins = [key for key in keys if name and key.startswith(name.lower())]
        if len(begins) == 1:
            return begins[0]
        hint = f"scopes: {some(begins or keys)}" if keys else "`handrail run FLOW` makes one"
        near = None if begins else did_you_mean(name, keys)
        raise NotFound(f"there is no scope `{name}` in this project", near or hint)

    def view(self, key: str) -> ScopeView:
        """A scope as it stands. Finishes a reset that was killed."""
        for folder in self._folders(key, also_missing=True):
            if scope_archives.is_unsettled(folder):
                with self._locked(key):
                    scope_archives.settle(folder)
        shelf = Shelf(self.runs.shelves.folder_of(key))
        ground = ScopeContext(self.project, key, shelf, tuple(self._runs.get(key, ())), self.env)
        digests = {record.id: record.sha256 for record in ground.records}
        standings = scope_stages.judge_stages(map(ground.evidence, self.stages), self._code, digests)
        stage_paths = {piece.path for one in standings for piece in one.evidence.pieces}
        paths = {one.path for one in ground.records if os.path.isfile(os.path.join(self.project, one.path))}
        saved = scope_files(os.path.join(self.runs.project, AGENTWEAVER, key))
        return ScopeView(
            key,
            self._folders(key),
            [one for one in standings if one.state != "missing" or not one.stage.optional],
            list(ground.runs),
            not_imported(self.state, self.runs.project, saved),
            len(paths - stage_paths),
            [path for folder in self._folders(key) for path in scope_archives.attempts(folder)],
            key == default_scope(self.project),
        )

    def _folders(self, key: str, *, also_missing: bool = False) -> list[str]:
        folders = [os.path.join(self.project, root, key) for root in ROOTS]
        return [folder for folder in folders if also_missing or os.path.isdir(folder)]

    def plan_reset(self, key: str) -> Reset:
        """What a reset would archive. Raises `RefusedError` if a run of the scope is driven now."""
        runs = self._runs.get(key, [])
        driven = [run.summary.id for run in runs if self.runs.engine.driver(run.summary.id) is not None]
        if driven:
            hint = f"`handrail stop {driven[0]}` stops it"
            raise RefusedError(f"the scope `{key}` is used by a run that is running: {some(driven)}", hint)
        reset = Reset([], [run for run in runs if run.summary.status not in (*ENDED, "damaged")])
        for folder in self._folders(key):
            if scope_archives.contents(folder):
                scope_archives.refuse_link(folder)
                files = files_below(folder, without=(ARCHIVES,))
                sizes = [entry.stat(follow_symlinks=False).st_size for entry in files]
                reset.archives.append((folder, scope_archives.next_attempt(folder), len(sizes), sum(sizes)))
        return reset

    def reset(self, key: str) -> Reset:
        """Archive everything of a scope. Each of its folders is archived in one step."""
        with self._locked(key):
            for folder in self._folders(key, also_missing=True):
                scope_archives.settle(folder)
            plan = self.plan_reset(key)
            for folder, _, _, _ in plan.archives:
                scope_archives.archive_folder(folder)
        return plan

    def restore(self, key: str, attempt: str) -> list[str]:
        """Put an archive back. Returns the paths of the archives that were restored."""
        with self._locked(key):
            self.plan_reset(key)
            return [scope_archives.restore_folder(folder, attempt) for folder in self.having(key, attempt)]

    def having(self, key: str, attempt: str) -> list[str]:
        """The folders of a scope that have this archive. Raises `NotFound` if none has it."""
        archives = {folder: scope_archives.attempts(folder) for folder in self._folders(key)}
        folders = [folder for folder, paths in archives.items() if scope_archives.archive_named(attempt, paths)]
        if not folders:
            raise scope_archives.unknown_archive(attempt, next(iter(archives.values()), []))
        return folders

    def _locked(self, key: str) -> AbstractContextManager[int]:
        path = os.path.join(self.state, "scopes", file_name(self.project), f"{file_name(key)}.lock")
        busy = f"the scope `{key}` is being reset by another process"
        return locks.locked(path, PATIENCE, lambda: StateError(busy, "wait until it ends"))
