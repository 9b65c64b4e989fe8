"""Decides where a new worktree is and what it is made from. Refuses what cannot work. Changes nothing."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence

from handrail.errors import RefusedError
from handrail.source.dataclasses import dataclass, field
from handrail.state.files import is_below
from handrail.worktrees.git import Git, refuse_old
from handrail.worktrees.record import End, Tree

PREFIX = "handrail/"
LONGEST = 40


@dataclass(frozen=True, kw_only=True)
class Wish:
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


async def plan(wish: Wish, git: Git) -> Tree:
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
    return Tree(
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


async def _branch(git: Git, wish: Wish) -> str:
    """The name of the new branch. A name that Handrail chose gets a number if it is taken."""
    name = wish.branch or PREFIX + _plain(wish.name)
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
    return plain[:LONGEST] or "work"


def _folder_name(wish: Wish) -> str:
    """The name of the worktree's folder. Each run and step has its own, so git's entry for it has the same name."""
    own = f"-{hashlib.sha256(wish.step.encode()).hexdigest()[:6]}" if wish.step else ""
    return f"{_plain(os.path.basename(wish.project))}-{_plain(wish.run)}{own}"


async def left_behind(git: Git) -> list[str]:
    """The files with uncommitted changes in the checkout: they are not part of a new worktree."""
    found = await git.read("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
    return [entry[3:] for entry in found.split("\0") if entry]
