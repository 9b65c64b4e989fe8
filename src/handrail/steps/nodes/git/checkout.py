"""`git-status` and `git-branch`: what has changed in the files that are checked out, and another branch for them."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, Work
from handrail.source.fields import Field
from handrail.source.plain_text import some
from handrail.source.values import shown
from handrail.steps.nodes.files import path_inside, write_json, write_text
from handrail.steps.nodes.git.commands import (
    CWD,
    ChangedFile,
    Repository,
    checked_branch,
    commit_at,
    current_branch,
    git_error,
    open_repository,
    shown_name,
)
from handrail.steps.nodes.params import path_param, text_param, unused_param

MOST_DIFF = 4 * 1024 * 1024
DIFF = ("diff", "--relative", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
_STATUS = Node(
    about="Finds the files of the project that git reports as changed, and their differences. Fails if there are none, "
    "unless `mayBeClean` is true. Artifacts that git does not track are left out.",
    params=(
        path_param("outputFile", "a file for all outputs, as JSON"),
        path_param("diffOutputFile", "a file for `diff`", required=False),
        Field("mayBeClean", ("boolean",), "do not fail if nothing is changed", default=False),
        CWD,
        unused_param("labelText"),
    ),
    others="ignored",
    outputs={
        "files": "the changed files, each with `xy`, `indexStatus`, `workTreeStatus`, `file`, `originalFile` (if it "
        "was renamed), `staged` and `type`: `added`, `deleted`, `renamed`, `untracked` or `modified`",
        "names": "the names of these files, for `files` of `git-commit`",
        "diff": f"the staged differences, then the others, each of at most {MOST_DIFF // 1024 // 1024} MiB",
        "diffStat": "how many lines changed in each file",
    },
)


async def _find_changes(work: Work, context: NodeContext) -> Any:
    target, diff_target = work.params["outputFile"], work.params.get("diffOutputFile")
    for path in filter(None, (target, diff_target)):
        path_inside(context, path)
    repository = await open_repository(work, context)
    changes = await repository.changes()
    if not changes and not work.params["mayBeClean"]:
        raise LastingError("no-changes", "git reports no changed files")
    diff = await _diff(repository, "--cached") + await _diff(repository)
    value = {
        "files": [_entry(change) for change in changes],
        "names": [shown_name(change.name) for change in changes],
        "diff": diff,
        "diffStat": await _diff(repository, "--cached", "--stat") + await _diff(repository, "--stat"),
    }
    write_json(context, target, value)
    if diff_target:
        write_text(context, diff_target, diff)
    return value


async def _diff(repository: Repository, *more: str) -> str:
    printed = await repository.tell(*DIFF, *more, most=MOST_DIFF)
    if printed.exit_code != 0:
        raise git_error("diff", printed.exit_code, printed.errors)
    text = printed.data.decode("utf-8", "replace")
    return f"{text}\n… {printed.left_out} bytes after this were left out\n" if printed.left_out else text


def _entry(change: ChangedFile) -> dict[str, Any]:
    index, tree = change.xy[0], change.xy[1]
    entry = {"xy": change.xy, "indexStatus": index, "workTreeStatus": tree, "file": shown_name(change.name)}
    if change.original is not None:
        entry["originalFile"] = shown_name(change.original)
    return {**entry, "staged": index not in " ?", "type": _type(change.xy)}


def _type(xy: str) -> str:
    if "A" in xy:
        return "added"
    if "D" in xy:
        return "deleted"
    if xy == "??":
        return "untracked"
    return "renamed" if "R" in xy else "modified"


_BRANCH = Node(
    about="Switches to a branch, and creates it from a base if there is none. A branch that exists is never moved. "
    "With uncommitted changes it fails, unless it is on the branch already or `allowDirty` is true.",
    params=(
        text_param("name", "the name of the branch", also=("branch",)),
        Field(
            "base",
            ("text", "null"),
            "what a new branch starts from: a branch, a tag or a commit; by default what is checked out",
            also=("from", "startPoint"),
        ),
        Field("allowDirty", ("boolean",), "take uncommitted changes along to the branch", default=False),
        CWD,
    ),
    outputs={
        "branch": "the name of the branch",
        "created": "true if this step created it",
        "commit": "the commit that is checked out",
        "previous": "the branch that was checked out before; null if there was none",
    },
)


async def _switch_branch(work: Work, context: NodeContext) -> Any:
    """Running it again changes nothing."""
    repository = await open_repository(work, context)
    name = await checked_branch(repository, work.params["name"], "name")
    current = await current_branch(repository)
    existing = await commit_at(repository, f"refs/heads/{name}")
    before = context.remember("before", {"branch": current, "existed": existing is not None or current == name})
    if current != name:
        if not work.params["allowDirty"]:
            await _refuse_changes(repository, name)
        words = ["--no-guess", name] if existing else ["--create", name, await _base(repository, work.params)]
        await repository.perform("switch", "--no-progress", *words)
    commit = await repository.head()
    return {"branch": name, "created": not before["existed"], "commit": commit, "previous": before["branch"]}


async def _refuse_changes(repository: Repository, name: str) -> None:
    changes = await repository.changes()
    if changes:
        files = some([shown_name(change.name) for change in changes])
        message = f"there are uncommitted changes, so the branch is not changed to `{name}`: {files}"
        raise LastingError("git-dirty", message)


async def _base(repository: Repository, params: dict[str, Any]) -> str:
    """The commit that the base means: here, or else on `origin`."""
    base = "HEAD" if params.get("base") is None else params["base"].strip()
    for place in (base, f"refs/remotes/origin/{base}"):
        commit = await commit_at(repository, place)
        if commit is not None:
            return commit
    what = "there is no commit yet" if base == "HEAD" else f"there is no branch, tag or commit `{shown(base, 80)}`"
    raise LastingError("git-missing", f"`base`: {what}")


STATUS = OneNode(_STATUS, _find_changes)
BRANCH = OneNode(_BRANCH, _switch_branch)
