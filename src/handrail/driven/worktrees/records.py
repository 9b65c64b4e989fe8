"""The records of worktrees. A record is written before git makes anything, so what a kill leaves is always found.

Records are in Handrail's state folder, so an agent that works in a worktree cannot change where it belongs.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from handrail.base import files, locks
from handrail.base.dataclasses import dataclass, field, fields, replace
from handrail.base.errors import RefusedError
from handrail.base.files import make_private, real_inside
from handrail.extensions.contracts import NodeContext
from handrail.settings.folders import UserFolders

WorktreePhase = Literal["making", "made", "ready", "merging", "removing"]
"""`making`: git may have made a part of it. `made`: git is done, the setup is not. `merging` and `removing`: begun."""
End = Literal["keep", "merge", "remove"]
PATIENCE = 600.0
LOOK_AGAIN = 0.02
RECORD = ".json"
LOCK = ".lock"


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """A worktree of a run. `path` is its top folder; `project` is the folder that the person works in.

    `top` is the top folder of the project's checkout, `repository` the folder with the data that all checkouts share.
    `base` is the branch to merge into; None if it was not made from a branch. `start` is what it was made from, in
    words; `commit` is that commit. `step` is the path of the step that made it, empty if the run itself works in it.
    `end` is what happens to it when the run is completed; None: it is kept if there is work in it. `copied` has the
    digest of each file that was copied into it. `is_shared`: it belongs to another run.
    """

    run: str
    project: str
    top: str
    repository: str
    path: str
    branch: str
    base: str | None
    start: str
    commit: str
    created: float = 0.0
    step: str = ""
    phase: WorktreePhase = "making"
    end: End | None = None
    setup: list[list[str]] = field(default_factory=list)
    copy: list[str] = field(default_factory=list)
    copied: dict[str, str] = field(default_factory=dict)
    is_shared: bool = False

    @property
    def folder(self) -> str:
        return os.path.normpath(os.path.join(self.path, os.path.relpath(self.project, self.top)))

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


class WorktreeRecords:
    def __init__(self, places: UserFolders) -> None:
        self.places = places
        self.folder = places.worktree_records

    def _file(self, path: str, ending: str) -> str:
        return self.places.worktree_record(path).removesuffix(RECORD) + ending

    def at(self, path: str) -> Worktree | None:
        return _read_record(self._file(path, RECORD))

    def all(self) -> list[Worktree]:
        """All worktrees, the oldest first."""
        try:
            names = [name for name in os.listdir(self.folder) if name.endswith(RECORD)]
        except OSError:
            return []
        records = (_read_record(os.path.join(self.folder, name)) for name in names)
        return sorted(filter(None, records), key=lambda tree: (tree.created, tree.path))

    def of_project(self, project: str) -> list[Worktree]:
        return [tree for tree in self.all() if tree.project == project]

    def of_run(self, run: str) -> list[Worktree]:
        """The worktrees of a run: the one in which it works, and those that its steps made."""
        return [tree for tree in self.all() if tree.run == run]

    def save(self, tree: Worktree) -> Worktree:
        """Write the record of a worktree. It is on disk when this returns."""
        make_private(self.folder)
        files.replace(self._file(tree.path, RECORD), json.dumps(tree.to_json()).encode(), durable=True)
        return tree

    def set_phase(self, tree: Worktree, phase: WorktreePhase) -> Worktree:
        return self.save(replace(tree, phase=phase))

    def forget(self, tree: Worktree) -> None:
        """Remove the record of a worktree. The caller holds its lock."""
        for ending in (RECORD, LOCK):
            files.remove(self._file(tree.path, ending))
        files.sync_folder(self.folder)

    def is_used(self, tree: Worktree) -> bool:
        """True if a process makes, merges or removes the worktree now."""
        return locks.is_locked(self._file(tree.path, LOCK))

    def locked(self, tree: Worktree) -> contextlib.AbstractAsyncContextManager[int]:
        """Hold the lock of a worktree. A git that outlived a killed Handrail still holds it, so this may wait."""
        return self._lock(tree.path, f"the worktree `{tree.path}` is being made, merged or removed")

    @contextlib.asynccontextmanager
    async def merging(self, repository: str) -> AsyncIterator[None]:
        """Hold the lock of a repository, so that one merge happens at a time."""
        async with self._lock(repository, f"another merge in `{repository}` is not done"):
            yield
            files.remove(self._file(repository, LOCK))

    @contextlib.asynccontextmanager
    async def _lock(self, folder: str, busy: str) -> AsyncIterator[int]:
        """Hold the lock of a folder. Yields its open descriptor."""
        path = self._file(folder, LOCK)
        make_private(self.folder)
        end = time.monotonic() + PATIENCE
        while (handle := locks.acquire(path)) is None or not _is_file(handle, path):
            if handle is not None:
                os.close(handle)  # the file was removed in the meantime, with its worktree
            elif time.monotonic() >= end:
                raise RefusedError(busy, "run the command again when that is done")
            import asyncio

            await asyncio.sleep(LOOK_AGAIN)
        try:
            yield handle
        finally:
            os.close(handle)


def _is_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _read_record(file: str) -> Worktree | None:
    try:
        return worktree_from_json(json.loads(files.read_regular(file)))
    except (OSError, ValueError):
        return None


def worktree_from_json(data: Mapping[str, Any]) -> Worktree:
    """The worktree that a record describes. What a later version has added is left out."""
    known = {item.name for item in fields(Worktree)}
    try:
        return Worktree(**{name: value for name, value in data.items() if name in known})
    except (TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def work_root(context: NodeContext, path: str) -> str | None:
    """The folder around a path: the project, or a worktree that a step of this run made. None if it is in neither."""
    if real_inside(context.project, path) is not None:
        return context.project
    if not os.path.isabs(path) or not context.run:
        return None
    own = (tree for tree in WorktreeRecords(UserFolders(context.env)).of_run(context.run) if tree.step)
    return next((tree.path for tree in own if real_inside(tree.path, path) is not None), None)


def work_folder(context: NodeContext, path: str) -> str | None:
    """The real path of a folder in which a step works; None if it may not work there."""
    root = work_root(context, path)
    return None if root is None else real_inside(root, path)
