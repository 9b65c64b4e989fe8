"""Merges the work of a worktree into its base branch.

Two histories are brought together in the worktree itself, never in the checkout of the person. That checkout is only
moved forward, and only if it has no uncommitted changes. So a conflict changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.errors import RefusedError
from handrail.process.child import tail
from handrail.source.dataclasses import replace
from handrail.source.plain import some
from handrail.worktrees.entries import entries_of
from handrail.worktrees.git import LINES, Git
from handrail.worktrees.record import Tree, Trees
from handrail.worktrees.standing import standing


async def merge(trees: Trees, tree: Tree, env: Mapping[str, str]) -> str:
    """Merge a worktree into its base branch, and return the commit that the branch is at then."""
    async with trees.locked(tree) as hold, trees.merging(tree.repository):
        tree = trees.at(tree.path) or tree
        git = Git(folder=tree.path, env=env, hold=hold)
        if tree.phase == "removing":
            return await _merged_before(tree, git.at(tree.repository))
        if tree.phase == "merging":
            tree = await _recovered(trees, tree, git)
        if tree.base is None:
            message = f"the worktree `{tree.path}` was not made from a branch, so there is nothing to merge into"
            raise RefusedError(message, f"merge it by hand: `git merge {tree.branch}`")
        shared = git.at(tree.repository)
        now, before = await standing(tree, git), await shared.commit_of(f"refs/heads/{tree.base}")
        if now.changed:
            message = f"the worktree `{tree.path}` has uncommitted changes: {some(list(now.changed))}"
            raise RefusedError(message, "commit them there, then merge again")
        if before is None:
            raise RefusedError(f"there is no branch `{tree.base}` any more", f"merge `{tree.branch}` by hand")
        if now.head is None:
            raise RefusedError(f"the worktree `{tree.path}` and its branch do not exist any more")
        new = before
        if not await shared.contains(before, now.head):
            new = now.head if await shared.contains(now.head, before) else await _joined(trees, tree, git, before)
            await _move(tree, shared, before, new)
        trees.save(replace(tree, end="merge", phase="ready"))
        return new


async def _merged_before(tree: Tree, git: Git) -> str:
    """The commit of the base branch, if the worktree was merged and its removal has begun."""
    commit = await git.commit_of(f"refs/heads/{tree.base}") if tree.end == "merge" else None
    if commit is None:
        message = f"the removal of the worktree `{tree.path}` has begun"
        raise RefusedError(message, f"`handrail worktree remove {tree.run}` finishes it")
    return commit


async def _joined(trees: Trees, tree: Tree, git: Git, other: str) -> str:
    """A commit that joins the worktree and another commit. The worktree is as it was afterwards."""
    if not os.path.isdir(tree.path):
        message = f"the worktree `{tree.path}` does not exist, and `{tree.base}` has other commits"
        raise RefusedError(message, f"merge it by hand: `git merge {tree.branch}`")
    head = await git.read("rev-parse", "HEAD")
    trees.moved(tree, "merging")
    printed = await git.tell("merge", "--quiet", "--no-commit", "--no-ff", other)
    if printed.exit_code != 0:
        files = await git.read("diff", "--name-only", "--diff-filter=U", "-z")
        await _recovered(trees, tree, git)
        if not files:
            raise RefusedError(f"`git merge` ended with {printed.exit_code}: {tail(printed.errors, LINES)}")
        message = f"`{tree.branch}` and `{tree.base}` have conflicts in {some([n for n in files.split(chr(0)) if n])}"
        hint = f"run `git merge {tree.base}` in `{tree.path}`, resolve them and commit, then merge again"
        raise RefusedError(message, hint)
    content = await git.read("write-tree")
    await _recovered(trees, tree, git)
    words = ("-p", other, "-p", head, "-m", f"Merge branch '{tree.branch}'" + _into(tree))
    return await git.read("commit-tree", content, *words)


def _into(tree: Tree) -> str:
    return "" if tree.base in ("main", "master") else f" into {tree.base}"


async def _recovered(trees: Trees, tree: Tree, git: Git) -> Tree:
    """The worktree without a merge that has begun. It had no uncommitted changes before, so nothing is lost."""
    if os.path.isdir(tree.path):
        for entry in entries_of(tree):  # a git that was killed leaves its lock
            if os.path.exists(lock := os.path.join(entry, "index.lock")):
                os.unlink(lock)
        if await git.commit_of("MERGE_HEAD") is not None:
            await git.read("reset", "--quiet", "--merge")
    return trees.moved(tree, "ready")


async def _move(tree: Tree, git: Git, before: str, new: str) -> None:
    """Move the base branch forward, with the files of the checkout that has it."""
    assert tree.base is not None
    place = await git.checked_out_at(tree.base)
    if place is None or not os.path.isdir(place):
        await git.read("update-ref", "-m", f"handrail: merge {tree.branch}", f"refs/heads/{tree.base}", new, before)
        return
    there = git.at(place)
    found = await there.read("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no")
    changed = [entry[3:] for entry in found.split("\0") if entry]
    if changed:
        message = f"`{place}` has uncommitted changes, so nothing is merged into `{tree.base}`: {some(changed)}"
        raise RefusedError(message, "commit or stash them, then merge again")
    printed = await there.tell("merge", "--quiet", "--ff-only", new)
    if printed.exit_code != 0:
        raise RefusedError(
            f"`{place}` cannot be moved forward: {tail(printed.errors, LINES)}", "fix that, then merge again"
        )
