"""Commands that show runs: which there are, what happened in one, what it made."""

from __future__ import annotations

import json
import time

import click

from handrail.app import App
from handrail.cli.common import command, run_argument
from handrail.cli.output import Shell
from handrail.cli.reply import list_runs
from handrail.errors import StateError, UsageError
from handrail.runs import machine
from handrail.runs.machine import Event
from handrail.runs.shown import RunView
from handrail.runs.summary import summaries
from handrail.source.plain import plain

LOOK_AGAIN = 0.2
_ENDS = ("RunEnded", "RunParked")


@click.command()
@command
def runs(app: App, shell: Shell) -> None:
    """List the runs of this project."""
    if not shell.as_json:
        return list_runs(shell, summaries(app.places.runs(app.project)))
    found = [(id_, _view(app, id_)) for id_ in app.runs.ids()]
    rows = [_broken(i, v) if isinstance(v, StateError) else v.to_json() for i, v in found]
    return shell.data({"runs": rows})


def _broken(id_: str, error: StateError) -> dict[str, object]:
    return {"run": id_, "status": "failed", "error": error.message}


def _view(app: App, id_: str) -> RunView | StateError:
    """A run, or why it cannot be shown: one that is damaged hides no other."""
    try:
        return app.runs.view(id_)
    except StateError as error:
        return error


@click.command()
@run_argument
@click.option("--follow", is_flag=True, help="Go on until the run ends or waits.")
@click.option("--events", is_flag=True, help="Print every event as one JSON object a line.")
@command
def log(app: App, shell: Shell, run_id: str, follow: bool, events: bool) -> None:
    """Show everything that happened in a run."""
    if follow and shell.as_json:
        raise UsageError("`--follow` has no end that one JSON object could have", "use `--events`")
    records = app.runs.records(run_id)
    if shell.as_json:
        return shell.data({"events": [_data(t, event) for t, event in records]})
    seen = 0
    while True:
        for moment, event in records[seen:]:
            click.echo(json.dumps(_data(moment, event), ensure_ascii=False) if events else _line(moment, event))
        seen = len(records)
        if not follow or (records and type(records[-1][1]).__name__ in _ENDS):
            return None
        time.sleep(LOOK_AGAIN)
        records = app.runs.records(run_id)


def _data(moment: float, event: Event) -> dict[str, object]:
    return {"time": moment, **machine.event_to_json(event)}


def _line(moment: float, event: Event) -> str:
    data = {name: value for name, value in vars(event).items() if value is not None and name != "path"}
    path = getattr(event, "path", "")
    stamp = time.strftime("%H:%M:%S", time.localtime(moment))
    rest = json.dumps(data, ensure_ascii=False) if data else ""
    return plain(f"{stamp}  {type(event).__name__:<18} {path:<24} {rest[:400]}").rstrip()


@click.command()
@run_argument
@command
def artifacts(app: App, shell: Shell, run_id: str) -> None:
    """List what a run made."""
    made = app.runs.view(run_id).state.artifacts
    if shell.as_json:
        return shell.data({"run": run_id, "artifacts": made})
    for artifact in made:
        shell.say(plain(f"{artifact['id']}  {artifact['path']}  {artifact['sha256'][:12]}"))
    if not made:
        shell.say("nothing was published by this run")
    return None
