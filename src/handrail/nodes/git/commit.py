"""`git-commit`: commits files, once. Other files stay as they are, also if they are staged.

The commit is recognised after a crash: git's own record of the branch (the reflog) names the step that made it. The
step also records which commit was checked out before, so a commit of an earlier attempt does not count.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Preview, Work, refuse_changed
from handrail.nodes.git import hooks
from handrail.nodes.git.prospect import FROM_STDIN, Prospect, prospect
from handrail.nodes.git.refs import current_branch
from handrail.nodes.git.repository import CWD, LABEL, LINES, Change, Repository, opened, shown_name
from handrail.process.child import tail
from handrail.source.fields import SCALARS, Field
from handrail.source.plain import some
from handrail.source.values import as_text, shown
from handrail.state.files import real_inside
from handrail.state.regular import path_flaw, why_outside

MOST_MESSAGE = 100_000
LOOK_BACK = 1000
NODE = Node(
    about="Adds files and commits them. Nothing else is committed, even if it is staged. Without files it commits what "
    "is staged. A resumed run finds a commit that it made before.",
    params=(
        Field("message", SCALARS, "the message of the commit", required=True, shortest=1),
        Field("files", ("list",), "the files, relative to `cwd`", required=True, items=("text",)),
        CWD,
        LABEL,
    ),
    others="ignored",
    outputs={"output": "what git printed", "commitHash": "the hash of the commit"},
    where=("branch",),
)


async def run(work: Work, context: NodeContext) -> Any:
    message = _message(work.params["message"])
    repository = await opened(work, context)
    before = as_text(context.remember("head", await repository.head()))
    action = " ".join(f"handrail {context.key}".split())
    made = await _made_before(repository, before, action)
    if made is not None:
        said = await repository.read("log", "-1", "--no-color", "--no-show-signature", "--format=%h %s", made)
        return {"output": said.decode("utf-8", "replace"), "commitHash": made}
    await _refuse_strangers(repository)
    if work.approved is not None:
        refuse_changed(work, await _state(repository, await _prospect(repository, work, context)))
    paths = await _add(repository, work.params["files"], context)
    argv = ("-c", "core.logAllRefUpdates=true", "--literal-pathspecs", "commit", "--cleanup=whitespace")
    only = ("--only", *FROM_STDIN) if paths else ()
    stdin = b"\0".join(paths) if paths else None
    ended = await repository.perform(*argv, f"--message={message}", *only, stdin=stdin, GIT_REFLOG_ACTION=action)
    return {"output": ended.output, "commitHash": await repository.head()}


async def preview(work: Work, context: NodeContext) -> Preview:
    message = _message(work.params["message"])
    repository = await opened(work, context)
    await _refuse_strangers(repository)
    found = await _prospect(repository, work, context)
    branch = await current_branch(repository) or "no branch is checked out"
    state = await _state(repository, found)
    told = (("Branch", branch), ("Message", message.strip()), ("Changes", found.changes))
    return Preview(
        title=f"Commit to `{branch}`: {message.strip().splitlines()[0]}",
        facts=(*told, *hooks.facts(state["hooks"])),
        state=state,
        where={"branch": branch},
    )


async def _prospect(repository: Repository, work: Work, context: NodeContext) -> Prospect:
    changes = await repository.changes()
    names = _names(repository, work.params["files"], changes, context)
    own = [change for change in changes if _is_in(change.name, set(names))]
    _refuse_conflicts(own)
    return await prospect(repository, names + _renamed(own))


async def _state(repository: Repository, found: Prospect) -> dict[str, str]:
    """What a yes to this commit is for."""
    return {
        "branch": await current_branch(repository) or "none",
        "commit": await repository.head() or "none",
        "files": found.tree,
        "hooks": await hooks.told(repository, hooks.OF_COMMIT),
    }


def _message(given: Any) -> str:
    message = as_text(given)
    if not message.strip():
        raise NodeError("params", "`message` is blank", transient=False)
    if "\0" in message or len(message.encode()) > MOST_MESSAGE:
        told = f"`message` may have at most {MOST_MESSAGE} bytes and no NUL character"
        raise NodeError("params", told, transient=False)
    return message


async def _made_before(repository: Repository, before: str, action: str) -> str | None:
    """The commit that this step made before it was interrupted, if it is still part of the branch."""
    if await repository.head() == before:
        return None
    words = ("-g", "-n", str(LOOK_BACK), "--no-color", "--no-show-signature", "--format=%H %gs", "HEAD", "--")
    found = await repository.tell("log", *words)
    for line in found.data.decode("utf-8", "replace").splitlines():
        commit, _, subject = line.partition(" ")
        is_ours = subject.startswith(f"{action}: ") and await _contains(repository, "HEAD", commit)
        if is_ours and not (before and await _contains(repository, before, commit)):
            return commit
    return None


async def _contains(repository: Repository, branch: str, commit: str) -> bool:
    return (await repository.tell("merge-base", "--is-ancestor", commit, branch)).exit_code == 0


async def _refuse_strangers(repository: Repository) -> None:
    """Fail before anything is changed if git does not know who commits."""
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        printed = await repository.tell("var", name)
        if printed.exit_code != 0:
            cure = "`git config user.name NAME` and `git config user.email ADDRESS` tell it"
            message = f"git does not know who commits; {cure}: {tail(printed.errors, LINES)}"
            raise NodeError("git-identity", message, transient=False)


async def _add(repository: Repository, files: Any, context: NodeContext) -> list[bytes]:
    """Add the files. Returns the paths for `git commit`; none if it has to commit all that is staged."""
    changes = await repository.changes()
    names = _names(repository, files, changes, context)
    own = [change for change in changes if _is_in(change.name, set(names))]
    _refuse_conflicts(own)
    if new := _not_staged(names, own):
        await repository.perform("--literal-pathspecs", "add", *FROM_STDIN, stdin=b"\0".join(new))
    names += _renamed(own)
    found = await repository.read("diff", "--cached", "--name-only", "-z", "--no-renames")
    ready = found.split(b"\0")[:-1]
    tops = {repository.prefix + name for name in names}
    others = [name for name in ready if names and not _is_in(name, tops)]
    if len(ready) == len(others):
        message = "there is nothing to commit: " + ("no given file has changed" if names else "nothing is staged")
        raise NodeError("nothing-to-commit", message, transient=False)
    return names if others else []


def _refuse_conflicts(own: list[Change]) -> None:
    conflicts = [shown_name(change.name) for change in own if change.is_conflict]
    if conflicts:
        raise NodeError("git-conflict", f"files have merge conflicts: {some(conflicts)}", transient=False)


def _renamed(own: list[Change]) -> list[bytes]:
    """The earlier names of renamed files."""
    return [change.original for change in own if change.original is not None and "R" in change.xy]


def _not_staged(names: list[bytes], own: list[Change]) -> list[bytes]:
    """The names to add. A file whose removal is staged is not among them: `git add` does not know it any more."""
    trees = {change.name.rstrip(b"/"): change.xy[1] for change in own}

    def is_staged(name: bytes) -> bool:
        inner = [trees[name]] if name in trees else [tree for file, tree in trees.items() if _is_in(file, {name})]
        return bool(inner) and all(tree == " " for tree in inner)

    return [name for name in names if not is_staged(name)]


def _names(repository: Repository, files: Any, changes: list[Change], context: NodeContext) -> list[bytes]:
    """The names of the given files in the folder, as bytes. Raises `NodeError` for a path out of it."""
    known = {shown_name(change.name): change.name for change in changes}
    names: list[bytes] = []
    for file in files:
        if not isinstance(file, str):
            raise NodeError("params", f"an item of `files` has to be text, found {shown(file, 80)}", transient=False)
        name = known.get(file)
        names.append(_inside(repository.folder, file, context) if name is None else name)
    return list(dict.fromkeys(name.rstrip(b"/") for name in names))


def _inside(folder: str, file: str, context: NodeContext) -> bytes:
    """A path relative to the folder. Its last part may be a link: git commits the link itself."""
    parent, last = os.path.split(os.path.join(folder, file).rstrip("/"))
    real = real_inside(context.project, parent)
    if not file or last in ("", "."):
        raise NodeError("params", f"`files`: `{file}` is not the name of a file", transient=False)
    if real is None or last == ".." or path_flaw(file):
        raise NodeError("path-escape", f"`files`: `{file}` {why_outside(file)}", transient=False)
    name = os.path.relpath(os.path.join(real, last), folder)
    if name.startswith("../"):
        raise NodeError("path-escape", f"`files`: `{file}` is outside of `cwd`", transient=False)
    return name.encode()


def _is_in(file: bytes, names: set[bytes]) -> bool:
    """True if a file is one of these, or is in one of these folders."""
    parts = file.rstrip(b"/").split(b"/")
    return any(b"/".join(parts[:end]) in names for end in range(len(parts), 0, -1))
