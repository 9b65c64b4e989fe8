"""The end of a worktree: what would be lost with it, merging it into its base branch, and removing it.

Two histories are joined in the worktree itself, never in the checkout of the person: that is only moved forward, and
only without uncommitted changes. So a conflict changes nothing. A removal keeps what is nowhere else, unless forced.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import RefusedError
from handrail.base.processes import tail
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.driven.worktrees.git import LINES, Git, entries_of, has_submodules, is_checkout, remove_all
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
            more = f" and {len(self.changed) - 3} more" if len(self.changed) > 3 else ""
            parts.append(f"uncommitted changes in {', '.join(f'`{name}`' for name in self.changed[:3])}{more}")
        if self.own:
            parts.append(counted(self.own, "commit"))
        if self.has_submodules:
            parts.append("repositories of submodules")
        return " and ".join(parts) or None


async def worktree_state(tree: Worktree, git: Git) -> WorktreeState:
    """The state of a worktree now. If its folder has lost its `.git`, all that is in it counts as changed."""
    exists, shared = is_checkout(tree), git.at(tree.repository)
    branch = await shared.commit_of(f"refs/heads/{tree.branch}")
    head, changed = branch, sorted(os.listdir(tree.path)) if os.path.isdir(tree.path) else []
    if exists:
        inside = git.at(tree.path)
        head, changed = await inside.commit_of("HEAD"), await _changed_files(tree, inside)
    tips = [commit for commit in dict.fromkeys((head, branch)) if commit is not None]
    return WorktreeState(
        exists,
        tuple(changed),
        await own_commits(tree.branch, shared, *tips) if tips else 0,
        int(await shared.read("rev-list", "--count", *tips, f"^{tree.commit}")) if tips else 0,
        head,
        exists and has_submodules(tree),
    )


async def own_commits(branch: str, git: Git, *tips: str) -> int:
    """How many commits of a branch, or up to these commits, are on no other branch and no tag."""
    words = ("--not", f"--exclude={branch}", "--branches", "--tags", "--remotes")
    return int(await git.read("rev-list", "--count", *(tips or (f"refs/heads/{branch}",)), *words))


async def _changed_files(tree: Worktree, git: Git) -> list[str]:
    """The files with uncommitted changes, without new artifacts (Handrail keeps them) and unchanged copies."""
    inner = os.path.relpath(tree.folder, tree.path)
    scopes = tuple(os.path.normpath(os.path.join(inner, scope)) + "/" for scope in (HANDRAIL, AGENTWEAVER))
    copies = {os.path.normpath(os.path.join(inner, name)): digest for name, digest in tree.copied.items()}

    def is_known(name: str) -> bool:
        is_copy = name in copies and digest_of(os.path.join(tree.path, name)) == copies[name]
        return is_copy or name.startswith(scopes)

    return [name for kind, name in await git.status("all") if kind != "??" or not is_known(name)]


def digest_of(path: str) -> str | None:
    """The digest of a file's content; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


async def merge_worktree(trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str]) -> str:
    """Merge a worktree into its base branch, and return the commit that the branch is at then."""
    async with trees.locked(tree) as hold, trees.merging(tree.repository):
        tree = trees.at(tree.path) or tree
        git = Git(folder=tree.path, env=env, hold=hold)
        shared = git.at(tree.repository)
        if tree.phase == "removing":
            commit = await shared.commit_of(f"refs/heads/{tree.base}") if tree.end == "merge" else None
            if commit is None:
                message = f"the removal of the worktree `{tree.path}` has begun"
                raise RefusedError(message, f"`handrail worktrees remove {tree.run}` finishes it")
            return commit
        if tree.phase == "merging":
            tree = await _without_unfinished_merge(trees, tree, git)
        if tree.base is None:
            message = f"the worktree `{tree.path}` was not made from a branch, so there is nothing to merge into"
            raise RefusedError(message, f"merge it by hand: `git merge {tree.branch}`")
        now, before = await worktree_state(tree, git), await shared.commit_of(f"refs/heads/{tree.base}")
        if now.changed:
            message = f"the worktree `{tree.path}` has uncommitted changes: {some(now.changed)}"
            raise RefusedError(message, "commit them there, then merge again")
        if before is None:
            raise RefusedError(f"there is no branch `{tree.base}` any more", f"merge `{tree.branch}` by hand")
        if now.head is None:
            raise RefusedError(f"the worktree `{tree.path}` and its branch do not exist any more")
        new = before
        if not await shared.contains(before, now.head):
            new = now.head if await shared.contains(now.head, before) else await _merge_commit(trees, tree, git, before)
            await _move_base(tree, shared, before, new)
        trees.save(replace(tree, end="merge", phase="ready"))
        return new


async def _merge_commit(trees: WorktreeRecords, tree: Worktree, git: Git, other: str) -> str:
    """A commit that joins the worktree and another commit. The worktree is as it was afterwards."""
    if not os.path.isdir(tree.path):
        message = f"the worktree `{tree.path}` does not exist, and `{tree.base}` has other commits"
        raise RefusedError(message, f"merge it by hand: `git merge {tree.branch}`")
    head = await git.read("rev-parse", "HEAD")
    trees.set_phase(tree, "merging")
    printed = await git.tell("merge", "--quiet", "--no-commit", "--no-ff", other)
    if printed.exit_code != 0:
        files = await git.read("diff", "--name-only", "--diff-filter=U", "-z")
        await _without_unfinished_merge(trees, tree, git)
        if not files:
            raise RefusedError(f"`git merge` ended with {printed.exit_code}: {tail(printed.errors, LINES)}")
        message = f"`{tree.branch}` and `{tree.base}` have conflicts in {some([n for n in files.split(chr(0)) if n])}"
        hint = f"run `git merge {tree.base}` in `{tree.path}`, resolve them and commit, then merge again"
        raise RefusedError(message, hint)
    content = await git.read("write-tree")
    await _without_unfinished_merge(trees, tree, git)
    into = "" if tree.base in ("main", "master") else f" into {tree.base}"
    return await git.read("commit-tree", content, "-p", other, "-p", head, "-m", f"Merge branch '{tree.branch}'{into}")


async def _without_unfinished_merge(trees: WorktreeRecords, tree: Worktree, git: Git) -> Worktree:
    """The worktree without a merge that has begun. It had no uncommitted changes before, so nothing is lost."""
    if os.path.isdir(tree.path):
        for entry in entries_of(tree):  # a git that was killed leaves its lock
            if os.path.exists(lock := os.path.join(entry, "index.lock")):
                os.unlink(lock)
        if await git.commit_of("MERGE_HEAD") is not None:
            await git.read("reset", "--quiet", "--merge")
    return trees.set_phase(tree, "ready")


async def _move_base(tree: Worktree, git: Git, before: str, new: str) -> None:
    """Move the base branch forward, with the files of the checkout that has it."""
    assert tree.base is not None
    place = await git.checked_out_at(tree.base)
    if place is None or not os.path.isdir(place):
        await git.read("update-ref", "-m", f"handrail: merge {tree.branch}", f"refs/heads/{tree.base}", new, before)
        return
    there = git.at(place)
    if changed := [name for _, name in await there.status("no")]:
        message = f"`{place}` has uncommitted changes, so nothing is merged into `{tree.base}`: {some(changed)}"
        raise RefusedError(message, "commit or stash them, then merge again")
    printed = await there.tell("merge", "--quiet", "--ff-only", new)
    if printed.exit_code != 0:
        message = f"`{place}` cannot be moved forward: {tail(printed.errors, LINES)}"
        raise RefusedError(message, "fix that, then merge again")


async def remove_worktree(
    trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str], *, force: bool = False
) -> str | None:
    """Remove a worktree with its branch. Returns the last commit if it is on no other branch; None if nothing is lost.

    Raises `RefusedError` if work would be lost, unless it is forced.
    """
    async with trees.locked(tree) as hold:
        tree = trees.at(tree.path) or tree
        git = Git(folder=existing_folder(tree), env=env, hold=hold)
        now = await worktree_state(tree, git) if tree.phase not in ("making", "removing") else None
        if now is not None and now.would_lose is not None and not force:
            message = f"removing the worktree `{tree.path}` would lose {now.would_lose}"
            raise RefusedError(message, f"`handrail worktrees remove {tree.run} --force` removes it all the same")
        trees.set_phase(tree, "removing")
        await clear_worktree(tree, git, force=force)
        trees.forget(tree)
    return now.head if now is not None and now.own else None


async def clear_worktree(tree: Worktree, git: Git, *, force: bool = False) -> None:
    """Remove the folder, git's entries for it, and the branch. A branch with commits of its own stays, unless forced.

    The caller holds the lock, and knows that nothing in the folder has to be kept.
    """
    for folder in (tree.path, *entries_of(tree)):
        remove_all(folder)
    if not os.path.isdir(tree.repository):
        return
    shared = git.at(tree.repository)
    tip = await shared.commit_of(f"refs/heads/{tree.branch}")
    if tip is None or await shared.checked_out_at(tree.branch) is not None:
        return
    if force or await own_commits(tree.branch, shared) == 0:
        await shared.read("update-ref", "-d", f"refs/heads/{tree.branch}", tip)


def existing_folder(tree: Worktree) -> str:
    """A folder of the repository that still exists."""
    return next((folder for folder in (tree.top, tree.repository) if os.path.isdir(folder)), "/")
