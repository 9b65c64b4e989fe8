"""Finds what kills left of worktrees, and removes it: half-made, half-removed, or of no run.

What holds work is only named, never removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Literal

from handrail.base import files, locks
from handrail.base.dataclasses import dataclass
from handrail.driven.worktrees.completion import clear_worktree, own_commits, place_of, standing
from handrail.driven.worktrees.creation import BRANCH_PREFIX
from handrail.driven.worktrees.git import Git, missing_worktrees, remove_all, target_of
from handrail.driven.worktrees.records import LOCK, RECORD, Worktree, WorktreeRecords
from handrail.settings.folders import file_name
from handrail.source.plain_text import counted

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
        shown = f"{what} `{self.name}` of no worktree" if what else f"worktree `{self.name}`: {self.kind}"
        return shown + (f", with {self.work}" if self.work else "")


async def find(
    trees: WorktreeRecords, project: str, repository: str | None, git: Git, exists: Callable[[str], bool]
) -> list[Leftover]:
    """What is left over in a project. `exists` says whether there is a run with an id.

    `repository` is the folder with the data of the project's repository; None if there is none.
    """
    known = trees.all()
    found = [left for tree in known if tree.project == project and (left := await _of_tree(trees, tree, git, exists))]
    found += _folders(trees, {tree.path for tree in known})
    found += _files(trees, known)
    if repository is not None:
        found += _entries(trees, repository, {tree.path for tree in known})
        found += await _branches(repository, git, {tree.branch for tree in known if tree.repository == repository})
    return found


async def _of_tree(trees: WorktreeRecords, tree: Worktree, git: Git, exists: Callable[[str], bool]) -> Leftover | None:
    if trees.is_used(tree):
        return None
    if tree.phase == "making":
        return Leftover("half-made", tree.path, tree.run, tree=tree)
    if tree.phase == "removing":
        return Leftover("half-removed", tree.path, tree.run, tree=tree)
    if not os.path.isdir(tree.repository):
        return Leftover(
            "missing", tree.path, tree.run, None if not os.path.exists(tree.path) else "its files", tree=tree
        )
    now = await standing(tree, git)
    if not now.exists:
        return Leftover("missing", tree.path, tree.run, now.would_lose, tree)
    if not exists(tree.run):
        return Leftover("without a run", tree.path, tree.run, now.would_lose, tree)
    if tree.phase == "merging":
        return Leftover(
            "unfinished merge", tree.path, tree.run, "a merge that `handrail worktree merge` finishes", tree
        )
    return None


def _folders(trees: WorktreeRecords, known: set[str]) -> list[Leftover]:
    """Folders in the place of worktrees that have no record."""
    try:
        names = sorted(os.listdir(trees.places.trees))
    except OSError:
        return []
    paths = [os.path.realpath(os.path.join(trees.places.trees, name)) for name in names]
    return [
        Leftover("folder", path, work=None if not os.listdir(path) else "its files")
        for path in paths
        if path not in known and os.path.isdir(path)
    ]


def _files(trees: WorktreeRecords, known: list[Worktree]) -> list[Leftover]:
    """Locks that nobody holds, of merges and of worktrees that are gone, and records that cannot be read."""
    try:
        names = sorted(os.listdir(trees.folder))
    except OSError:
        return []
    own = {f"{file_name(tree.path)}{ending}" for tree in known for ending in (RECORD, LOCK)}
    found = []
    for path in (os.path.join(trees.folder, name) for name in names if name not in own):
        if path.endswith(RECORD):
            found.append(Leftover("file", path, work="a record that cannot be read"))
        elif path.endswith(LOCK) and not locks.is_locked(path):
            found.append(Leftover("file", path))
    return found


def _entries(trees: WorktreeRecords, repository: str, known: set[str]) -> list[Leftover]:
    """Entries of git for worktrees of Handrail that do not exist any more."""
    base = os.path.realpath(trees.places.trees) + "/"
    gone = missing_worktrees(repository).items()
    return [Leftover("entry", entry) for entry, path in gone if path.startswith(base) and path not in known]


async def _branches(repository: str, git: Git, known: set[str]) -> list[Leftover]:
    """Branches of Handrail that no worktree has."""
    shared, found = git.at(repository), []
    listed = await shared.read("for-each-ref", "--format=%(refname)%00%(worktreepath)", f"refs/heads/{BRANCH_PREFIX}")
    for line in listed.split("\n"):
        ref, mark, place = line.partition("\0")
        branch = ref.removeprefix("refs/heads/")
        if branch in known or place or not mark:  # without a mark, it is the rest of a place with a newline
            continue
        count = await own_commits(branch, shared)
        found.append(Leftover("branch", branch, work=counted(count, "commit") if count else None))
    return found


async def sweep(trees: WorktreeRecords, left: Leftover, env: Mapping[str, str], repository: str | None) -> bool:
    """Remove a leftover. False if it holds work, or is used by now."""
    if left.work is not None:
        return False
    git = Git(folder=repository or "/", env=env)
    if left.tree is not None:
        return await _sweep_tree(trees, left.tree, git)
    match left.kind:
        case "branch" if repository is not None:
            tip = await git.commit_of(f"refs/heads/{left.name}")
            if tip is None or await own_commits(left.name, git):
                return False
            await git.read("update-ref", "-d", f"refs/heads/{left.name}", tip)
        case "entry" if target_of(left.name) is not None:
            remove_all(left.name)
        case "folder":
            os.rmdir(left.name)
        case _:
            files.remove(left.name)
    return True


async def _sweep_tree(trees: WorktreeRecords, tree: Worktree, git: Git) -> bool:
    if trees.is_used(tree):
        return False
    async with trees.locked(tree) as hold:
        if trees.at(tree.path) != tree:
            return False
        trees.moved(tree, "removing")
        await clear_worktree(tree, Git(folder=place_of(tree), env=git.env, hold=hold))
        trees.forget(tree)
    return True
