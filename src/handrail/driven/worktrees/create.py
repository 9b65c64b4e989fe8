"""Creates a worktree: it is planned, then made by git, then prepared with copied files and setup commands."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence

from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import RefusedError
from handrail.base.files import is_below, make_private, real_inside
from handrail.base.processes import Task, run_task, tail
from handrail.driven.worktrees.git import Git, is_checkout, refuse_old
from handrail.driven.worktrees.merge_and_remove import clear_worktree, digest_of
from handrail.driven.worktrees.records import End, Worktree, WorktreeRecords
from handrail.source.plain_text import command_line

BRANCH_PREFIX = "handrail/"
LONGEST_NAME = 40
SETUP_SECONDS = 3600.0
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class WorktreeRequest:
    """What a person or a flow asks for.

    `name` is the last part of the branch, `branch` a whole name instead. `base` is what the branch starts from; None:
    what is checked out. `parent` is the folder in which the worktree is made.
    """

    run: str
    project: str
    parent: str
    name: str
    created: float
    base: str | None = None
    branch: str | None = None
    end: End | None = None
    step: str = ""
    setup: Sequence[Sequence[str]] = ()
    copy: Sequence[str] = field(default_factory=tuple)


async def plan_worktree(request: WorktreeRequest, git: Git) -> Worktree:
    """The worktree that a request means. Raises `RefusedError` if it cannot be made."""
    top, repository = await find_repository(git)
    commit, base = await _base(git, request.base)
    if request.end == "merge" and base is None:
        not_a_branch = f"`{request.base}` is not a branch of this repository"
        what = "no branch is checked out" if request.base is None else not_a_branch
        raise RefusedError(f"{what}, so there is nothing to merge into", "name a branch: `--base BRANCH`")
    # each run and step has a folder of its own, so git's entry for it has the same name
    mark = f"-{hashlib.sha256(request.step.encode()).hexdigest()[:6]}" if request.step else ""
    folder = f"{_plain(os.path.basename(request.project))}-{_plain(request.run)}{mark}"
    path = os.path.join(os.path.realpath(request.parent), folder)
    for inside in (top, repository):
        if path == inside or is_below(path, inside):
            message = f"the worktree `{path}` would be inside of `{inside}`"
            raise RefusedError(message, "name another folder: `worktree: {folder: PATH}` in your own settings")
    if os.path.lexists(path):
        raise RefusedError(f"`{path}` exists already", "`handrail worktrees` lists the worktrees")
    return Worktree(
        run=request.run,
        project=request.project,
        top=top,
        repository=repository,
        path=path,
        branch=await _branch(git, request),
        base=base,
        start=base or request.base or "HEAD",
        commit=commit,
        created=request.created,
        step=request.step,
        end=request.end,
        setup=[list(argv) for argv in request.setup],
        copy=list(request.copy),
    )


async def find_repository(git: Git) -> tuple[str, str]:
    """The top folder of the checkout around a folder, and the folder with the data that all checkouts share."""
    await refuse_old(git)
    printed = await git.tell("rev-parse", "--is-inside-work-tree")
    if printed.exit_code != 0:
        message = f"`{git.folder}` is not in a Git repository: {printed.errors.strip()}"
        raise RefusedError(message, "run `git init` and commit, or leave out `--worktree`")
    if printed.data.strip() != b"true":
        message = f"`{git.folder}` has no checked-out files, as in a bare repository"
        raise RefusedError(message, "run the command in a checkout of the repository")
    top = os.path.realpath(await git.read("rev-parse", "--show-toplevel"))
    shared = await git.read("rev-parse", "--git-common-dir")
    return top, os.path.realpath(os.path.join(git.folder, shared))


async def _base(git: Git, name: str | None) -> tuple[str, str | None]:
    """The commit to start from, and its branch; None if it is not the name of a branch."""
    if name is None:
        commit = await git.commit_of("HEAD")
        if commit is None:
            raise RefusedError("the repository has no commit yet", "commit something first, then run the command again")
        return commit, await git.branch()
    for ref, branch in ((f"refs/heads/{name}", name), (name, None), (f"refs/remotes/origin/{name}", None)):
        if (commit := await git.commit_of(ref)) is not None:
            return commit, branch
    raise RefusedError(f"there is no branch, tag or commit `{name}`", "`git branch --all` lists the branches")


async def _branch(git: Git, request: WorktreeRequest) -> str:
    """The name of the new branch. A name that Handrail chose gets a number if it is taken."""
    name = request.branch or BRANCH_PREFIX + _plain(request.name)
    printed = await git.tell("check-ref-format", "--branch", name) if "\0" not in name else None
    if printed is None or printed.exit_code != 0 or os.fsdecode(printed.data).strip() != name:
        raise RefusedError(f"`{name}` cannot be the name of a branch", "choose another name")
    parts = name.split("/")
    for above in ("/".join(parts[:end]) for end in range(1, len(parts))):
        if await git.commit_of(f"refs/heads/{above}") is not None:
            message = f"the branch `{above}` exists, so git cannot make the branch `{name}`"
            raise RefusedError(message, f"rename it: `git branch -m {above} OTHER`")
    if not await git.holds("show-ref", "--verify", "--quiet", f"refs/heads/{name}"):
        return name
    if request.branch is not None:
        raise RefusedError(f"the branch `{name}` exists already", "choose another name, or delete the branch")
    return f"{name}-{request.run}"


def _plain(text: str) -> str:
    """A part of a name of a branch or a folder, made from any text."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:LONGEST_NAME] or "work"


async def make_ready(trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str], tell: Tell) -> Worktree:
    """The worktree, made and prepared. Does nothing if it is. `tell` is called with each step for people."""
    known = trees.at(tree.path)
    if known is not None and known.phase == "ready" and is_checkout(known):
        return known
    async with trees.locked(tree) as hold:
        tree = trees.at(tree.path) or tree
        if tree.phase not in ("ready", "merging", "made") or not is_checkout(tree):
            tree = await _make(trees, tree, Git(folder=tree.top, env=env, hold=hold), tell)
        if tree.phase == "made":
            tree = trees.save(replace(tree, copied=_copy(tree, tell)))
            await _set_up(tree, env, hold, tell)
            tree = trees.set_phase(tree, "ready")
    return tree


async def _make(trees: WorktreeRecords, tree: Worktree, git: Git, tell: Tell) -> Worktree:
    if trees.at(tree.path) is not None:
        if tree.phase not in ("making", "removing") and os.path.isdir(tree.path) and os.listdir(tree.path):
            message = f"`{tree.path}` is no worktree any more, because `.git` is missing in it, but it has files"
            raise RefusedError(message, f"move them away, or run `handrail worktrees remove {tree.run} --force`")
        await clear_worktree(tree, git)
    newest = await git.commit_of(f"refs/heads/{tree.base}") if tree.base is not None else None
    tree = replace(tree, commit=newest or tree.commit)  # it may have been merged and removed before
    trees.set_phase(tree, "making")
    make_private(os.path.dirname(tree.path))
    existing = await git.commit_of(f"refs/heads/{tree.branch}")
    words = (tree.path, tree.branch) if existing else ("--no-track", "-b", tree.branch, tree.path, tree.commit)
    await git.read("worktree", "add", "--quiet", *words)
    start = f"`{tree.start}` ({(existing or tree.commit)[:10]})"
    tell(f"worktree `{tree.path}` on branch `{tree.branch}`, " + ("as it was" if existing else f"from {start}"))
    return trees.set_phase(tree, "made")


def _copy(tree: Worktree, tell: Tell) -> dict[str, str]:
    """Copy files of the project that are not committed. Returns the digest of each copy. Overwrites nothing."""
    digests = {}
    for name in tree.copy:
        source, target = real_inside(tree.project, name), real_inside(tree.folder, name)
        if source is None or target is None:
            message = f"`{name}` leads out of the project, so it is not copied"
            raise RefusedError(message, "correct `worktree: {copy: …}`")
        if not os.path.isfile(source):
            tell(f"`{name}` is not copied into the worktree: there is no such file")
            continue
        if not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
        digests[name] = digest_of(source) or ""
    return digests


async def _set_up(tree: Worktree, env: Mapping[str, str], hold: int, tell: Tell) -> None:
    for argv in tree.setup:
        command = command_line(*argv)
        tell(f"setup of the worktree: `{command}`")
        task = Task(argv=argv, cwd=tree.folder, env=env, timeout=SETUP_SECONDS, hold=hold)
        try:
            result = await run_task(task)
        except OSError as error:
            raise RefusedError(f"the setup command `{command}` cannot be started: {error.strerror}") from error
        if result.timed_out or result.exit_code != 0:
            how = "took too long" if result.timed_out else f"ended with {result.exit_code}"
            raise RefusedError(f"the setup command `{command}` {how}: {tail(result.output)}")
