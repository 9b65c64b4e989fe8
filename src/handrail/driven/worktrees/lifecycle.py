"""The life of a worktree: it is planned, made, prepared, merged into its base branch, and removed.

Two histories are joined in the worktree itself, never in the checkout of the person: that is only moved forward, and
only without uncommitted changes. So a conflict changes nothing. A removal keeps what is nowhere else, unless forced.
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
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.driven.worktrees.git import LINES, Git, entries_of, has_submodules, refuse_old, remove_all
from handrail.driven.worktrees.records import End, Worktree, WorktreeRecords
from handrail.source.plain_text import command_line, counted, some

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
        given = f"`{request.base}` is not a branch of this repository"
        what = "no branch is checked out" if request.base is None else given
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


async def _base(git: Git, given: str | None) -> tuple[str, str | None]:
    """The commit to start from, and its branch; None if it is not the name of a branch."""
    if given is None:
        commit = await git.commit_of("HEAD")
        if commit is None:
            raise RefusedError("the repository has no commit yet", "commit something first, then run the command again")
        return commit, await git.branch()
    for name, branch in ((f"refs/heads/{given}", given), (given, None), (f"refs/remotes/origin/{given}", None)):
        if (commit := await git.commit_of(name)) is not None:
            return commit, branch
    raise RefusedError(f"there is no branch, tag or commit `{given}`", "`git branch --all` lists the branches")


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
            tree = trees.moved(tree, "ready")
    return tree


def is_checkout(tree: Worktree) -> bool:
    """True if git knows the folder of a worktree as one."""
    return os.path.exists(os.path.join(tree.path, ".git"))


async def _make(trees: WorktreeRecords, tree: Worktree, git: Git, tell: Tell) -> Worktree:
    if trees.at(tree.path) is not None:
        if tree.phase not in ("making", "removing") and os.path.isdir(tree.path) and os.listdir(tree.path):
            message = f"`{tree.path}` is no worktree any more, because `.git` is missing in it, but it has files"
            raise RefusedError(message, f"move them away, or run `handrail worktree remove {tree.run} --force`")
        await clear_worktree(tree, git)
    newest = await git.commit_of(f"refs/heads/{tree.base}") if tree.base is not None else None
    tree = replace(tree, commit=newest or tree.commit)  # it may have been merged and removed before
    trees.moved(tree, "making")
    make_private(os.path.dirname(tree.path))
    existing = await git.commit_of(f"refs/heads/{tree.branch}")
    words = (tree.path, tree.branch) if existing else ("--no-track", "-b", tree.branch, tree.path, tree.commit)
    await git.read("worktree", "add", "--quiet", *words)
    start = f"`{tree.start}` ({(existing or tree.commit)[:10]})"
    tell(f"worktree `{tree.path}` on branch `{tree.branch}`, " + ("as it was" if existing else f"from {start}"))
    return trees.moved(tree, "made")


def _copy(tree: Worktree, tell: Tell) -> dict[str, str]:
    """Copy files of the project that are not committed. Returns the digest of each copy. Overwrites nothing."""
    copied = {}
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
        copied[name] = _digest_of(source) or ""
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


@dataclass(frozen=True)
class WorktreeState:
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
            more = f" and {len(self.changed) - 3} more" if len(self.changed) > 3 else ""
            parts.append(f"uncommitted changes in {', '.join(f'`{name}`' for name in self.changed[:3])}{more}")
        if self.own:
            parts.append(counted(self.own, "commit"))
        if self.has_submodules:
            parts.append("repositories of submodules")
        return " and ".join(parts) or None


async def standing(tree: Worktree, git: Git) -> WorktreeState:
    """The state of a worktree now. If its folder has lost its `.git`, all that is in it counts as changed."""
    exists, shared = is_checkout(tree), git.at(tree.repository)
    branch = await shared.commit_of(f"refs/heads/{tree.branch}")
    head, changed = branch, sorted(os.listdir(tree.path)) if os.path.isdir(tree.path) else []
    if exists:
        inside = git.at(tree.path)
        head, changed = await inside.commit_of("HEAD"), await _changed_files(tree, inside)
    tips = [commit for commit in dict.fromkeys((head, branch)) if commit is not None]
    return WorktreeState(
        exists,
        tuple(changed),
        await own_commits(tree.branch, shared, *tips) if tips else 0,
        int(await shared.read("rev-list", "--count", *tips, f"^{tree.commit}")) if tips else 0,
        head,
        exists and has_submodules(tree),
    )


async def own_commits(branch: str, git: Git, *tips: str) -> int:
    """How many commits of a branch, or up to these commits, are on no other branch and no tag."""
    words = ("--not", f"--exclude={branch}", "--branches", "--tags", "--remotes")
    return int(await git.read("rev-list", "--count", *(tips or (f"refs/heads/{branch}",)), *words))


async def _changed_files(tree: Worktree, git: Git) -> list[str]:
    """The files with uncommitted changes, without new artifacts (Handrail keeps them) and unchanged copies."""
    inner = os.path.relpath(tree.folder, tree.path)
    scopes = tuple(os.path.normpath(os.path.join(inner, scope)) + "/" for scope in (HANDRAIL, AGENTWEAVER))
    copies = {os.path.normpath(os.path.join(inner, name)): digest for name, digest in tree.copied.items()}

    def is_known(name: str) -> bool:
        is_copy = name in copies and _digest_of(os.path.join(tree.path, name)) == copies[name]
        return is_copy or name.startswith(scopes)

    return [name for kind, name in await git.status("all") if kind != "??" or not is_known(name)]


def _digest_of(path: str) -> str | None:
    """The digest of a file's content; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


async def merge_worktree(trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str]) -> str:
    """Merge a worktree into its base branch, and return the commit that the branch is at then."""
    async with trees.locked(tree) as hold, trees.merging(tree.repository):
        tree = trees.at(tree.path) or tree
        git = Git(folder=tree.path, env=env, hold=hold)
        shared = git.at(tree.repository)
        if tree.phase == "removing":
            commit = await shared.commit_of(f"refs/heads/{tree.base}") if tree.end == "merge" else None
            if commit is None:
                message = f"the removal of the worktree `{tree.path}` has begun"
                raise RefusedError(message, f"`handrail worktree remove {tree.run}` finishes it")
            return commit
        if tree.phase == "merging":
            tree = await _recovered(trees, tree, git)
        if tree.base is None:
            message = f"the worktree `{tree.path}` was not made from a branch, so there is nothing to merge into"
            raise RefusedError(message, f"merge it by hand: `git merge {tree.branch}`")
        now, before = await standing(tree, git), await shared.commit_of(f"refs/heads/{tree.base}")
        if now.changed:
            message = f"the worktree `{tree.path}` has uncommitted changes: {some(now.changed)}"
            raise RefusedError(message, "commit them there, then merge again")
        if before is None:
            raise RefusedError(f"there is no branch `{tree.base}` any more", f"merge `{tree.branch}` by hand")
        if now.head is None:
            raise RefusedError(f"the worktree `{tree.path}` and its branch do not exist any more")
        new = before
        if not await shared.contains(before, now.head):
            new = now.head if await shared.contains(now.head, before) else await _joined(trees, tree, git, before)
            await _move_base(tree, shared, before, new)
        trees.save(replace(tree, end="merge", phase="ready"))
        return new


async def _joined(trees: WorktreeRecords, tree: Worktree, git: Git, other: str) -> str:
    """A commit that joins the worktree and another commit. The worktree is as it was afterwards."""
    if not os.path.isdir(tree.path):
        message = f"the worktree `{tree.path}` does not exist, and `{tree.base}` has other commits"
        raise RefusedError(message, f"merge it by hand: `git merge {tree.branch}`")
    head = await git.read("rev-parse", "HEAD")
    trees.moved(tree, "merging")
    printed = await git.tell("merge", "--quiet", "--no-commit", "--no-ff", other)
    if printed.exit_code != 0:
        files = await git.read("diff", "--name-only", "--diff-filter=U", "-z")
        await _recovered(trees, tree, git)
        if not files:
            raise RefusedError(f"`git merge` ended with {printed.exit_code}: {tail(printed.errors, LINES)}")
        message = f"`{tree.branch}` and `{tree.base}` have conflicts in {some([n for n in files.split(chr(0)) if n])}"
        hint = f"run `git merge {tree.base}` in `{tree.path}`, resolve them and commit, then merge again"
        raise RefusedError(message, hint)
    content = await git.read("write-tree")
    await _recovered(trees, tree, git)
    into = "" if tree.base in ("main", "master") else f" into {tree.base}"
    return await git.read("commit-tree", content, "-p", other, "-p", head, "-m", f"Merge branch '{tree.branch}'{into}")


async def _recovered(trees: WorktreeRecords, tree: Worktree, git: Git) -> Worktree:
    """The worktree without a merge that has begun. It had no uncommitted changes before, so nothing is lost."""
    if os.path.isdir(tree.path):
        for entry in entries_of(tree):  # a git that was killed leaves its lock
            if os.path.exists(lock := os.path.join(entry, "index.lock")):
                os.unlink(lock)
        if await git.commit_of("MERGE_HEAD") is not None:
            await git.read("reset", "--quiet", "--merge")
    return trees.moved(tree, "ready")


async def _move_base(tree: Worktree, git: Git, before: str, new: str) -> None:
    """Move the base branch forward, with the files of the checkout that has it."""
    assert tree.base is not None
    place = await git.checked_out_at(tree.base)
    if place is None or not os.path.isdir(place):
        await git.read("update-ref", "-m", f"handrail: merge {tree.branch}", f"refs/heads/{tree.base}", new, before)
        return
    there = git.at(place)
    if changed := [name for _, name in await there.status("no")]:
        message = f"`{place}` has uncommitted changes, so nothing is merged into `{tree.base}`: {some(changed)}"
        raise RefusedError(message, "commit or stash them, then merge again")
    printed = await there.tell("merge", "--quiet", "--ff-only", new)
    if printed.exit_code != 0:
        message = f"`{place}` cannot be moved forward: {tail(printed.errors, LINES)}"
        raise RefusedError(message, "fix that, then merge again")


async def remove_worktree(
    trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str], *, force: bool = False
) -> str | None:
    """Remove a worktree with its branch. Returns the last commit if it is on no other branch; None if nothing is lost.

    Raises `RefusedError` if work would be lost, unless it is forced.
    """
    async with trees.locked(tree) as hold:
        tree = trees.at(tree.path) or tree
        git = Git(folder=place_of(tree), env=env, hold=hold)
        now = await standing(tree, git) if tree.phase not in ("making", "removing") else None
        if now is not None and now.would_lose is not None and not force:
            message = f"removing the worktree `{tree.path}` would lose {now.would_lose}"
            raise RefusedError(message, f"`handrail worktree remove {tree.run} --force` removes it all the same")
        trees.moved(tree, "removing")
        await clear_worktree(tree, git, force=force)
        trees.forget(tree)
    return now.head if now is not None and now.own else None


async def clear_worktree(tree: Worktree, git: Git, *, force: bool = False) -> None:
    """Remove the folder, git's entries for it, and the branch. A branch with commits of its own stays, unless forced.

    The caller holds the lock, and knows that nothing in the folder has to be kept.
    """
    for folder in (tree.path, *entries_of(tree)):
        remove_all(folder)
    if not os.path.isdir(tree.repository):
        return
    shared = git.at(tree.repository)
    tip = await shared.commit_of(f"refs/heads/{tree.branch}")
    if tip is None or await shared.checked_out_at(tree.branch) is not None:
        return
    if force or await own_commits(tree.branch, shared) == 0:
        await shared.read("update-ref", "-d", f"refs/heads/{tree.branch}", tip)


def place_of(tree: Worktree) -> str:
    """A folder of the repository that still exists."""
    return next((folder for folder in (tree.top, tree.repository) if os.path.isdir(folder)), "/")
