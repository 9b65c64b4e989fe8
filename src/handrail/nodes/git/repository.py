"""Runs git in a folder of the project. Names are bytes between NUL characters, never quoted text."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handrail.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.contracts import NodeContext, NodeError, Work
from handrail.process.child import Ended, Printed, Task, capture, perform, tail
from handrail.secrets.rules import without_secrets
from handrail.source.dataclasses import dataclass, replace
from handrail.source.fields import Field
from handrail.source.plain import counted
from handrail.source.values import as_text
from handrail.state.files import real_inside
from handrail.state.regular import why_outside
from handrail.worktrees.git import ELSEWHERE
from handrail.worktrees.roots import work_root

SECONDS = 3600.0
MOST = 64 * 1024 * 1024
LINES = 12
SCOPES = (AGENTWEAVER, HANDRAIL)
"""The folders of artifacts. Their files count as changes only if git tracks them."""
CWD = Field(
    "cwd",
    ("text",),
    "the folder in which git works, relative to the project, or a worktree that a step of the run made",
    names="path",
)
LABEL = Field("labelText", ("text", "integer", "number", "boolean"), "accepted from AgentWeaver's flows; not used")


class Change(NamedTuple):
    """A changed file: its two status letters, its name in the folder, and its earlier name if it was renamed."""

    xy: str
    name: bytes
    original: bytes | None = None

    @property
    def is_conflict(self) -> bool:
        return "U" in self.xy or self.xy in ("AA", "DD")


def shown_name(name: bytes) -> str:
    """The name of a file as text. A name that is not UTF-8 is quoted as git does it, with `\\ooo` for a byte."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        letters = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in name)
        return f'"{"".join(letters)}"'


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The repository of a folder. `prefix` is the folder relative to the top of the repository: `sub/`, or empty.

    `root` is the folder that files have to be in: the project, or a worktree that a step made.
    """

    folder: str
    root: str
    env: dict[str, str]
    seconds: float
    hold: int | None = None
    prefix: bytes = b""

    async def tell(self, *args: str, stdin: bytes | None = None, most: int = MOST) -> Printed:
        """What git prints, whatever its exit code is."""
        printed = await capture(self._task(args, stdin), most)
        if printed.timed_out:
            raise self._late(args)
        return printed

    async def read(self, *args: str, stdin: bytes | None = None) -> bytes:
        """What git prints. Raises `NodeError` with git's message if it fails, or if it prints too much."""
        printed = await self.tell(*args, stdin=stdin)
        if printed.exit_code != 0:
            raise failed(_command(args), printed.exit_code, printed.errors)
        if printed.left_out:
            raise NodeError("git-failed", f"`git {_command(args)}` printed more than {MOST} bytes", transient=False)
        return printed.data

    async def perform(self, *args: str, stdin: bytes | None = None, **env: str) -> Ended:
        """Run a command of git that changes the repository. Raises `NodeError` with git's message if it fails."""
        ended = await perform(self._task(args, stdin, env))
        if ended.timed_out:
            raise self._late(args)
        if ended.exit_code != 0:
            raise failed(_command(args), ended.exit_code, ended.output)
        return ended

    def _task(self, args: Sequence[str], stdin: bytes | None, env: dict[str, str] | None = None) -> Task:
        return Task(
            argv=["git", *args],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            timeout=self.seconds,
            stdin=stdin,
            hold=self.hold,
        )

    def _late(self, args: Sequence[str]) -> NodeError:
        return NodeError("timeout", f"`git {_command(args)}` was not done after {counted(self.seconds, 'second')}")

    async def head(self) -> str:
        """The commit that is checked out; an empty text if there is none yet."""
        printed = await self.tell("rev-parse", "--verify", "--quiet", "HEAD")
        return printed.data.decode().strip() if printed.exit_code == 0 else ""

    async def changes(self) -> list[Change]:
        """The changed files below the folder, sorted by name. A new folder is one change; its name ends with `/`."""
        others = [f":(exclude){folder}" for folder in SCOPES]
        found = await self._status("no", *SCOPES)
        for change in await self._status("normal", ".", *others):
            if any(scope.startswith(os.fsdecode(change.name)) for scope in SCOPES):  # a new folder with artifacts in it
                found += await self._status("all", os.fsdecode(change.name) or ".", *others)
            else:
                found.append(change)
        return sorted(found, key=lambda change: change.name)

    async def _status(self, untracked: str, *paths: str) -> list[Change]:
        words = ("--porcelain=v1", "-z", "--find-renames", f"--untracked-files={untracked}")
        return list(_parsed(await self.read("status", *words, "--", *paths), self.prefix))


async def opened(work: Work, context: NodeContext) -> Repository:
    """The repository in which a step works. Raises `NodeError` if there is none."""
    given = as_text(work.params.get("cwd") or ".")
    root = work_root(context, given)
    folder = None if root is None else real_inside(root, given)
    if root is None or folder is None:
        raise NodeError("path-escape", f"`cwd`: `{given}` {why_outside(given)}", transient=False)
    if not os.path.isdir(folder):
        raise NodeError("params", f"`cwd`: `{given}` is not a folder", transient=False)
    env = environment(work, context)
    if shutil.which("git", path=env.get("PATH")) is None:
        raise NodeError("program-missing", "the program `git` is not installed or not on the PATH", transient=False)
    seconds = float(work.timeout or SECONDS)
    repository = Repository(folder=folder, root=root, env=env, seconds=seconds, hold=context.hold())
    printed = await repository.tell("rev-parse", "--show-prefix")
    if printed.exit_code != 0:
        message = f"`{given}` is not a folder in which git can work: {tail(printed.errors, LINES)}"
        raise NodeError("git-repository", message, transient=False)
    return replace(repository, prefix=printed.data.removesuffix(b"\n"))


def environment(work: Work, context: NodeContext) -> dict[str, str]:
    """The environment of git: without secrets, and without what would lead it to another repository."""
    env = without_secrets(context.env, context.pass_env, context.secrets)
    env = {name: value for name, value in env.items() if name not in ELSEWHERE} | {"GIT_TERMINAL_PROMPT": "0"}
    return env | {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}


def _command(args: Sequence[str]) -> str:
    """The name of a command among its arguments; the options of git itself come before it."""
    return next((arg for arg in args if not arg.startswith("-") and "=" not in arg), "")


def failed(command: str, exit_code: int, said: str) -> NodeError:
    """The failure of a command of git, with its own message."""
    told = tail(said, LINES)
    return NodeError("git-failed", f"`git {command}` ended with {exit_code}" + (f": {told}" if told else ""))


def _parsed(data: bytes, prefix: bytes) -> Iterator[Change]:
    """The entries of `git status -z`. A renamed or copied file is followed by its earlier name."""
    parts = iter(data.split(b"\0")[:-1])
    for part in parts:
        xy, name = part[:2].decode(), part[3:].removeprefix(prefix)
        is_moved = "R" in xy or "C" in xy
        yield Change(xy, name, next(parts).removeprefix(prefix) if is_moved else None)
