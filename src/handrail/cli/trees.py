"""The options of `handrail run` for a worktree of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from handrail.app import App
from handrail.cli.output import Shell
from handrail.errors import UsageError
from handrail.source.plain import counted, plain, some
from handrail.worktrees.record import End

F = TypeVar("F", bound=Callable[..., Any])
ENDS: tuple[End, ...] = ("keep", "merge", "remove")


def worktree_options(function: F) -> F:
    """`--worktree`, its base, and what happens to it at the end."""
    for option in (
        click.option(
            "--remove", "end", flag_value="remove", help="Remove the worktree at the end, if nothing is lost."
        ),
        click.option("--merge", "end", flag_value="merge", help="Merge the worktree into its base at the end."),
        click.option("--keep", "end", flag_value="keep", help="Keep the worktree, also if there are no changes."),
        click.option("--base", metavar="REF", help="What the worktree starts from; by default what is checked out."),
        click.option("--worktree", "in_tree", is_flag=True, help="Work in a git worktree of its own, on a new branch."),
    ):
        function = option(function)
    return function


def planned_tree(app: App, shell: Shell, run: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The worktree for a new run, as data; empty if it works where the person stands. Makes nothing."""
    end, base = options["end"], options["base"]
    if not options["in_tree"]:
        if end is not None or base is not None:
            name = "--base" if base is not None else f"--{end}"
            raise UsageError(f"`{name}` needs `--worktree`", f"`handrail run NAME --worktree {name}`")
        here = app.worktrees.here() if app.folder != app.project else None
        return {} if here is None else here.to_json()
    tree, left = asyncio.run(app.worktrees.plan(run, options["scope"] or run, base, end))
    if left:
        files = plain(some([name.rstrip("/") for name in left], 4))
        stay = f"{counted(len(left), 'uncommitted change')} {'stays' if len(left) == 1 else 'stay'}"
        shell.talk(f"{stay} in `{app.folder}`, not in the worktree: {files}")
    return tree.to_json()
