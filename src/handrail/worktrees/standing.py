"""How a worktree stands: what in it is not committed, and which commits are nowhere else."""

from __future__ import annotations

import hashlib
import os

from handrail.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.source.dataclasses import dataclass
from handrail.source.plain import counted
from handrail.worktrees.entries import has_submodules
from handrail.worktrees.git import Git
from handrail.worktrees.record import Tree


@dataclass(frozen=True)
class Standing:
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


async def standing(tree: Tree, git: Git) -> Standing:
    """How a worktree stands now."""
    exists = os.path.exists(os.path.join(tree.path, ".git"))
    inside, shared = git.at(tree.path), git.at(tree.repository)
    branch = await shared.commit_of(f"refs/heads/{tree.branch}")
    head = await inside.commit_of("HEAD") if exists else branch
    tips = [commit for commit in dict.fromkeys((head, branch)) if commit is not None]
    return Standing(
        exists,
        tuple(await changed_files(tree, inside) if exists else _loose_files(tree)),
        await own_commits(tree.branch, shared, *tips) if tips else 0,
        int(await shared.read("rev-list", "--count", *tips, f"^{tree.commit}")) if tips else 0,
        head,
        exists and has_submodules(tree),
    )


def _loose_files(tree: Tree) -> list[str]:
    """What is in the folder of a worktree that has lost its `.git`: git does not know it any more."""
    return sorted(os.listdir(tree.path)) if os.path.isdir(tree.path) else []


async def own_commits(branch: str, git: Git, *tips: str) -> int:
    """How many commits of a branch, or up to these commits, are on no other branch and no tag."""
    words = ("--not", f"--exclude={branch}", "--branches", "--tags", "--remotes")
    return int(await git.read("rev-list", "--count", *(tips or (f"refs/heads/{branch}",)), *words))


async def changed_files(tree: Tree, git: Git) -> list[str]:
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
