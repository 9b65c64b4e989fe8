"""Nodes about what git has checked out: `git-status`, `git-branch`, and `git-worktree` for another checkout.

`git-worktree` makes a worktree for the steps of a flow, once, and merges, keeps or removes it.
"""

from __future__ import annotations

import time
from typing import Any

from handrail.base.errors import HandrailError
from handrail.driven.worktrees.create import WorktreeRequest, make_ready, plan_worktree
from handrail.driven.worktrees.git import Git
from handrail.driven.worktrees.merge_and_remove import merge_worktree, remove_worktree, worktree_state
from handrail.driven.worktrees.records import Worktree, WorktreeRecords
from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, Work
from handrail.settings.folders import UserFolders
from handrail.settings.settings import read_user_settings
from handrail.source.fields import Field
from handrail.source.plain_text import some
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files import path_inside, write_json, write_text
from handrail.steps.nodes.git import commands
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
        commands.CWD,
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
    repository = await commands.open_repository(work, context)
    changes = await repository.changes()
    if not changes and not work.params["mayBeClean"]:
        raise LastingError("no-changes", "git reports no changed files")
    diff = await _diff(repository, "--cached") + await _diff(repository)
    value = {
        "files": [_entry(change) for change in changes],
        "names": [commands.shown_name(change.name) for change in changes],
        "diff": diff,
        "diffStat": await _diff(repository, "--cached", "--stat") + await _diff(repository, "--stat"),
    }
    write_json(context, target, value)
    if diff_target:
        write_text(context, diff_target, diff)
    return value


async def _diff(repository: commands.Repository, *more: str) -> str:
    output = await repository.tell(*DIFF, *more, most=MOST_DIFF)
    if output.exit_code != 0:
        raise commands.git_error("diff", output.exit_code, output.errors)
    text = output.data.decode("utf-8", "replace")
    return f"{text}\n… {output.left_out} bytes after this were left out\n" if output.left_out else text


def _entry(change: commands.ChangedFile) -> dict[str, Any]:
    index, tree = change.xy[0], change.xy[1]
    entry = {"xy": change.xy, "indexStatus": index, "workTreeStatus": tree, "file": commands.shown_name(change.name)}
    if change.original is not None:
        entry["originalFile"] = commands.shown_name(change.original)
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
        commands.CWD,
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
    repository = await commands.open_repository(work, context)
    name = await repository.checked_branch(work.params["name"], "name")
    current = await repository.branch()
    existing = await repository.commit_at(f"refs/heads/{name}")
    before = context.remember("before", {"branch": current, "existed": existing is not None or current == name})
    if current != name:
        if not work.params["allowDirty"]:
            await _refuse_changes(repository, name)
        words = ["--no-guess", name] if existing else ["--create", name, await _base(repository, work.params)]
        await repository.perform("switch", "--no-progress", *words)
    commit = await repository.head()
    return {"branch": name, "created": not before["existed"], "commit": commit, "previous": before["branch"]}


async def _refuse_changes(repository: commands.Repository, name: str) -> None:
    if changes := await repository.changes():
        files = some([commands.shown_name(change.name) for change in changes])
        message = f"there are uncommitted changes, so the branch is not changed to `{name}`: {files}"
        raise LastingError("git-dirty", message)


async def _base(repository: commands.Repository, params: dict[str, Any]) -> str:
    """The commit that the base means: here, or else on `origin`."""
    base = "HEAD" if params.get("base") is None else params["base"].strip()
    for place in (base, f"refs/remotes/origin/{base}"):
        if (commit := await repository.commit_at(place)) is not None:
            return commit
    problem = "there is no commit yet" if base == "HEAD" else f"there is no branch, tag or commit `{shown(base, 80)}`"
    raise LastingError("git-missing", f"`base`: {problem}")


ACTIONS = ("create", "merge", "keep", "remove")
_WORKTREE = Node(
    about="Makes a git worktree on a new branch, outside of the project. Other steps work in it if their `cwd` is its "
    "`path`. `merge` brings its commits into the branch that it was made from; `remove` removes it and its branch, but "
    "fails if commits or changes would be lost; `keep` only says where it is.",
    params=(
        Field("action", ("text",), "what to do", default="create", choices=ACTIONS),
        Field("branch", ("text", "null"), "the new branch; by default `handrail/RUN`. Else: which worktree of the run"),
        Field("base", ("text", "null"), "what it is made from; by default what is checked out", also=("from",)),
        Field("setup", ("list",), "commands that prepare it, each a list of arguments: `[[npm, ci]]`", items=("list",)),
    ),
    outputs={
        "path": "the folder of the worktree",
        "branch": "its branch",
        "base": "the branch that it was made from; null if it was made from a commit",
        "commit": "the commit that it is at; after `merge`, the commit of the base branch",
    },
)


async def _use_worktree(work: Work, context: NodeContext) -> Any:
    job = _WorktreeAction(work, context)
    action = work.params["action"] or "create"  # no text means the default
    try:
        return await (job.create() if action == "create" else job.end(action))
    except HandrailError as error:
        message = error.message + (f"; {error.hint}" if error.hint else "")
        raise LastingError("worktree", message) from error


class _WorktreeAction:
    def __init__(self, work: Work, context: NodeContext) -> None:
        self.work = work
        self.context = context
        self.folders = UserFolders(context.env)
        self.records = WorktreeRecords(self.folders)
        self.env = commands.git_environment(work, context)
        self.run = context.run or "step"
        self.branch, self.base = ((work.params.get(name) or "").strip() or None for name in ("branch", "base"))

    async def create(self) -> dict[str, Any]:
        existing = next((tree for tree in self._own_trees() if tree.step == self.work.path), None)
        tree = existing or await plan_worktree(self._request(), Git(folder=self.context.project, env=self.env))
        return await self._outputs(await make_ready(self.records, tree, self.env, lambda _: None))

    def _request(self) -> WorktreeRequest:
        folder = read_user_settings(self.folders.config).worktree.folder
        return WorktreeRequest(
            run=self.run,
            project=self.context.project,
            parent=self.folders.trees if folder is None else folder.replace("~", self.folders.home, 1),
            name=self.run,
            created=float(self.context.remember("created", time.time())),
            base=self.base,
            branch=self.branch,
            step=self.work.path,
            setup=_commands(self.work.params.get("setup") or []),
        )

    async def end(self, action: str) -> dict[str, Any]:
        """Merge, keep or remove a worktree of this run. A removal that was interrupted is finished."""
        before: dict[str, Any] | None = self.context.recall("before")
        if before is None:
            before = await self._outputs(self._chosen_tree())
            self.context.remember("before", before)
        tree = self.records.at(before["path"])
        if action == "merge" and tree is not None:
            return {**before, "commit": await merge_worktree(self.records, tree, self.env)}
        if action == "remove" and tree is not None:
            await remove_worktree(self.records, tree, self.env)
        return dict(before)

    def _own_trees(self) -> list[Worktree]:
        return [tree for tree in self.records.of_run(self.run) if tree.step]

    def _chosen_tree(self) -> Worktree:
        """The worktree that the step means. Raises `NodeError` if there is none, or more than one."""
        trees = [tree for tree in self._own_trees() if self.branch in (None, tree.branch)]
        if len(trees) == 1:
            return trees[0]
        message = "the steps of this run made several worktrees; name its branch in `branch`"
        if not trees:
            message = "no step of this run made a worktree" + (f" on branch `{self.branch}`" if self.branch else "")
        raise LastingError("worktree", message)

    async def _outputs(self, tree: Worktree) -> dict[str, Any]:
        state = await worktree_state(tree, Git(folder=tree.repository, env=self.env))
        return {"path": tree.path, "branch": tree.branch, "base": tree.base, "commit": state.head or tree.commit}


def _commands(setup: list[list[Any]]) -> list[list[str]]:
    if not all(setup):
        raise LastingError("params", f"`setup` has to be a list of lists, found {shown(setup, 80)}")
    return [[as_text(word) for word in argv] for argv in setup]


STATUS = OneNode(_STATUS, _find_changes)
BRANCH = OneNode(_BRANCH, _switch_branch)
WORKTREE = OneNode(_WORKTREE, _use_worktree)
