"""Removes a worktree and its branch. What is nowhere else is kept, unless a person forces it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.errors import RefusedError
from handrail.worktrees.entries import entries_of, remove_all
from handrail.worktrees.git import Git
from handrail.worktrees.record import Tree, Trees
from handrail.worktrees.standing import own_commits, standing


async def remove(trees: Trees, tree: Tree, env: Mapping[str, str], *, force: bool = False) -> str | None:
    """Remove a worktree with its branch. Returns the last commit if it is on no other branch; None if nothing is lost.

    Raises `RefusedError` if work would be lost, unless it is forced.
    """
    async with trees.locked(tree) as hold:
        tree = trees.at(tree.path) or tree
        git = Git(folder=_where(tree), env=env, hold=hold)
        now = await standing(tree, git) if tree.phase not in ("making", "removing") else None
        lost = now.would_lose if now is not None else None
        if lost is not None and not force:
            message = f"removing the worktree `{tree.path}` would lose {lost}"
            raise RefusedError(message, f"`handrail worktree remove {tree.run} --force` removes it all the same")
        trees.moved(tree, "removing")
        await clear(tree, git, force=force)
        trees.forget(tree)
    return now.head if now is not None and now.own else None


async def clear(tree: Tree, git: Git, *, force: bool = False) -> None:
    """Remove the folder, git's entries for it, and the branch. A branch with commits of its own stays, unless forced.

    The caller holds the lock, and knows that nothing in the folder has to be kept.
    """
    remove_all(tree.path)
    for entry in entries_of(tree):
        remove_all(entry)
    if not os.path.isdir(tree.repository):
        return
    shared = git.at(tree.repository)
    tip = await shared.commit_of(f"refs/heads/{tree.branch}")
    if tip is None or await shared.checked_out_at(tree.branch) is not None:
        return
    if force or await own_commits(tree.branch, shared) == 0:
        await shared.read("update-ref", "-d", f"refs/heads/{tree.branch}", tip)


def _where(tree: Tree) -> str:
    return next((folder for folder in (tree.top, tree.repository) if os.path.isdir(folder)), "/")
