"""`git-worktree`: makes a worktree for the steps of a flow, once, and merges, keeps or removes it."""

from __future__ import annotations

import time
from typing import Any

from handrail.base.errors import HandrailError
from handrail.driven.worktrees.git import Git
from handrail.driven.worktrees.lifecycle import (
    WorktreeRequest,
    make_ready,
    merge_worktree,
    plan_worktree,
    remove_worktree,
    standing,
)
from handrail.driven.worktrees.records import Worktree, WorktreeRecords
from handrail.extensions.contracts import LastingError, Node, NodeContext, Work
from handrail.settings.folders import UserFolders
from handrail.settings.settings import read_user_settings
from handrail.source.fields import Field
from handrail.source.values import as_text, shown
from handrail.steps.nodes.git.commands import git_environment

ACTIONS = ("create", "merge", "keep", "remove")
NODE = Node(
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


async def run(work: Work, context: NodeContext) -> Any:
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
        self.env = git_environment(work, context)
        self.run = context.run or "step"
        self.branch, self.base = ((work.params.get(name) or "").strip() or None for name in ("branch", "base"))

    async def create(self) -> dict[str, Any]:
        known = next((tree for tree in self._own() if tree.step == self.work.path), None)
        tree = known or await plan_worktree(self._request(), Git(folder=self.context.project, env=self.env))
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
            before = await self._outputs(self._chosen())
            self.context.remember("before", before)
        tree = self.records.at(before["path"])
        if action == "merge" and tree is not None:
            return {**before, "commit": await merge_worktree(self.records, tree, self.env)}
        if action == "remove" and tree is not None:
            await remove_worktree(self.records, tree, self.env)
        return dict(before)

    def _own(self) -> list[Worktree]:
        return [tree for tree in self.records.of_run(self.run) if tree.step]

    def _chosen(self) -> Worktree:
        """The worktree that the step means. Raises `NodeError` if there is none, or more than one."""
        trees = [tree for tree in self._own() if self.branch in (None, tree.branch)]
        if len(trees) == 1:
            return trees[0]
        message = "the steps of this run made several worktrees; name its branch in `branch`"
        if not trees:
            message = "no step of this run made a worktree" + (f" on branch `{self.branch}`" if self.branch else "")
        raise LastingError("worktree", message)

    async def _outputs(self, tree: Worktree) -> dict[str, Any]:
        now = await standing(tree, Git(folder=tree.repository, env=self.env))
        return {"path": tree.path, "branch": tree.branch, "base": tree.base, "commit": now.head or tree.commit}


def _commands(setup: list[list[Any]]) -> list[list[str]]:
    if not all(setup):
        raise LastingError("params", f"`setup` has to be a list of lists, found {shown(setup, 80)}")
    return [[as_text(word) for word in argv] for argv in setup]
