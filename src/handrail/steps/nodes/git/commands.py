"""Runs git in a folder of the project: its repository, branches, remotes, hooks and history.

Names of files are bytes between NUL characters, never quoted text. Hooks are programs that git runs by itself: an
agent may have written them, so a preview shows them to people.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handrail.base.dataclasses import dataclass, replace
from handrail.base.files import Unreadable, read_limited, real_inside, why_outside
from handrail.base.processes import CapturedOutput, ProgramResult, Task, capture, run_task, tail
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.driven.worktrees.git import REDIRECTING_VARIABLES
from handrail.driven.worktrees.records import work_root
from handrail.extensions.contracts import LastingError, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.source.values import shown
from handrail.steps.nodes.programs import program_environment

SECONDS = 3600.0
MOST_OUTPUT = 64 * 1024 * 1024
LARGEST_HOOK = 64 * 1024 * 1024
LONGEST_NAME = 200
LINES = 12
SCOPES = (AGENTWEAVER, HANDRAIL)
"""The folders of artifacts. Their files count as changes only if git tracks them."""
CWD = Field(
    "cwd",
    ("text",),
    "the folder in which git works, relative to the project, or a worktree that a step of the run made",
    names="path",
)


class ChangedFile(NamedTuple):
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

    async def tell(self, *args: str, stdin: bytes | None = None, most: int = MOST_OUTPUT) -> CapturedOutput:
        """What git prints, whatever its exit code is."""
        output = await capture(self._task(args, stdin), most)
        if output.timed_out:
            raise self._late(args)
        return output

    async def read(self, *args: str, stdin: bytes | None = None) -> bytes:
        """What git prints. Raises `NodeError` with git's message if it fails, or if it prints too much."""
        output = await self.tell(*args, stdin=stdin)
        if output.exit_code != 0:
            raise git_error(_command(args), output.exit_code, output.errors)
        if output.left_out:
            raise LastingError("git-failed", f"`git {_command(args)}` printed more than {MOST_OUTPUT} bytes")
        return output.data

    async def perform(self, *args: str, stdin: bytes | None = None, **env: str) -> ProgramResult:
        """Run a command of git that changes the repository. Raises `NodeError` with git's message if it fails."""
        result = await run_task(self._task(args, stdin, env))
        if result.timed_out:
            raise self._late(args)
        if result.exit_code != 0:
            raise git_error(_command(args), result.exit_code, result.output)
        return result

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

    async def line(self, *args: str) -> str | None:
        """The line that git prints. None if it fails, or if it prints nothing."""
        output = await self.tell(*args)
        text = output.data.decode("utf-8", "replace").strip()
        return text or None if output.exit_code == 0 else None

    async def head(self) -> str:
        """The commit that is checked out; an empty text if there is none yet."""
        return await self.line("rev-parse", "--verify", "--quiet", "HEAD") or ""

    async def branch(self) -> str | None:
        """The branch that is checked out, also if it has no commit yet. None if a commit is checked out."""
        return await self.line("symbolic-ref", "--quiet", "--short", "HEAD")

    async def checked_branch(self, name: str, param: str) -> str:
        """The name of a branch. Raises `NodeError` if git would not allow it, or would read it as something else."""
        is_short = bool(name) and len(name.encode("utf-8", "replace")) <= LONGEST_NAME and "\0" not in name
        accepted = await self.line("check-ref-format", "--branch", name) if is_short else None
        if accepted != name or name in ("HEAD", "@"):
            raise LastingError("params", f"`{param}`: `{shown(name, 80)}` cannot be the name of a branch")
        return name

    async def branch_of_param(self, params: Mapping[str, Any], param: str, verb: str) -> str:
        """The branch that a param names, by default the one that is checked out. `verb` says what is done with it."""
        if params.get(param) is not None:
            return await self.checked_branch(params[param], param)
        current = await self.branch()
        if current is None:
            raise LastingError("git-missing", f"no branch is checked out, so say in `{param}` which one is {verb}")
        return current

    async def commit_at(self, name: str) -> str | None:
        """The commit that a full name of a ref, or another name of a commit, means. None if there is none."""
        if not name or name.startswith("-") or "\0" in name:
            return None
        return await self.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    async def remote_address(self, name: str, *more: str) -> str:
        """The address of a remote; with `--push`, where it is pushed to. Raises `NodeError` if there is no such one."""
        is_name = bool(name) and not name.startswith("-") and "\0" not in name
        address = await self.line("remote", "get-url", *more, name) if is_name else None
        if address is None:
            message = f"the repository has no remote `{shown(name, 80)}`; `git remote add` adds one"
            raise LastingError("git-missing", message)
        return address

    async def hook_path(self, name: str) -> str | None:
        """The path of a hook. None if git would not run it."""
        path = os.fsdecode((await self.read("rev-parse", "--git-path", f"hooks/{name}")).removesuffix(b"\n"))
        full_path = os.path.join(self.folder, path)
        return full_path if os.path.isfile(full_path) and os.access(full_path, os.X_OK) else None

    async def hook_digests(self, names: Iterable[str]) -> str:
        """Those of these hooks that git would run, each with the beginning of its digest. Empty if there are none."""
        digests = []
        for name in names:
            if (path := await self.hook_path(name)) is not None:
                try:
                    digest = hashlib.sha256(read_limited(path, LARGEST_HOOK)).hexdigest()[:16]
                except Unreadable as error:
                    raise LastingError("git-failed", f"the hook `{name}` {error.message}") from error
                digests.append(f"{name} (sha256 {digest})")
        return ", ".join(digests)

    async def changes(self) -> list[ChangedFile]:
        """The changed files below the folder, sorted by name. A new folder is one change; its name ends with `/`."""
        others = [f":(exclude){folder}" for folder in SCOPES]
        changes = await self._status("no", *SCOPES)
        for change in await self._status("normal", ".", *others):
            if any(scope.startswith(os.fsdecode(change.name)) for scope in SCOPES):  # a new folder with artifacts in it
                changes += await self._status("all", os.fsdecode(change.name) or ".", *others)
            else:
                changes.append(change)
        return sorted(changes, key=lambda change: change.name)

    async def _status(self, untracked: str, *paths: str) -> list[ChangedFile]:
        words = ("--porcelain=v1", "-z", "--find-renames", f"--untracked-files={untracked}")
        return list(_changed_files(await self.read("status", *words, "--", *paths), self.prefix))


async def open_repository(work: Work, context: NodeContext) -> Repository:
    """The repository in which a step works. Raises `NodeError` if there is none."""
    path = work.params.get("cwd") or "."
    root = work_root(context, path)
    folder = None if root is None else real_inside(root, path)
    if root is None or folder is None:
        raise LastingError("path-escape", f"`cwd`: `{path}` {why_outside(path)}")
    if not os.path.isdir(folder):
        raise LastingError("params", f"`cwd`: `{path}` is not a folder")
    env = git_environment(work, context)
    if shutil.which("git", path=env.get("PATH")) is None:
        raise LastingError("program-missing", "the program `git` is not installed or not on the PATH")
    seconds = float(work.timeout or SECONDS)
    repository = Repository(folder=folder, root=root, env=env, seconds=seconds, hold=context.hold())
    output = await repository.tell("rev-parse", "--show-prefix")
    if output.exit_code != 0:
        message = f"`{path}` is not a folder in which git can work: {tail(output.errors, LINES)}"
        raise LastingError("git-repository", message)
    return replace(repository, prefix=output.data.removesuffix(b"\n"))


def git_environment(work: Work, context: NodeContext) -> dict[str, str]:
    """The environment of git: without secrets, and without what would lead it to another repository."""
    env = program_environment(work, context, {"GIT_TERMINAL_PROMPT": "0"})
    return {name: value for name, value in env.items() if name not in REDIRECTING_VARIABLES}


def _command(args: Sequence[str]) -> str:
    """The name of a command among its arguments; the options of git itself come before it."""
    return next((arg for arg in args if not arg.startswith("-") and "=" not in arg), "")


def git_error(command: str, exit_code: int, output: str) -> NodeError:
    """The failure of a command of git, with its own message."""
    words = tail(output, LINES)
    return NodeError("git-failed", f"`git {command}` ended with {exit_code}" + (f": {words}" if words else ""))


def _changed_files(data: bytes, prefix: bytes) -> Iterator[ChangedFile]:
    """The entries of `git status -z`. A renamed or copied file is followed by its earlier name."""
    parts = iter(data.split(b"\0")[:-1])
    for part in parts:
        xy, name = part[:2].decode(), part[3:].removeprefix(prefix)
        is_moved = "R" in xy or "C" in xy
        yield ChangedFile(xy, name, next(parts).removeprefix(prefix) if is_moved else None)


REMOTE = Field("remote", ("text",), "the name of the remote", default="origin", shortest=1)
PRE_PUSH = "pre-push"
COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


def hook_facts(hooks: str) -> list[tuple[str, str]]:
    return [("Hooks", f"git runs these programs of the repository: {hooks}")] if hooks else []


MOST_COMMITS = 100
MOST_STAT = 200_000
_LOG = ("log", "--no-color", "--no-decorate", "--no-show-signature", "--format=%h %an: %s")
STAT = ("--no-color", "--no-ext-diff", "--no-textconv", "--stat=100", "--summary")


class NewCommits(NamedTuple):
    """The new commits and the changed lines, as texts for people."""

    commits: str
    changes: str


async def new_commits(repository: Repository, commit: str, remote_commit: str | None, remote: str) -> NewCommits:
    """What comes to a branch that is at `remote_commit`; for a new branch, all that no branch of the remote has."""
    old_commit = None if remote_commit is None else await repository.commit_at(remote_commit)
    if remote_commit is not None and old_commit is None:
        return NewCommits("the commit of the remote is not here, so the new commits are not known", "not known")
    words = [commit, *([f"^{old_commit}"] if old_commit else ["--not", f"--remotes={remote}"])]
    lines = await _commit_lines(repository, *words)
    if not lines:
        return NewCommits("none", "none")
    if len(lines) == MOST_COMMITS:
        older = int((await repository.read("rev-list", "--count", *words, "--")).decode()) - MOST_COMMITS
        lines += [f"… and {counted(older, 'older commit')} that are not listed"] if older > 0 else []
    base = old_commit or await _base_of_new(repository, *words)
    output = await repository.tell("diff", *STAT, base, commit, "--", most=MOST_STAT)
    changes = output.data.decode("utf-8", "replace").rstrip() or "no file is changed"
    return NewCommits("\n".join(lines), changes)


async def overwritten_commits(repository: Repository, commit: str, remote_commit: str | None) -> str | None:
    """The commits of the remote that a push overwrites. None if there are none."""
    if remote_commit is None:
        return None
    if await repository.commit_at(remote_commit) is None:
        return f"all commits up to {remote_commit}, which are not here"
    lines = await _commit_lines(repository, remote_commit, f"^{commit}")
    return "\n".join(lines) or None


async def _commit_lines(repository: Repository, *words: str) -> list[str]:
    output = await repository.read(*_LOG, "-n", str(MOST_COMMITS), *words, "--")
    return output.decode("utf-8", "replace").splitlines()


async def _base_of_new(repository: Repository, *words: str) -> str:
    """The commit before the oldest new one; the empty tree if that has none before it."""
    commits = (await repository.read("rev-list", "--topo-order", *words, "--")).decode().split()
    before = await repository.commit_at(f"{commits[-1]}^") if commits else None
    return before or (await repository.read("hash-object", "-t", "tree", "--stdin", stdin=b"")).decode().strip()
