"""The folders in which the steps of a run may work: the project, and the worktrees that its steps made."""

from __future__ import annotations

import os

from handrail.contracts import NodeContext
from handrail.project import Places
from handrail.state.files import real_inside
from handrail.worktrees.record import Trees


def work_root(context: NodeContext, path: str) -> str | None:
    """The folder around a path: the project, or a worktree that a step of this run made. None if it is in neither."""
    if real_inside(context.project, path) is not None:
        return context.project
    if not os.path.isabs(path) or not context.run:
        return None
    own = (tree for tree in Trees(Places(context.env)).of_run(context.run) if tree.step)
    return next((tree.path for tree in own if real_inside(tree.path, path) is not None), None)


def work_folder(context: NodeContext, path: str) -> str | None:
    """The real path of a folder in which a step works; None if it may not work there."""
    root = work_root(context, path)
    return None if root is None else real_inside(root, path)
