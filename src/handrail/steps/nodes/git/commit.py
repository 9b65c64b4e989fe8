"""`git-commit`: commits files, once. Other files stay as they are, also if they are staged.

The commit is recognised after a crash: git's own record of the branch (the reflog) names the step that made it.
The step also records which commit was checked out before, so a commit of an earlier attempt does not count. A
preview makes the commit with a copy of the index and another folder of objects: the repository stays as it is.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

from handrail.base.dataclasses import replace
from handrail.base.files import path_flaw, real_inside, why_outside
from handrail.base.processes import tail
from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, Preview, Work, refuse_changed
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.plain_text import some
from handrail.source.values import as_text
from handrail.steps.nodes.git import commands
from handrail.steps.nodes.params import unused_param

FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


class PlannedCommit(NamedTuple):
    """The tree of a commit, and how it differs from what is checked out."""

    tree: str
    changes: str


async def planned_commit(repository: commands.Repository, names: Sequence[bytes]) -> PlannedCommit:
    """The tree with these files as they are now; without names, with what is staged."""
    with tempfile.TemporaryDirectory(prefix="handrail-") as folder:
        aside = await _separate_repository(repository, folder)
        head = await repository.head()
        if names:
            await aside.perform("read-tree", *([head] if head else ["--empty"]))
            await aside.perform("--literal-pathspecs", "add", "--all", *FROM_STDIN, stdin=b"\0".join(names))
        tree = (await aside.read("write-tree")).decode().strip()
        empty = (await aside.read("hash-object", "-t", "tree", "--stdin", "-w", stdin=b"")).decode().strip()
        output = await aside.tell("diff", *commands.STAT, head or empty, tree, "--", most=commands.MOST_STAT)
        changes = output.data.decode("utf-8", "replace").rstrip()
    if not changes:
        raise _nothing_to_commit(names)
    return PlannedCommit(tree, changes)


def _nothing_to_commit(names: Sequence[bytes]) -> NodeError:
    reason = "no given file has changed" if names else "nothing is staged"
    return LastingError("nothing-to-commit", f"there is nothing to commit: {reason}")


async def _separate_repository(repository: commands.Repository, folder: str) -> commands.Repository:
    """The same repository, but what is added goes to a copy of the index and to another folder of objects."""
    index, objects = os.path.join(folder, "index"), os.path.join(folder, "objects")
    paths = (await repository.read("rev-parse", "--git-path", "index", "--git-path", "objects")).split(b"\n")
    real_index, real_objects = (os.path.join(repository.folder, os.fsdecode(path)) for path in paths[:2])
    if os.path.exists(real_index):
        shutil.copyfile(real_index, index)
    os.mkdir(objects)
    env = {"GIT_INDEX_FILE": index, "GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": real_objects}
    return replace(repository, env={**repository.env, **env})


MOST_MESSAGE = 100_000
MOST_CHANGES = 64 * 1024 * 1024
NAMES_AT_ONCE = 200
LOOK_BACK = 1000
NODE = Node(
    about="Adds files and commits them. Nothing else is committed, even if it is staged. Without files it commits what "
    "is staged. A resumed run finds a commit that it made before. Changes that add the value of a secret are refused.",
    params=(
        Field("message", SCALARS, "the message of the commit", required=True, shortest=1),
        Field("files", ("list",), "the files, relative to `cwd`", required=True, items=("text",)),
        commands.CWD,
        unused_param("labelText"),
    ),
    others="ignored",
    outputs={"output": "what git printed", "commitHash": "the hash of the commit"},
    where=("branch",),
)


async def run(work: Work, context: NodeContext) -> Any:
    message = _message(work.params["message"])
    repository = await commands.open_repository(work, context)
    before = as_text(context.remember("head", await repository.head()))
    action = " ".join(f"handrail {context.key}".split())
    if (commit := await _earlier_commit(repository, before, action)) is not None:
        line = await repository.read("log", "-1", "--no-color", "--no-show-signature", "--format=%h %s", commit)
        return {"output": line.decode("utf-8", "replace"), "commitHash": commit}
    await _refuse_strangers(repository)
    if work.approved is not None:
        refuse_changed(work, await _state(repository, await _commit_of_params(repository, work)))
    paths = await _add(repository, work.params["files"], context)
    argv = ("-c", "core.logAllRefUpdates=true", "--literal-pathspecs", "commit", "--cleanup=whitespace")
    only = ("--only", *FROM_STDIN) if paths else ()
    stdin = b"\0".join(paths) if paths else None
    result = await repository.perform(*argv, f"--message={message}", *only, stdin=stdin, GIT_REFLOG_ACTION=action)
    return {"output": result.output, "commitHash": await repository.head()}


async def preview(work: Work, context: NodeContext) -> Preview:
    message = _message(work.params["message"])
    repository = await commands.open_repository(work, context)
    await _refuse_strangers(repository)
    commit = await _commit_of_params(repository, work)
    branch = await repository.branch() or "no branch is checked out"
    state = await _state(repository, commit)
    facts = (("Branch", branch), ("Message", message.strip()), ("Changes", commit.changes))
    return Preview(
        title=f"Commit to `{branch}`: {message.strip().splitlines()[0]}",
        facts=(*facts, *commands.hook_facts(state["hooks"])),
        state=state,
        where={"branch": branch},
    )


async def _commit_of_params(repository: commands.Repository, work: Work) -> PlannedCommit:
    names, own = await _own_changes(repository, work.params["files"])
    return await planned_commit(repository, names + _earlier_names(own))


async def _state(repository: commands.Repository, commit: PlannedCommit) -> dict[str, str]:
    """The state that an approval of this commit is for."""
    return {
        "branch": await repository.branch() or "none",
        "commit": await repository.head() or "none",
        "files": commit.tree,
        "hooks": await repository.hook_digests(commands.COMMIT_HOOKS),
    }


def _message(value: Any) -> str:
    message = as_text(value)
    if "\0" in message or len(message.encode()) > MOST_MESSAGE:
        raise LastingError("params", f"`message` may have at most {MOST_MESSAGE} bytes and no NUL character")
    return message


async def _earlier_commit(repository: commands.Repository, before: str, action: str) -> str | None:
    """The commit that this step made before it was interrupted, if it is still part of the branch."""
    if await repository.head() == before:
        return None
    words = ("-g", "-n", str(LOOK_BACK), "--no-color", "--no-show-signature", "--format=%H %gs", "HEAD", "--")
    log = await repository.tell("log", *words)
    for line in log.data.decode("utf-8", "replace").splitlines():
        commit, _, subject = line.partition(" ")
        is_ours = subject.startswith(f"{action}: ") and await _contains(repository, "HEAD", commit)
        if is_ours and not (before and await _contains(repository, before, commit)):
            return commit
    return None


async def _contains(repository: commands.Repository, branch: str, commit: str) -> bool:
    return (await repository.tell("merge-base", "--is-ancestor", commit, branch)).exit_code == 0


async def _refuse_strangers(repository: commands.Repository) -> None:
    """Fail before anything is changed if git does not know who commits."""
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        output = await repository.tell("var", name)
        if output.exit_code != 0:
            cure = "`git config user.name NAME` and `git config user.email ADDRESS` tell it"
            message = f"git does not know who commits; {cure}: {tail(output.errors, commands.LINES)}"
            raise LastingError("git-identity", message)


async def _add(repository: commands.Repository, files: list[str], context: NodeContext) -> list[bytes]:
    """Add the files. Returns the paths for `git commit`; none if it has to commit all that is staged."""
    names, own = await _own_changes(repository, files)
    new = _names_to_add(names, own)
    if new:
        await repository.perform("--literal-pathspecs", "add", *FROM_STDIN, stdin=b"\0".join(new))
    if (name := await _secret_in(repository, names, context)) is not None:
        if new:
            await repository.perform("--literal-pathspecs", "reset", "--quiet", *FROM_STDIN, stdin=b"\0".join(new))
        message = f"the changes contain the value of the secret `{name}`, so they are not committed"
        raise LastingError("commit-secret", message)
    names += _earlier_names(own)
    output = await repository.read("diff", "--cached", "--name-only", "-z", "--no-renames")
    ready = output.split(b"\0")[:-1]
    tops = {repository.prefix + name for name in names}
    others = [name for name in ready if names and not _is_in(name, tops)]
    if len(ready) == len(others):
        raise _nothing_to_commit(names)
    return names if others else []


async def _secret_in(repository: commands.Repository, names: list[bytes], context: NodeContext) -> str | None:
    """The variable whose secret value staged lines add to these files; to any file if there are no names."""
    secrets = Secrets(context.env, context.secrets)
    if not secrets:
        return None
    words = ("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--text", "-U0")
    for first in range(0, len(names) or 1, NAMES_AT_ONCE):
        some_names = [os.fsdecode(name) for name in names[first : first + NAMES_AT_ONCE]]
        output = await repository.tell("--literal-pathspecs", *words, "--", *some_names, most=MOST_CHANGES)
        added = b"\n".join(line[1:] for line in output.data.split(b"\n") if line.startswith(b"+"))
        if (name := secrets.found_in(added)) is not None:
            return name
    return None


async def _own_changes(
    repository: commands.Repository, files: list[str]
) -> tuple[list[bytes], list[commands.ChangedFile]]:
    """The names of the given files, and what has changed in them. Raises `NodeError` for a merge conflict."""
    changes = await repository.changes()
    names = _names(repository, files, changes)
    own = [change for change in changes if _is_in(change.name, set(names))]
    if conflicts := [commands.shown_name(change.name) for change in own if change.is_conflict]:
        raise LastingError("git-conflict", f"files have merge conflicts: {some(conflicts)}")
    return names, own


def _earlier_names(own: list[commands.ChangedFile]) -> list[bytes]:
    return [change.original for change in own if change.original is not None and "R" in change.xy]


def _names_to_add(names: list[bytes], own: list[commands.ChangedFile]) -> list[bytes]:
    """The names to add. A file whose removal is staged is not among them: `git add` does not know it any more."""
    trees = {change.name.rstrip(b"/"): change.xy[1] for change in own}

    def is_staged(name: bytes) -> bool:
        inner = [trees[name]] if name in trees else [tree for file, tree in trees.items() if _is_in(file, {name})]
        return bool(inner) and all(tree == " " for tree in inner)

    return [name for name in names if not is_staged(name)]


def _names(repository: commands.Repository, files: list[str], changes: list[commands.ChangedFile]) -> list[bytes]:
    """The names of the given files in the folder, as bytes. Raises `NodeError` for a path out of it."""
    by_name = {commands.shown_name(change.name): change.name for change in changes}
    names = [by_name[file] if file in by_name else _inside(repository, file) for file in files]
    return list(dict.fromkeys(name.rstrip(b"/") for name in names))


def _inside(repository: commands.Repository, file: str) -> bytes:
    """A path relative to the folder. Its last part may be a link: git commits the link itself."""
    folder = repository.folder
    parent, last = os.path.split(os.path.join(folder, file).rstrip("/"))
    real = real_inside(repository.root, parent)
    if not file or last in ("", "."):
        raise LastingError("params", f"`files`: `{file}` is not the name of a file")
    if real is None or last == ".." or path_flaw(file):
        raise LastingError("path-escape", f"`files`: `{file}` {why_outside(file)}")
    name = os.path.relpath(os.path.join(real, last), folder)
    if name.startswith("../"):
        raise LastingError("path-escape", f"`files`: `{file}` is outside of `cwd`")
    return name.encode()


def _is_in(file: bytes, names: set[bytes]) -> bool:
    """True if a file is one of these, or is in one of these folders."""
    parts = file.rstrip(b"/").split(b"/")
    return any(b"/".join(parts[:end]) in names for end in range(len(parts), 0, -1))
