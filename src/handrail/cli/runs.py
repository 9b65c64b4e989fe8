"""Commands of runs: a flow that Handrail drives itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell
from handrail.diagnostics import plain
from handrail.drive import RunView
from handrail.driven import machine
from handrail.errors import UsageError

_SAYS = {
    "PhaseStarted": "▸",
    "PhaseSkipped": "·",
    "StepSkipped": "  ·",
    "StepDone": "  ✓",
    "StepFailed": "  ✗",
}


def _params(given: tuple[str, ...]) -> dict[str, Any]:
    """`NAME=VALUE`; a value that is JSON is taken as such, anything else as text."""
    params: dict[str, Any] = {}
    for item in given:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise UsageError(f"`{item}` is not `NAME=VALUE`")
        try:
            params[name] = json.loads(value)
        except ValueError:
            params[name] = value
    return params


def _observer(shell: Shell, events: bool) -> Any:
    def show(event: machine.Event) -> None:
        if events:
            return click.echo(json.dumps(machine.event_to_json(event), ensure_ascii=False))
        sign = _SAYS.get(type(event).__name__)
        if sign:
            shell.talk(f"{sign} {getattr(event, 'path', '')} {getattr(event, 'message', '')}".rstrip())
        return None

    return show


def _drive(app: App, shell: Shell, id_: str, events: bool) -> None:
    view = asyncio.run(app.runs.drive(id_, _observer(shell, events)))
    if shell.as_json:
        shell.data(view.to_json())
    elif not events:
        shell.say(_line(view))
    if view.state.status != "completed":
        raise SystemExit(3 if (view.state.reason or "").startswith("timeout") else 1)


def _line(view: RunView) -> str:
    more = view.state.error or view.state.reason or view.state.summary or ""
    return plain(f"{view.id}  {view.plan.id}  {view.state.status}  {more}").rstrip()


@click.command()
@click.argument("name")
@click.option("--param", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the flow.")
@click.option("--events", is_flag=True, help="Print every event as one JSON object a line.")
@command
def run(app: App, shell: Shell, name: str, given: tuple[str, ...], events: bool) -> None:
    """Run a flow to its end."""
    flow = app.flows.find(name)
    id_ = app.runs.begin(app.flows, flow, _params(given), f"r-{app.token()}")
    shell.talk(f"run {id_}")
    _drive(app, shell, id_, events)


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--events", is_flag=True, help="Print every event as one JSON object a line.")
@command
def resume(app: App, shell: Shell, run_id: str, events: bool) -> None:
    """Go on with a run that was cut off or failed. What is finished is not done again."""
    _drive(app, shell, run_id, events)


@click.command()
@command
def runs(app: App, shell: Shell) -> None:
    """List the runs of this project."""
    views = [app.runs.view(id_) for id_ in app.runs.ids()]
    if shell.as_json:
        return shell.data({"runs": [view.to_json() for view in views]})
    for view in views:
        shell.say(_line(view))
    if not views:
        shell.say("no runs in this project; begin one: `handrail run NAME`")
    return None


@click.command()
@click.argument("run_id", metavar="RUN")
@command
def log(app: App, shell: Shell, run_id: str) -> None:
    """Show everything that happened in a run."""
    records = app.runs.records(run_id)
    if shell.as_json:
        return shell.data({"events": [{"time": t, **machine.event_to_json(event)} for t, event in records]})
    for _, event in records:
        shell.say(plain(json.dumps(machine.event_to_json(event), ensure_ascii=False)))
    return None
