"""Plans a new worktree and makes it: files are copied into it, and setup commands run in it.

The plan decides where it is and what it is made from, refuses what cannot work, and changes nothing. Making it can be
interrupted at any place: what is half made is removed and made again.
"""

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
from handrail.driven.worktrees.completion import clear_worktree, digest_of
from handrail.driven.worktrees.git import Git, refuse_old
from handrail.driven.worktrees.records import End, Worktree, WorktreeRecords
from handrail.source.plain_text import command_line

BRANCH_PREFIX = "handrail/"
LONGEST_NAME = 40


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


async def plan_worktree(wish: WorktreeRequest, git: Git) -> Worktree:
    """The worktree that a wish means. Raises `RefusedError` if it cannot be made."""
    top, repository = await find_repository(git)
    commit, base = await _base(git, wish.base)
    if wish.end == "merge" and base is None:
        raise _no_branch(wish.base)
    path = os.path.join(os.path.realpath(wish.parent), _folder_name(wish))
    for inside in (top, repository):
        if path == inside or is_below(path, inside):
            message = f"the worktree `{path}` would be inside of `{inside}`"
            raise RefusedError(message, "name another folder: `worktree: {folder: PATH}` in your own settings")
    if os.path.lexists(path):
        raise RefusedError(f"`{path}` exists already", "`handrail worktrees` lists the worktrees")
    return Worktree(
        run=wish.run,
        project=wish.project,
        top=top,
        repository=repository,
        path=path,
        branch=await _branch(git, wish),
        base=base,
        start=base or wish.base or "HEAD",
        commit=commit,
        created=wish.created,
        step=wish.step,
        end=wish.end,
        setup=[list(argv) for argv in wish.setup],
        copy=list(wish.copy),
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


async def _base(git: Git, given: str | None) -> tuple[str, str | None]:
    """The commit to start from, and its branch; None if it is not the name of a branch."""
    if given is None:
        commit = await git.commit_of("HEAD")
        if commit is None:
            raise RefusedError("the repository has no commit yet", "commit something first, then run the command again")
        return commit, await git.branch()
    own = await git.commit_of(f"refs/heads/{given}")
    if own is not None:
        return own, given
    for name in (given, f"refs/remotes/origin/{given}"):
        commit = await git.commit_of(name)
        if commit is not None:
            return commit, None
    raise RefusedError(f"there is no branch, tag or commit `{given}`", "`git branch --all` lists the branches")


def _no_branch(given: str | None) -> RefusedError:
    what = "no branch is checked out" if given is None else f"`{given}` is not a branch of this repository"
    return RefusedError(f"{what}, so there is nothing to merge into", "name a branch: `--base BRANCH`")


async def _branch(git: Git, wish: WorktreeRequest) -> str:
    """The name of the new branch. A name that Handrail chose gets a number if it is taken."""
    name = wish.branch or BRANCH_PREFIX + _plain(wish.name)
    if not await _is_name(git, name):
        raise RefusedError(f"`{name}` cannot be the name of a branch", "choose another name")
    parts = name.split("/")
    for above in ("/".join(parts[:end]) for end in range(1, len(parts))):
        if await git.commit_of(f"refs/heads/{above}") is not None:
            message = f"the branch `{above}` exists, so git cannot make the branch `{name}`"
            raise RefusedError(message, f"rename it: `git branch -m {above} OTHER`")
    if not await git.holds("show-ref", "--verify", "--quiet", f"refs/heads/{name}"):
        return name
    if wish.branch is not None:
        raise RefusedError(f"the branch `{name}` exists already", "choose another name, or delete the branch")
    return f"{name}-{wish.run}"


async def _is_name(git: Git, name: str) -> bool:
    printed = await git.tell("check-ref-format", "--branch", name) if "\0" not in name else None
    return printed is not None and printed.exit_code == 0 and os.fsdecode(printed.data).strip() == name


def _plain(text: str) -> str:
    """A part of a name of a branch or a folder, made from any text."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")
    return plain[:LONGEST_NAME] or "work"


def _folder_name(wish: WorktreeRequest) -> str:
    """The name of the worktree's folder. Each run and step has its own, so git's entry for it has the same name."""
    own = f"-{hashlib.sha256(wish.step.encode()).hexdigest()[:6]}" if wish.step else ""
    return f"{_plain(os.path.basename(wish.project))}-{_plain(wish.run)}{own}"


async def uncommitted_files(git: Git) -> list[str]:
    """The files with uncommitted changes in the checkout: they are not part of a new worktree."""
    found = await git.read("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
    return [entry[3:] for entry in found.split("\0") if entry]


Tell = Callable[[str], None]
SETUP_SECONDS = 3600.0


async def make_ready(trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str], tell: Tell) -> Worktree:
    """The worktree, made and prepared. Does nothing if it is. `tell` is called with each step for people."""
    known = trees.at(tree.path)
    if known is not None and known.phase == "ready" and os.path.exists(os.path.join(tree.path, ".git")):
        return known
    async with trees.locked(tree) as hold:
        known = trees.at(tree.path) or tree
        git = Git(folder=tree.top, env=env, hold=hold)
        if known.phase in ("ready", "merging", "made") and os.path.exists(os.path.join(tree.path, ".git")):
            made = known
        else:
            made = await _make(trees, known, git, tell)
        if made.phase == "made":
            made = trees.save(replace(made, copied=_copy(made, tell)))
            await _set_up(made, env, hold, tell)
            made = trees.moved(made, "ready")
    return made


async def _make(trees: WorktreeRecords, tree: Worktree, git: Git, tell: Tell) -> Worktree:
    if trees.at(tree.path) is not None:
        if tree.phase not in ("making", "removing") and os.path.isdir(tree.path) and os.listdir(tree.path):
            message = f"`{tree.path}` is no worktree any more, because `.git` is missing in it, but it has files"
            raise RefusedError(message, f"move them away, or run `handrail worktree remove {tree.run} --force`")
        await clear_worktree(tree, git)
    tree = await _from_base(tree, git)
    trees.moved(tree, "making")
    make_private(os.path.dirname(tree.path))
    existing = await git.commit_of(f"refs/heads/{tree.branch}")
    words = (tree.path, tree.branch) if existing else ("--no-track", "-b", tree.branch, tree.path, tree.commit)
    await git.read("worktree", "add", "--quiet", *words)
    start = f"`{tree.start}` ({(existing or tree.commit)[:10]})"
    tell(f"worktree `{tree.path}` on branch `{tree.branch}`, " + ("as it was" if existing else f"from {start}"))
    return trees.moved(tree, "made")


async def _from_base(tree: Worktree, git: Git) -> Worktree:
    """The same worktree, from the newest commit of its base branch: it may have been merged and removed before."""
    newest = await git.commit_of(f"refs/heads/{tree.base}") if tree.base is not None else None
    return tree if newest is None else replace(tree, commit=newest)


def _copy(tree: Worktree, tell: Tell) -> dict[str, str]:
    """Copy files of the project that are not committed. Returns the digest of each copy. Overwrites nothing."""
    copied = {}
    for name in tree.copy:
        source, target = real_inside(tree.project, name), real_inside(tree.folder, name)
        if source is None or target is None:
            raise RefusedError(
                f"`{name}` leads out of the project, so it is not copied", "correct `worktree: {copy: …}`"
            )
        if not os.path.isfile(source):
            tell(f"`{name}` is not copied into the worktree: there is no such file")
            continue
        if not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
        copied[name] = digest_of(source) or ""
    return copied


async def _set_up(tree: Worktree, env: Mapping[str, str], hold: int, tell: Tell) -> None:
    for argv in tree.setup:
        shown = command_line(*argv)
        tell(f"setup of the worktree: `{shown}`")
        task = Task(argv=argv, cwd=tree.folder, env=env, timeout=SETUP_SECONDS, hold=hold)
        try:
            ended = await run_task(task)
        except OSError as error:
            raise RefusedError(f"the setup command `{shown}` cannot be started: {error.strerror}") from error
        if ended.timed_out or ended.exit_code != 0:
            how = "took too long" if ended.timed_out else f"ended with {ended.exit_code}"
            raise RefusedError(f"the setup command `{shown}` {how}: {tail(ended.output)}")
