"""Commands that show runs: list them, print the events of one, list its artifacts."""

from __future__ import annotations

import json
import time

import click

from handrail.app import App
from handrail.cli.common import command, complete_run, run_argument
from handrail.cli.output import Shell, time_of_day
from handrail.cli.reply import list_runs
from handrail.cli.watch import print_run
from handrail.errors import UsageError
from handrail.runs import machine
from handrail.runs.machine import Event
from handrail.source.plain import plain

LOOK_AGAIN = 0.1
SELDOM = 0.5
"""In seconds. While nothing happens, the pause between two looks grows up to this."""
_ENDS = ("RunEnded", "RunParked")


@click.command()
@click.argument("run", required=False, shell_complete=complete_run)
@command
def runs(app: App, shell: Shell, run: str | None) -> None:
    """List the runs of this project.

    The newest one is first. With RUN, print only this run; with --json, all its phases and steps.
    """
    if run is None:
        return list_runs(shell, app.runs.summaries())
    return print_run(shell, app.runs.load(app.runs.named(run)))


@click.command()
@run_argument
@click.option("--follow", is_flag=True, help="Keep printing until the run ends or waits for a person.")
@click.option("--events", is_flag=True, help="Print each event as one line of JSON.")
@command
def log(app: App, shell: Shell, run_id: str, follow: bool, events: bool) -> None:
    """Show all events of a run."""
    if follow and shell.as_json:
        raise UsageError("`--follow` cannot print one JSON object", "use `--events` instead of `--json`")
    records, offset = app.runs.events(run_id)
    if shell.as_json:
        return shell.data({"events": [_data(t, event) for t, event in records]})
    last, pause = "", LOOK_AGAIN
    while True:
        for moment, event in records:
            click.echo(json.dumps(_data(moment, event), ensure_ascii=False) if events else _line(moment, event))
            last = type(event).__name__
        if not follow or last in _ENDS:
            return None
        pause = LOOK_AGAIN if records else min(pause * 1.5, SELDOM)
        time.sleep(pause)
        records, offset = app.runs.events(run_id, offset)


def _data(moment: float, event: Event) -> dict[str, object]:
    return {"time": moment, **machine.event_to_json(event)}


def _line(moment: float, event: Event) -> str:
    data = {name: value for name, value in vars(event).items() if value is not None and name != "path"}
    path = getattr(event, "path", "")
    rest = json.dumps(data, ensure_ascii=False) if data else ""
    return plain(f"{time_of_day(moment)}  {type(event).__name__:<18} {path:<24} {rest[:400]}").rstrip()


@click.command()
@run_argument
@command
def artifacts(app: App, shell: Shell, run_id: str) -> None:
    """List the artifacts of a run."""
    made = app.runs.load(run_id).state.artifacts
    if shell.as_json:
        return shell.data({"run": run_id, "artifacts": made})
    for artifact in made:
        shell.say(plain(f"{artifact['id']}  {artifact['path']}  {artifact['sha256'][:12]}"))
    if not made:
        shell.say("this run published no artifacts")
    return None
