"""`git-status`: the changed files of the project and their differences, as data and in files."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.values import as_json, as_text
from handrail.steps.nodes.files.write_file import path_inside, put_file
from handrail.steps.nodes.git.commands import (
    CWD,
    LABEL,
    ChangedFile,
    Repository,
    git_error,
    open_repository,
    shown_name,
)

MOST_DIFF = 4 * 1024 * 1024
DIFF = ("diff", "--relative", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
NODE = Node(
    about="Finds the files of the project that git reports as changed, and their differences. Fails if there are none, "
    "unless `mayBeClean` is true. Artifacts that git does not track are left out.",
    params=(
        Field("outputFile", ("text",), "a file for all outputs, as JSON", required=True, shortest=1, names="path"),
        Field("diffOutputFile", ("text",), "a file for `diff`", shortest=1, names="path"),
        Field("mayBeClean", ("boolean",), "do not fail if nothing is changed", default=False),
        CWD,
        LABEL,
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


async def run(work: Work, context: NodeContext) -> Any:
    target = path_inside(context, as_text(work.params["outputFile"]))
    diff_file = work.params.get("diffOutputFile")
    diff_target = path_inside(context, as_text(diff_file)) if diff_file else None
    repository = await open_repository(work, context)
    changes = await repository.changes()
    if not changes and not work.params["mayBeClean"]:
        raise NodeError("no-changes", "git reports no changed files", transient=False)
    diff = await _diff(repository, "--cached") + await _diff(repository)
    value = {
        "files": [_entry(change) for change in changes],
        "names": [shown_name(change.name) for change in changes],
        "diff": diff,
        "diffStat": await _diff(repository, "--cached", "--stat") + await _diff(repository, "--stat"),
    }
    put_file(target, f"{as_json(value, is_indented=True)}\n", context)
    if diff_target is not None:
        put_file(diff_target, diff, context)
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
