"""The worktree of a run: made and prepared before its first step, and kept, merged or removed when it is completed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from handrail.contracts import NodeError, Site
from handrail.errors import RefusedError
from handrail.project import Places
from handrail.runs.loaded import LoadedRun
from handrail.secrets.rules import without_secrets
from handrail.worktrees.git import Git
from handrail.worktrees.making import Tell, make_ready
from handrail.worktrees.merging import merge
from handrail.worktrees.record import Tree, Trees
from handrail.worktrees.removing import remove
from handrail.worktrees.standing import standing

CODE = "worktree"


class RunTree:
    """The worktree in which a run works. A failure is a `NodeError`, so the run fails and can be resumed."""

    def __init__(self, trees: Trees, tree: Tree, env: Mapping[str, str]) -> None:
        self.trees = trees
        self.tree = tree
        self.env = env

    async def make_ready(self, tell: Tell) -> None:
        """Make the worktree if it does not exist."""
        if self.tree.is_shared:
            if not os.path.isdir(self.tree.folder):
                raise NodeError(CODE, f"the worktree `{self.tree.path}` does not exist any more", transient=False)
            return
        try:
            self.tree = await make_ready(self.trees, self.tree, self.env, tell)
        except RefusedError as error:
            raise _failure(error) from error

    async def end(self, tell: Tell, *, is_done: bool) -> None:
        """Do what the person chose for the end. Without a choice, a worktree without any work is removed."""
        tree = self.trees.at(self.tree.path)
        if self.tree.is_shared or tree is None:
            return
        try:
            if is_done and tree.end == "merge":
                commit = await merge(self.trees, tree, self.env)
                await remove(self.trees, tree, self.env)
                tell(f"merged into `{tree.base}` ({commit[:10]}); the worktree is removed")
            elif (is_done and tree.end == "remove") or await self._is_unused(tree):
                await remove(self.trees, tree, self.env)
                tell(f"the worktree `{tree.path}` is removed")
            else:
                tell(kept_words(tree))
        except RefusedError as error:
            raise _failure(error) from error

    async def _is_unused(self, tree: Tree) -> bool:
        if tree.end is not None:
            return False
        return not (await standing(tree, Git(folder=tree.top, env=self.env))).has_work


def tree_of(run: LoadedRun, site: Site, pass_env: Sequence[str]) -> RunTree | None:
    """The worktree in which a run works; None if it works in the project itself. Its programs get no secrets."""
    tree = run.about.request.worktree
    if tree is None:
        return None
    env = without_secrets(site.env, pass_env, site.secrets)
    return RunTree(Trees(Places(site.env)), tree, {**env, "HANDRAIL_RUN": run.id})


def kept_words(tree: Tree) -> str:
    """Where a worktree is, and what a person can do with it."""
    how = "merges it" if tree.base is None else f"merges it into `{tree.base}`"
    commands = f"`handrail worktree merge {tree.run}` {how}, `handrail worktree remove {tree.run}` removes it"
    return f"the work is on branch `{tree.branch}` in `{tree.path}`; {commands}"


def _failure(error: RefusedError) -> NodeError:
    return NodeError(CODE, error.message + (f"; {error.hint}" if error.hint else ""), transient=False)
