"""Git's own entries for worktrees, in the folder `worktrees` of a repository. Reads and removes them without git.

Git removes no entry that is locked, and it locks an entry while it makes it. So after a kill only this finds it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat

from handrail.worktrees.record import Tree


def entries_of(tree: Tree) -> list[str]:
    """The folders that git keeps for a worktree: those that lead to it, and those that lead nowhere yet."""
    own = re.compile(re.escape(os.path.basename(tree.path)) + r"\d*")
    found = []
    for name, path in _entries(tree.repository):
        target = target_of(path)
        if target == tree.path or (target is None and own.fullmatch(name)):
            found.append(path)
    return found


def missing_in(repository: str) -> dict[str, str]:
    """Entries whose worktree does not exist: entry → path of the worktree. One that a person locked is left out."""
    found = {}
    for _, path in _entries(repository):
        target = target_of(path)
        is_locked = os.path.exists(os.path.join(path, "locked"))
        if target is not None and not os.path.exists(target) and not is_locked:
            found[path] = target
    return found


def _entries(repository: str) -> list[tuple[str, str]]:
    folder = os.path.join(repository, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [(name, os.path.join(folder, name)) for name in names]


def target_of(entry: str) -> str | None:
    """The worktree that an entry belongs to; None if it does not say."""
    try:
        with open(os.path.join(entry, "gitdir"), "rb") as file:
            text = os.fsdecode(file.read()).rstrip("\n")
    except OSError:
        return None
    return os.path.dirname(os.path.join(entry, text)) if text else None


def has_submodules(tree: Tree) -> bool:
    """True if the worktree has repositories of submodules of its own: their commits are nowhere else."""
    return any(os.path.isdir(os.path.join(entry, "modules")) for entry in entries_of(tree))


def remove_all(folder: str) -> None:
    """Remove a folder with all that is in it, also folders that cannot be written."""
    for inner, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(inner, name)
            with contextlib.suppress(OSError):
                if not os.path.islink(path) and not os.access(path, os.W_OK | os.X_OK | os.R_OK):
                    os.chmod(path, stat.S_IRWXU)
    if os.path.lexists(folder):
        shutil.rmtree(folder)
