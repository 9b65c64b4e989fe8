"""`handrail prune`: removes old runs and ended sessions."""

from __future__ import annotations

from typing import Any

import click

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import UsageError
from handrail.cli.options import command
from handrail.cli.output import Shell, date_and_time
from handrail.cli.terminal import WaitingLine
from handrail.project.prune import MONTH, STATUSES, PruneItem, PruneRule
from handrail.source.plain_text import plain
from handrail.source.values import DURATION_EXAMPLE, parse_duration


@click.command()
@click.option("--older-than", metavar="TIME", help="Only what ended before that time: `30d`, `12h`, `2w`.")
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N runs and the newest N sessions.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only with this status.")
@click.option("--damaged", is_flag=True, help="Move damaged runs to the folder `aside`; delete nothing.")
@click.option("--yes", is_flag=True, help="Do it. Without this, only print what would be removed.")
@command
def prune(app: App, shell: Shell, yes: bool, damaged: bool, **chosen: Any) -> None:
    """Remove old runs and ended sessions of this project.

    What is active or waits for a person is never removed. Without a choice, what ended more than 30 days ago is
    removed. Published artifacts and their history are kept. What a kill left of a worktree is removed, too, unless
    there is work in it. A run whose worktree has work is kept.

    \b
    handrail prune --older-than 14d --keep 20
    """
    app.refuse_agents("prune")
    rule = PruneRule(_seconds(chosen["older_than"]), chosen["keep"], chosen["statuses"], damaged)
    if rule == PruneRule():
        rule = PruneRule(older_than=MONTH)
    with WaitingLine(shell, "removing what is old" if yes else "looking for what is old"):
        done = app.prune(replace(rule, leftovers=not damaged), dry_run=not yes)
    if shell.as_json:
        rows = [item.to_json() for item in done.removed]
        return shell.data({"dryRun": not yes, "removed": rows, "kept": done.kept, "held": done.held})
    verb = ("moved away" if damaged else "removed") if yes else ("would move away" if damaged else "would remove")
    for item in done.removed:
        shell.say(f"{verb}: {_line(item)}")
    if not done.removed:
        shell.say(f"nothing to remove; {_kept(done.kept)} kept")
    elif not yes:
        shell.say(f"{len(done.removed)} of {len(done.removed) + done.kept}; add `--yes` to do it")
    for words in done.held:
        shell.talk(f"kept: {plain(words)}; `handrail worktrees` shows it")
    return None


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = parse_duration(text)
    if found is None:
        raise UsageError(f"`--older-than` has to be {DURATION_EXAMPLE}, found `{text}`")
    return found


def _kept(number: int) -> str:
    return "1 run or session is" if number == 1 else f"{number or 'no'} runs and sessions are"


def _line(item: PruneItem) -> str:
    ended = "" if item.ended is None else date_and_time(item.ended)
    return plain(f"{item.kind} {item.id}  {item.name}  {item.status}  {ended}").rstrip()
