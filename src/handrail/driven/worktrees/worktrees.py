"""The worktrees of one project: plan one for a new run, list, merge, keep and remove them, find leftovers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import NotFound, RefusedError, UsageError
from handrail.driven.worktrees import leftovers
from handrail.driven.worktrees.completion import WorktreeState, merge_worktree, remove_worktree, standing
from handrail.driven.worktrees.creation import WorktreeRequest, find_repository, plan_worktree, uncommitted_files
from handrail.driven.worktrees.git import Git
from handrail.driven.worktrees.leftovers import Leftover
from handrail.driven.worktrees.records import End, Worktree, WorktreeRecords
from handrail.settings.folders import UserFolders, checkout
from handrail.settings.sections import WorktreeSettings
from handrail.source.suggestions import did_you_mean


@dataclass(frozen=True)
class ListedWorktree:
    """A worktree and how it stands. `standing` is None if git cannot say."""

    tree: Worktree
    standing: WorktreeState | None
    is_used: bool

    @property
    def state(self) -> str:
        """What a person has to know about it, in a few words."""
        if self.is_used or self.tree.phase in ("making", "removing", "merging"):
            return self.tree.phase if self.is_used else f"{self.tree.phase}, interrupted"
        now = self.standing
        if now is None or not now.exists:
            return "missing"
        parts = [f"{now.ahead} ahead"] if now.ahead else []
        parts += [f"{len(now.changed)} uncommitted"] if now.changed else []
        return ", ".join(parts) or "no changes"

    def to_json(self) -> dict[str, Any]:
        tree, now = self.tree, self.standing
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
        """The folder in which worktrees are made."""
        given = self.settings.folder
        return self.places.trees if given is None else given.replace("~", self.places.home, 1)

    def git(self, folder: str | None = None) -> Git:
        return Git(folder=folder or self.folder, env=self.env)

    async def plan(self, run: str, name: str, base: str | None, end: End | None) -> tuple[Worktree, list[str]]:
        """A worktree for a new run, and the files with uncommitted changes that are not in it. Makes nothing."""
        wish = WorktreeRequest(
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
        tree = await plan_worktree(wish, self.git())
        return replace(tree, top=await self._top(tree)), await uncommitted_files(self.git())

    async def _top(self, tree: Worktree) -> str:
        """The top folder of the project's own checkout, also if the person stands in another worktree."""
        return tree.top if self.folder == self.project else (await find_repository(self.git(self.project)))[0]

    def here(self) -> Worktree | None:
        """The worktree in which the person stands; None if it is the project itself."""
        place = checkout(self.folder) if self.folder != self.project else None
        tree = None if place is None else self.trees.at(place.top)
        return None if tree is None else replace(tree, is_shared=True)

    async def listed(self) -> list[ListedWorktree]:
        """All worktrees of the project, the oldest first."""
        return [await self._listed(tree) for tree in self.trees.of_project(self.project)]

    async def _listed(self, tree: Worktree) -> ListedWorktree:
        try:
            now = await standing(tree, self.git(tree.repository))
        except RefusedError:
            now = None
        return ListedWorktree(tree, now, self.trees.is_used(tree))

    def of_run(self, run: str) -> list[Worktree]:
        return [tree for tree in self.trees.of_project(self.project) if tree.run == run]

    def named(self, run: str, branch: str | None = None) -> Worktree:
        """The worktree of a run. If it has several, `branch` chooses one."""
        known = self.trees.of_project(self.project)
        found = [tree for tree in known if tree.run == run and branch in (None, tree.branch)]
        if len(found) == 1:
            return found[0]
        if found:
            own = [tree for tree in found if not tree.step]
            if len(own) == 1:
                return own[0]
            branches = ", ".join(tree.branch for tree in found)
            raise UsageError(f"run `{run}` has several worktrees", f"choose one with `--branch`: {branches}")
        hint = did_you_mean(run, [tree.run for tree in known]) or "`handrail worktrees` lists them"
        raise NotFound(f"run `{run}` has no worktree" + (f" on branch `{branch}`" if branch else ""), hint)

    async def merge(self, tree: Worktree) -> str:
        """Merge a worktree into its base branch and remove it. Returns the commit of the branch."""
        commit = await merge_worktree(self.trees, tree, self.env)
        await remove_worktree(self.trees, tree, self.env)
        return commit

    async def remove(self, tree: Worktree, *, force: bool) -> str | None:
        return await remove_worktree(self.trees, tree, self.env, force=force)

    async def keep(self, tree: Worktree) -> Worktree:
        """Keep a worktree, whatever was chosen for its end."""
        async with self.trees.locked(tree):
            return self.trees.save(replace(self.trees.at(tree.path) or tree, end="keep"))

    async def would_lose(self, run: str) -> bool:
        """True if a worktree of a run has work that is nowhere else."""
        for tree in self.of_run(run):
            now = (await self._listed(tree)).standing
            if tree.phase not in ("making", "removing") and (now is None or now.would_lose is not None):
                return True
        return False

    async def leftovers(self, exists: Callable[[str], bool]) -> list[Leftover]:
        """What kills left of worktrees in this project. `exists` says whether there is a run with an id."""
        repository = await self._repository()
        return await leftovers.find(self.trees, self.project, repository, self.git(self.project), exists)

    async def sweep(self, left: Leftover) -> bool:
        """Remove a leftover. False if it holds work, or is used."""
        return await leftovers.sweep(self.trees, left, self.env, await self._repository())

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
