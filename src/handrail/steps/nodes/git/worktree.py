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
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
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
    action = work.params.get("action") or "create"
    job = _WorktreeAction(work, context)
    try:
        return await (job.create() if action == "create" else job.end(action))
    except HandrailError as error:
        told = error.message + (f"; {error.hint}" if error.hint else "")
        raise NodeError("worktree", told, transient=False) from error


class _WorktreeAction:
    def __init__(self, work: Work, context: NodeContext) -> None:
        self.work = work
        self.context = context
        self.places = UserFolders(context.env)
        self.trees = WorktreeRecords(self.places)
        self.env = git_environment(work, context)

    async def create(self) -> dict[str, Any]:
        known = next((tree for tree in self._own() if tree.step == self.work.path), None)
        tree = known or await plan_worktree(self._wish(), Git(folder=self.context.project, env=self.env))
        made = await make_ready(self.trees, tree, self.env, _ignore)
        return await self._outputs(made)

    def _wish(self) -> WorktreeRequest:
        given = read_user_settings(self.places.config).worktree.folder
        params = self.work.params
        return WorktreeRequest(
            run=self.context.run or "step",
            project=self.context.project,
            parent=self.places.trees if given is None else given.replace("~", self.places.home, 1),
            name=self.context.run or "step",
            created=float(self.context.remember("created", time.time())),
            base=_text(params.get("base")),
            branch=_text(params.get("branch")),
            step=self.work.path,
            setup=_commands(params.get("setup") or []),
        )

    async def end(self, action: str) -> dict[str, Any]:
        """Merge, keep or remove a worktree of this run. A removal that was interrupted is finished."""
        chosen = self._chosen()
        before = self.context.remember("before", None if chosen is None else await self._outputs(chosen))
        if before is None and chosen is None:
            raise self._unclear()
        if before is None and chosen is not None:
            before = await self._outputs(chosen)
        tree = self.trees.at(before["path"])
        if action == "merge" and tree is not None:
            return {**before, "commit": await merge_worktree(self.trees, tree, self.env)}
        if action == "remove" and tree is not None:
            await remove_worktree(self.trees, tree, self.env)
        return dict(before)

    def _own(self) -> list[Worktree]:
        return [tree for tree in self.trees.of_run(self.context.run or "step") if tree.step]

    def _found(self) -> list[Worktree]:
        branch = _text(self.work.params.get("branch"))
        return [tree for tree in self._own() if branch in (None, tree.branch)]

    def _chosen(self) -> Worktree | None:
        """The worktree that the step means; None if there is none, or more than one."""
        found = self._found()
        return found[0] if len(found) == 1 else None

    def _unclear(self) -> NodeError:
        branch = _text(self.work.params.get("branch"))
        where = f" on branch `{branch}`" if branch else ""
        told = f"no step of this run made a worktree{where}"
        if self._found():
            told = "the steps of this run made several worktrees; name its branch in `branch`"
        return NodeError("worktree", told, transient=False)

    async def _outputs(self, tree: Worktree) -> dict[str, Any]:
        now = await standing(tree, Git(folder=tree.repository, env=self.env))
        return {"path": tree.path, "branch": tree.branch, "base": tree.base, "commit": now.head or tree.commit}


def _ignore(text: str) -> None:
    del text


def _text(value: str | None) -> str | None:
    return None if value is None else value.strip() or None


def _commands(given: list[list[Any]]) -> list[list[str]]:
    if not all(given):
        raise NodeError("params", f"`setup` has to be a list of lists, found {shown(given, 80)}", transient=False)
    return [[as_text(word) for word in argv] for argv in given]
