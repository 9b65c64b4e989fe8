"""How a worktree ends: what work is in it, its merge into its base branch, its removal.

Two histories are brought together in the worktree itself, never in the checkout of the person. That checkout is only
moved forward, and only if it has no uncommitted changes. So a conflict changes nothing. A removal keeps what is
nowhere else, unless a person forces it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import RefusedError
from handrail.base.processes import tail
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.driven.worktrees.git import LINES, Git, entries_of, has_submodules, remove_all
from handrail.driven.worktrees.records import Worktree, WorktreeRecords
from handrail.source.plain_text import counted, some


@dataclass(frozen=True)
class WorktreeState:
    """`changed` are files with uncommitted changes. `own` are commits that no other branch or tag has.

    `ahead` is the number of commits since the commit that the worktree was made from. `head` is the commit at its end;
    None if there is neither a worktree nor a branch.
    """

    exists: bool
    changed: tuple[str, ...]
    own: int
    ahead: int
    head: str | None
    has_submodules: bool = False

    @property
    def has_work(self) -> bool:
        return bool(self.changed or self.own or self.ahead)

    @property
    def would_lose(self) -> str | None:
        """What would be lost if the worktree and its branch were removed; None if nothing would."""
        parts = []
        if self.changed:
            parts.append(f"uncommitted changes in {_some(self.changed)}")
        if self.own:
            parts.append(counted(self.own, "commit"))
        if self.has_submodules:
            parts.append("repositories of submodules")
        return " and ".join(parts) or None


async def standing(tree: Worktree, git: Git) -> WorktreeState:
    """How a worktree stands now."""
    exists = os.path.exists(os.path.join(tree.path, ".git"))
    inside, shared = git.at(tree.path), git.at(tree.repository)
    branch = await shared.commit_of(f"refs/heads/{tree.branch}")
    head = await inside.commit_of("HEAD") if exists else branch
    tips = [commit for commit in dict.fromkeys((head, branch)) if commit is not None]
    return WorktreeState(
        exists,
        tuple(await changed_files(tree, inside) if exists else _loose_files(tree)),
        await own_commits(tree.branch, shared, *tips) if tips else 0,
        int(await shared.read("rev-list", "--count", *tips, f"^{tree.commit}")) if tips else 0,
        head,
        exists and has_submodules(tree),
    )


def _loose_files(tree: Worktree) -> list[str]:
    """What is in the folder of a worktree that has lost its `.git`: git does not know it any more."""
    return sorted(os.listdir(tree.path)) if os.path.isdir(tree.path) else []


async def own_commits(branch: str, git: Git, *tips: str) -> int:
    """How many commits of a branch, or up to these commits, are on no other branch and no tag."""
    words = ("--not", f"--exclude={branch}", "--branches", "--tags", "--remotes")
    return int(await git.read("rev-list", "--count", *(tips or (f"refs/heads/{branch}",)), *words))


async def changed_files(tree: Worktree, git: Git) -> list[str]:
    """The files with uncommitted changes, without new artifacts (Handrail keeps them) and unchanged copies."""
    found = await git.read("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    inner = os.path.relpath(tree.folder, tree.path)
    scopes = tuple(os.path.normpath(os.path.join(inner, scope)) + "/" for scope in (HANDRAIL, AGENTWEAVER))
    copies = {os.path.normpath(os.path.join(inner, name)): digest for name, digest in tree.copied.items()}
    names = []
    for entry in found.split("\0"):
        kind, name = entry[:2], entry[3:]
        is_new = kind == "??"
        if not entry or (is_new and name.startswith(scopes)):
            continue
        if is_new and name in copies and digest_of(os.path.join(tree.path, name)) == copies[name]:
            continue
        names.append(name)
    return names


def digest_of(path: str) -> str | None:
    """The digest of a file's content; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


async def merge_worktree(trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str]) -> str:
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
            await _move_base(tree, shared, before, new)
        trees.save(replace(tree, end="merge", phase="ready"))
        return new


async def _merged_before(tree: Worktree, git: Git) -> str:
    """The commit of the base branch, if the worktree was merged and its removal has begun."""
    commit = await git.commit_of(f"refs/heads/{tree.base}") if tree.end == "merge" else None
    if commit is None:
        message = f"the removal of the worktree `{tree.path}` has begun"
        raise RefusedError(message, f"`handrail worktree remove {tree.run}` finishes it")
    return commit


async def _joined(trees: WorktreeRecords, tree: Worktree, git: Git, other: str) -> str:
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


def _into(tree: Worktree) -> str:
    return "" if tree.base in ("main", "master") else f" into {tree.base}"


async def _recovered(trees: WorktreeRecords, tree: Worktree, git: Git) -> Worktree:
    """The worktree without a merge that has begun. It had no uncommitted changes before, so nothing is lost."""
    if os.path.isdir(tree.path):
        for entry in entries_of(tree):  # a git that was killed leaves its lock
            if os.path.exists(lock := os.path.join(entry, "index.lock")):
                os.unlink(lock)
        if await git.commit_of("MERGE_HEAD") is not None:
            await git.read("reset", "--quiet", "--merge")
    return trees.moved(tree, "ready")


async def _move_base(tree: Worktree, git: Git, before: str, new: str) -> None:
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


async def remove_worktree(
    trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str], *, force: bool = False
) -> str | None:
    """Remove a worktree with its branch. Returns the last commit if it is on no other branch; None if nothing is lost.

    Raises `RefusedError` if work would be lost, unless it is forced.
    """
    async with trees.locked(tree) as hold:
        tree = trees.at(tree.path) or tree
        git = Git(folder=place_of(tree), env=env, hold=hold)
        now = await standing(tree, git) if tree.phase not in ("making", "removing") else None
        lost = now.would_lose if now is not None else None
        if lost is not None and not force:
            message = f"removing the worktree `{tree.path}` would lose {lost}"
            raise RefusedError(message, f"`handrail worktree remove {tree.run} --force` removes it all the same")
        trees.moved(tree, "removing")
        await clear_worktree(tree, git, force=force)
        trees.forget(tree)
    return now.head if now is not None and now.own else None


async def clear_worktree(tree: Worktree, git: Git, *, force: bool = False) -> None:
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


def place_of(tree: Worktree) -> str:
    """A folder of the repository that still exists."""
    return next((folder for folder in (tree.top, tree.repository) if os.path.isdir(folder)), "/")
