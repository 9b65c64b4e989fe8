"""Makes a worktree and prepares it: files are copied into it, and setup commands run in it.

It can be interrupted at any place. What is half made is removed and made again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping

from handrail.errors import RefusedError
from handrail.process.child import Task, perform, tail
from handrail.source.dataclasses import replace
from handrail.source.plain import command_line
from handrail.state.files import make_private, real_inside
from handrail.worktrees.git import Git
from handrail.worktrees.record import Tree, Trees
from handrail.worktrees.removing import clear
from handrail.worktrees.standing import digest_of

Tell = Callable[[str], None]
SETUP_SECONDS = 3600.0


async def make_ready(trees: Trees, tree: Tree, env: Mapping[str, str], tell: Tell) -> Tree:
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


async def _make(trees: Trees, tree: Tree, git: Git, tell: Tell) -> Tree:
    if trees.at(tree.path) is not None:
        if tree.phase not in ("making", "removing") and os.path.isdir(tree.path) and os.listdir(tree.path):
            message = f"`{tree.path}` is no worktree any more, because `.git` is missing in it, but it has files"
            raise RefusedError(message, f"move them away, or run `handrail worktree remove {tree.run} --force`")
        await clear(tree, git)
    tree = await _from_base(tree, git)
    trees.moved(tree, "making")
    make_private(os.path.dirname(tree.path))
    existing = await git.commit_of(f"refs/heads/{tree.branch}")
    words = (tree.path, tree.branch) if existing else ("--no-track", "-b", tree.branch, tree.path, tree.commit)
    await git.read("worktree", "add", "--quiet", *words)
    start = f"`{tree.start}` ({(existing or tree.commit)[:10]})"
    tell(f"worktree `{tree.path}` on branch `{tree.branch}`, " + ("as it was" if existing else f"from {start}"))
    return trees.moved(tree, "made")


async def _from_base(tree: Tree, git: Git) -> Tree:
    """The same worktree, from the newest commit of its base branch: it may have been merged and removed before."""
    newest = await git.commit_of(f"refs/heads/{tree.base}") if tree.base is not None else None
    return tree if newest is None else replace(tree, commit=newest)


def _copy(tree: Tree, tell: Tell) -> dict[str, str]:
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


async def _set_up(tree: Tree, env: Mapping[str, str], hold: int, tell: Tell) -> None:
    for argv in tree.setup:
        shown = command_line(*argv)
        tell(f"setup of the worktree: `{shown}`")
        task = Task(argv=argv, cwd=tree.folder, env=env, timeout=SETUP_SECONDS, hold=hold)
        try:
            ended = await perform(task)
        except OSError as error:
            raise RefusedError(f"the setup command `{shown}` cannot be started: {error.strerror}") from error
        if ended.timed_out or ended.exit_code != 0:
            how = "took too long" if ended.timed_out else f"ended with {ended.exit_code}"
            raise RefusedError(f"the setup command `{shown}` {how}: {tail(ended.output)}")
