"""`handrail worktrees` and `handrail worktree`: list the worktrees of runs, and merge, keep or remove one."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from handrail.app import App
from handrail.cli.common import command, run_argument
from handrail.cli.output import Shell, date_and_time
from handrail.cli.reply import print_table
from handrail.cli.trees import ENDS
from handrail.cli.waiting import Waiting
from handrail.errors import RefusedError, UsageError
from handrail.runs.worktree import kept_words
from handrail.view.columns import duration
from handrail.worktrees.project import Listed
from handrail.worktrees.record import Tree


@click.command()
@command
def worktrees(app: App, shell: Shell) -> None:
    """List the worktrees of the runs of this project.

    The oldest comes first. What a kill left of a worktree is listed, too. `handrail prune` removes it.
    """
    with Waiting(shell, "asking git about the worktrees"):
        found = asyncio.run(app.worktrees.listed())
    if shell.as_json:
        return shell.data({"worktrees": [one.to_json() for one in found]})
    if not found:
        return shell.say("no run of this project has a worktree; `handrail run NAME --worktree` makes one")
    rows = [_row(one, app.clock()) for one in found]
    return print_table(shell, [("RUN", "BRANCH", "STATE", "CREATED", "AGE", "PATH"), *rows])


def _row(one: Listed, now: float) -> tuple[str, ...]:
    tree = one.tree
    age = duration(max(0.0, now - tree.created))
    return tree.run, tree.branch, one.state, date_and_time(tree.created), age, tree.path


@click.command()
@click.argument("action", type=click.Choice(ENDS))
@run_argument
@click.option("--branch", metavar="NAME", help="Which one, if the steps of the run made several.")
@click.option("--force", is_flag=True, help="With `remove`: also if commits or changes are lost.")
@command
def worktree(app: App, shell: Shell, action: str, run_id: str, **options: Any) -> None:
    """Merge, keep or remove the worktree of a run.

    `merge` brings its commits into the branch that it was made from, and removes it. It refuses if there are conflicts
    or uncommitted changes, and then changes nothing. `remove` refuses if commits or changes would be lost.
    `keep` keeps it when the run is completed, whatever was chosen before.
    """
    if options["force"] and action != "remove":
        raise UsageError("`--force` works only with `remove`", f"`handrail worktree remove {run_id} --force`")
    app.refuse_agents(f"worktree {action}")
    tree = app.worktrees.named(run_id, options["branch"])
    if action != "keep":
        _refuse_driven(app, tree)
    with Waiting(shell, f"git works on `{tree.branch}`"):
        told, more = asyncio.run(_act(app, tree, action, force=options["force"]))
    if shell.as_json:
        return shell.data({"run": tree.run, "action": action, "branch": tree.branch, "path": tree.path, **more})
    return shell.say(told)


async def _act(app: App, tree: Tree, action: str, *, force: bool) -> tuple[str, dict[str, Any]]:
    if action == "merge":
        commit = await app.worktrees.merge(tree)
        return f"merged into `{tree.base}` ({commit[:10]}); the worktree is removed", {"commit": commit}
    if action == "keep":
        return kept_words(await app.worktrees.keep(tree)), {}
    lost = await app.worktrees.remove(tree, force=force)
    again = f"; `git branch {tree.branch} {lost}` brings its commits back" if lost else ""
    return f"removed `{tree.path}`{again}", {"lost": lost}


def _refuse_driven(app: App, tree: Tree) -> None:
    """Refuse if the run, or another one that was started inside its worktree, is running there."""
    for id_ in (id_ for id_ in app.runs.ids() if app.runs.is_driven(id_)):
        used = app.runs.load(id_).about.request.worktree
        if id_ == tree.run or (used is not None and used.path == tree.path):
            message = f"run `{id_}` is running in the worktree"
            raise RefusedError(message, f"wait until it ends, or run `handrail stop {id_}`")
