"""The worktrees of one project: plan one for a new run, list, merge, keep and remove them, find what kills left.

Leftovers are half-made, half-removed, or of no run. What holds work is only named, never removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from handrail.base import files, locks
from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import NotFound, RefusedError, UsageError
from handrail.driven.worktrees import merge_and_remove
from handrail.driven.worktrees.create import BRANCH_PREFIX, WorktreeRequest, find_repository, plan_worktree
from handrail.driven.worktrees.git import Git, missing_worktrees, remove_all, target_of
from handrail.driven.worktrees.records import LOCK, RECORD, End, Worktree, WorktreeRecords
from handrail.settings.folders import UserFolders, checkout, file_name
from handrail.settings.sections import WorktreeSettings
from handrail.source.plain_text import counted
from handrail.source.suggestions import did_you_mean

LeftoverKind = Literal[
    "half-made", "half-removed", "unfinished merge", "missing", "without a run", "branch", "entry", "folder", "file"
]


@dataclass(frozen=True)
class Leftover:
    """Something that a kill left. `work` says what would be lost with it: then only a person removes it."""

    kind: LeftoverKind
    name: str
    run: str = ""
    work: str | None = None
    tree: Worktree | None = None

    @property
    def words(self) -> str:
        what = {"branch": "branch", "entry": "entry of git", "folder": "folder", "file": "file"}.get(self.kind)
        line = f"{what} `{self.name}` of no worktree" if what else f"worktree `{self.name}`: {self.kind}"
        return line + (f", with {self.work}" if self.work else "")


@dataclass(frozen=True)
class ListedWorktree:
    """A worktree and its state in git. `git_state` is None if git cannot say."""

    tree: Worktree
    git_state: merge_and_remove.WorktreeState | None
    is_used: bool

    @property
    def state(self) -> str:
        """What a person has to know about it, in a few words."""
        if self.is_used or self.tree.phase in ("making", "removing", "merging"):
            return self.tree.phase if self.is_used else f"{self.tree.phase}, interrupted"
        now = self.git_state
        if now is None or not now.exists:
            return "missing"
        parts = [f"{now.ahead} ahead"] if now.ahead else []
        parts += [f"{len(now.changed)} uncommitted"] if now.changed else []
        return ", ".join(parts) or "no changes"

    def to_json(self) -> dict[str, Any]:
        tree, now = self.tree, self.git_state
        return {
            "run": tree.run,
            "step": tree.step or None,
            "branch": tree.branch,
            "base": tree.base,
            "path": tree.path,
            "folder": tree.folder,
            "state": self.state,
            "phase": tree.phase,
            "end": tree.end,
            "created": tree.created,
            "ahead": None if now is None else now.ahead,
            "uncommitted": None if now is None else list(now.changed),
            "wouldLose": None if now is None else now.would_lose,
        }


class Worktrees:
    """The worktrees of one project. `folder` is where the person stands: the project, or a worktree of a run."""

    def __init__(
        self,
        places: UserFolders,
        project: str,
        folder: str,
        env: Mapping[str, str],
        settings: WorktreeSettings,
        clock: Callable[[], float],
    ) -> None:
        self.places = places
        self.project = project
        self.folder = folder
        self.env = env
        self.settings = settings
        self.clock = clock
        self.trees = WorktreeRecords(places)

    @property
    def parent(self) -> str:
        folder = self.settings.folder
        return self.places.trees if folder is None else folder.replace("~", self.places.home, 1)

    def git(self, folder: str | None = None) -> Git:
        return Git(folder=folder or self.folder, env=self.env)

    async def plan(self, run: str, name: str, base: str | None, end: End | None) -> tuple[Worktree, list[str]]:
        """A worktree for a new run, and the files with uncommitted changes that are not in it. Makes nothing."""
        request = WorktreeRequest(
            run=run,
            project=self.project,
            parent=self.parent,
            name=name,
            created=self.clock(),
            base=base,
            end=end,
            setup=self.settings.setup,
            copy=self.settings.copy,
        )
        tree = await plan_worktree(request, self.git())
        if self.folder != self.project:  # the person stands in another worktree
            tree = replace(tree, top=(await find_repository(self.git(self.project)))[0])
        return tree, [name for _, name in await self.git().status("normal")]

    def here(self) -> Worktree | None:
        """The worktree in which the person stands; None if it is the project itself."""
        place = checkout(self.folder) if self.folder != self.project else None
        tree = None if place is None else self.trees.at(place.top)
        return None if tree is None else replace(tree, is_shared=True)

    async def with_states(self) -> list[ListedWorktree]:
        return [await self._with_state(tree) for tree in self.trees.of_project(self.project)]

    async def _with_state(self, tree: Worktree) -> ListedWorktree:
        try:
            now = await merge_and_remove.worktree_state(tree, self.git(tree.repository))
        except RefusedError:
            now = None
        return ListedWorktree(tree, now, self.trees.is_used(tree))

    def of_run(self, run: str) -> list[Worktree]:
        return [tree for tree in self.trees.of_project(self.project) if tree.run == run]

    def named(self, run: str, branch: str | None = None) -> Worktree:
        """The worktree of a run. If it has several, `branch` chooses one."""
        known = self.trees.of_project(self.project)
        trees = [tree for tree in known if tree.run == run and branch in (None, tree.branch)]
        if len(trees) == 1:
            return trees[0]
        if trees:
            own = [tree for tree in trees if not tree.step]
            if len(own) == 1:
                return own[0]
            branches = ", ".join(tree.branch for tree in trees)
            raise UsageError(f"run `{run}` has several worktrees", f"choose one with `--branch`: {branches}")
        hint = did_you_mean(run, [tree.run for tree in known]) or "`handrail worktrees` lists them"
        raise NotFound(f"run `{run}` has no worktree" + (f" on branch `{branch}`" if branch else ""), hint)

    async def merge(self, tree: Worktree) -> str:
        """Merge a worktree into its base branch and remove it. Returns the commit of the branch."""
        commit = await merge_and_remove.merge_worktree(self.trees, tree, self.env)
        await merge_and_remove.remove_worktree(self.trees, tree, self.env)
        return commit

    async def remove(self, tree: Worktree, *, force: bool) -> str | None:
        return await merge_and_remove.remove_worktree(self.trees, tree, self.env, force=force)

    async def keep(self, tree: Worktree) -> Worktree:
        """Keep a worktree, whatever was chosen for its end."""
        async with self.trees.locked(tree):
            return self.trees.save(replace(self.trees.at(tree.path) or tree, end="keep"))

    async def would_lose(self, run: str) -> bool:
        """True if a worktree of a run has work that is nowhere else."""
        for tree in self.of_run(run):
            now = (await self._with_state(tree)).git_state
            if tree.phase not in ("making", "removing") and (now is None or now.would_lose is not None):
                return True
        return False

    async def leftovers(self, exists: Callable[[str], bool]) -> list[Leftover]:
        """What kills left of worktrees in this project. `exists` says whether there is a run with an id."""
        trees = self.trees.all()
        paths = {tree.path for tree in trees}
        own = [await self._left_of(tree, exists) for tree in trees if tree.project == self.project]
        leftovers = [left for left in own if left is not None] + [*self._folders(paths), *self._files(trees)]
        if (repository := await self._repository()) is not None:
            base, missing = os.path.realpath(self.places.trees) + "/", missing_worktrees(repository)
            gone = (entry for entry, path in missing.items() if path.startswith(base) and path not in paths)
            leftovers += (Leftover("entry", entry) for entry in gone)
            branches = {tree.branch for tree in trees if tree.repository == repository}
            leftovers += await self._branches(self.git(repository), branches)
        return leftovers

    async def _left_of(self, tree: Worktree, exists: Callable[[str], bool]) -> Leftover | None:
        if self.trees.is_used(tree):
            return None
        if tree.phase in ("making", "removing"):
            return Leftover("half-made" if tree.phase == "making" else "half-removed", tree.path, tree.run, tree=tree)
        if not os.path.isdir(tree.repository):
            return Leftover("missing", tree.path, tree.run, "its files" if os.path.exists(tree.path) else None, tree)
        now = await merge_and_remove.worktree_state(tree, self.git(self.project))
        if not now.exists or not exists(tree.run):
            return Leftover("without a run" if now.exists else "missing", tree.path, tree.run, now.would_lose, tree)
        if tree.phase == "merging":
            work = "a merge that `handrail worktrees merge` finishes"
            return Leftover("unfinished merge", tree.path, tree.run, work, tree)
        return None

    def _folders(self, known: set[str]) -> Iterator[Leftover]:
        """Folders in the place of worktrees that have no record."""
        for name in _names_in(self.places.trees):
            path = os.path.realpath(os.path.join(self.places.trees, name))
            if path not in known and os.path.isdir(path):
                yield Leftover("folder", path, work="its files" if os.listdir(path) else None)

    def _files(self, known: list[Worktree]) -> Iterator[Leftover]:
        """Locks that nobody holds, of merges and of worktrees that are gone, and records that cannot be read."""
        own = {f"{file_name(tree.path)}{ending}" for tree in known for ending in (RECORD, LOCK)}
        for path in (os.path.join(self.trees.folder, name) for name in _names_in(self.trees.folder) if name not in own):
            if path.endswith(RECORD):
                yield Leftover("file", path, work="a record that cannot be read")
            elif path.endswith(LOCK) and not locks.is_locked(path):
                yield Leftover("file", path)

    async def _branches(self, git: Git, known: set[str]) -> list[Leftover]:
        leftovers = []
        lines = await git.read("for-each-ref", "--format=%(refname)%00%(worktreepath)", f"refs/heads/{BRANCH_PREFIX}")
        for line in lines.split("\n"):
            ref, mark, place = line.partition("\0")
            branch = ref.removeprefix("refs/heads/")
            if branch in known or place or not mark:  # without a mark, it is the rest of a place with a newline
                continue
            count = await merge_and_remove.own_commits(branch, git)
            leftovers.append(Leftover("branch", branch, work=counted(count, "commit") if count else None))
        return leftovers

    async def sweep(self, left: Leftover) -> bool:
        """Remove a leftover. False if it holds work, or is used by now."""
        if left.work is not None:
            return False
        if left.tree is not None:
            return await self._sweep_tree(left.tree)
        repository = await self._repository()
        match left.kind:
            case "branch" if repository is not None:
                git = self.git(repository)
                tip = await git.commit_of(f"refs/heads/{left.name}")
                if tip is None or await merge_and_remove.own_commits(left.name, git):
                    return False
                await git.read("update-ref", "-d", f"refs/heads/{left.name}", tip)
            case "entry" if target_of(left.name) is not None:
                remove_all(left.name)
            case "folder":
                os.rmdir(left.name)
            case _:
                files.remove(left.name)
        return True

    async def _sweep_tree(self, tree: Worktree) -> bool:
        if self.trees.is_used(tree):
            return False
        async with self.trees.locked(tree) as hold:
            if self.trees.at(tree.path) != tree:
                return False
            self.trees.set_phase(tree, "removing")
            git = Git(folder=merge_and_remove.existing_folder(tree), env=self.env, hold=hold)
            await merge_and_remove.clear_worktree(tree, git)
            self.trees.forget(tree)
        return True

    async def _repository(self) -> str | None:
        if checkout(self.project) is None:
            return None
        try:
            return (await find_repository(self.git(self.project)))[1]
        except RefusedError:
            return None

    @property
    def is_empty(self) -> bool:
        """True if there was never a worktree, so there is nothing to look for."""
        return not os.path.isdir(self.trees.folder) and not os.path.isdir(self.places.trees)


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
