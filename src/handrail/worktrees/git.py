"""Runs git for worktrees. What git prints is decoded like a path. A failure is a `RefusedError` in git's own words."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping

from handrail.errors import RefusedError
from handrail.process.child import Printed, Task, capture, tail
from handrail.source.dataclasses import dataclass, replace
from handrail.source.plain import counted

OLDEST = (2, 23)
"""The first version that says where a branch is checked out."""
SECONDS = 3600.0
MOST = 16 * 1024 * 1024
LINES = 12
ELSEWHERE = (
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

    async def tell(self, *args: str) -> Printed:
        """What git prints, whatever its exit code is."""
        env = {name: value for name, value in self.env.items() if name not in ELSEWHERE}
        task = Task(
            argv=["git", *args],
            cwd=self.folder,
            env={**env, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "C"},
            timeout=SECONDS,
            hold=self.hold,
        )
        try:
            printed = await capture(task, MOST)
        except FileNotFoundError as error:
            if not os.path.isdir(self.folder):
                raise RefusedError(f"there is no folder `{self.folder}`") from error
            raise _missing() from error
        if printed.timed_out:
            raise RefusedError(f"`git {args[0]}` was not done after {counted(SECONDS, 'second')}")
        return printed

    async def read(self, *args: str) -> str:
        """What git prints, without the last newline. Raises `RefusedError` if git fails."""
        printed = await self.tell(*args)
        if printed.exit_code != 0:
            told = tail(printed.errors, LINES)
            raise RefusedError(f"`git {args[0]}` ended with {printed.exit_code}" + (f": {told}" if told else ""))
        return os.fsdecode(printed.data).removesuffix("\n")

    async def holds(self, *args: str) -> bool:
        """True if a command of git that answers by its exit code says yes."""
        return (await self.tell(*args)).exit_code == 0

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
        """True if a commit is part of the history of another one."""
        return await self.holds("merge-base", "--is-ancestor", part, whole)

    async def checked_out_at(self, branch: str) -> str | None:
        """The folder of the checkout that has this branch; None if no checkout has it."""
        words = ("--format=%(worktreepath)", f"refs/heads/{branch}")
        return await self.read("for-each-ref", *words) or None


async def refuse_old(git: Git) -> None:
    """Raise `RefusedError` if git is missing, or older than worktrees need it."""
    if shutil.which("git", path=git.env.get("PATH")) is None:
        raise _missing()
    said = await git.read("version")
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise RefusedError(f"worktrees need git {wanted} or newer, found `{said}`", "install a newer git")


def _missing() -> RefusedError:
    return RefusedError("the program `git` is not installed or not on the PATH", "install git")
