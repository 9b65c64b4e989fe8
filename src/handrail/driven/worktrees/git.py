"""Runs git for worktrees, and reads and removes git's own entries for them. A failure is a `RefusedError`.

What git prints is decoded like a path; errors have git's own words. Git removes no entry that is locked, and it locks
an entry while it makes it. So after a kill only the entries in the folder `worktrees` of the repository show it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Mapping

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import RefusedError
from handrail.base.processes import CapturedOutput, Task, capture, tail
from handrail.driven.worktrees.records import Worktree
from handrail.source.plain_text import counted

OLDEST = (2, 23)
"""The first version that says where a branch is checked out."""
SECONDS = 3600.0
MOST_BYTES = 16 * 1024 * 1024
LINES = 12
GIT_MISSING = ("the program `git` is not installed or not on the PATH", "install git")
REDIRECTING_VARIABLES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE"),
)
"""Variables that would lead git to another repository than the one of the folder."""


@dataclass(frozen=True, kw_only=True)
class Git:
    """Git in one folder. `hold` is a locked descriptor: git holds the lock until it ends, even if we are killed."""

    folder: str
    env: Mapping[str, str]
    hold: int | None = None

    def at(self, folder: str) -> Git:
        return replace(self, folder=folder)

    async def tell(self, *args: str) -> CapturedOutput:
        """What git prints, whatever its exit code is."""
        env = {name: value for name, value in self.env.items() if name not in REDIRECTING_VARIABLES}
        task = Task(
            argv=["git", *args],
            cwd=self.folder,
            env={**env, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "C"},
            timeout=SECONDS,
            hold=self.hold,
        )
        try:
            printed = await capture(task, MOST_BYTES)
        except FileNotFoundError as error:
            if not os.path.isdir(self.folder):
                raise RefusedError(f"there is no folder `{self.folder}`") from error
            raise RefusedError(*GIT_MISSING) from error
        if printed.timed_out:
            raise RefusedError(f"`git {args[0]}` was not done after {counted(SECONDS, 'second')}")
        return printed

    async def read(self, *args: str) -> str:
        """What git prints, without the last newline. Raises `RefusedError` if git fails."""
        printed = await self.tell(*args)
        if printed.exit_code != 0:
            errors = tail(printed.errors, LINES)
            raise RefusedError(f"`git {args[0]}` ended with {printed.exit_code}" + (f": {errors}" if errors else ""))
        return os.fsdecode(printed.data).removesuffix("\n")

    async def holds(self, *args: str) -> bool:
        """True if a command of git that answers by its exit code says yes."""
        return (await self.tell(*args)).exit_code == 0

    async def status(self, untracked: str) -> list[tuple[str, str]]:
        """The files with uncommitted changes: the two letters of their state, and the name."""
        text = await self.read("status", "--porcelain=v1", "-z", "--no-renames", f"--untracked-files={untracked}")
        return [(entry[:2], entry[3:]) for entry in text.split("\0") if entry]

    async def commit_of(self, name: str) -> str | None:
        """The commit that a name means; None if it means none."""
        if not name or name.startswith("-") or "\0" in name:
            return None
        printed = await self.tell("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return printed.data.decode().strip() or None if printed.exit_code == 0 else None

    async def branch(self) -> str | None:
        """The branch that is checked out; None if a commit is."""
        printed = await self.tell("symbolic-ref", "--quiet", "--short", "HEAD")
        return os.fsdecode(printed.data).strip() if printed.exit_code == 0 else None

    async def contains(self, whole: str, part: str) -> bool:
        return await self.holds("merge-base", "--is-ancestor", part, whole)

    async def checked_out_at(self, branch: str) -> str | None:
        """The folder of the checkout that has this branch; None if no checkout has it."""
        words = ("--format=%(worktreepath)", f"refs/heads/{branch}")
        return await self.read("for-each-ref", *words) or None


async def refuse_old(git: Git) -> None:
    """Raise `RefusedError` if git is missing, or older than worktrees need it."""
    if shutil.which("git", path=git.env.get("PATH")) is None:
        raise RefusedError(*GIT_MISSING)
    version = await git.read("version")
    numbers = re.search(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RefusedError(f"worktrees need git {oldest} or newer, found `{version}`", "install a newer git")


def entries_of(tree: Worktree) -> list[str]:
    """The folders that git keeps for a worktree: those that lead to it, and those that lead nowhere yet."""
    own = re.compile(re.escape(os.path.basename(tree.path)) + r"\d*")
    return [
        path
        for path, target in _entries(tree.repository).items()
        if target == tree.path or (target is None and own.fullmatch(os.path.basename(path)))
    ]


def missing_worktrees(repository: str) -> dict[str, str]:
    """Entries whose worktree does not exist: entry → path of the worktree. One that a person locked is left out."""
    return {
        path: target
        for path, target in _entries(repository).items()
        if target is not None and not os.path.exists(target) and not os.path.exists(os.path.join(path, "locked"))
    }


def _entries(repository: str) -> dict[str, str | None]:
    """The folders that git keeps for the worktrees of a repository, each with the worktree that it leads to."""
    folder = os.path.join(repository, "worktrees")
    try:
        return {path: target_of(path) for path in (os.path.join(folder, name) for name in sorted(os.listdir(folder)))}
    except OSError:
        return {}


def target_of(entry: str) -> str | None:
    """The worktree that an entry belongs to; None if it does not say."""
    try:
        with open(os.path.join(entry, "gitdir"), "rb") as file:
            text = os.fsdecode(file.read()).rstrip("\n")
    except OSError:
        return None
    return os.path.dirname(os.path.join(entry, text)) if text else None


def is_checkout(tree: Worktree) -> bool:
    """True if git knows the folder of a worktree as one."""
    return os.path.exists(os.path.join(tree.path, ".git"))


def has_submodules(tree: Worktree) -> bool:
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
