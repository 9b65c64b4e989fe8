"""The command that estimates a run."""

from __future__ import annotations

from typing import Any

import click

from handrail.app import App
from handrail.cli.common import command, complete_flow
from handrail.cli.output import Shell
from handrail.cli.params import given_bounds, limit_options, part_of_request, route_options
from handrail.cli.reply import print_table
from handrail.cli.waiting import Waiting
from handrail.runs.bounds import Bounded
from handrail.runs.estimate import estimate as estimate_run
from handrail.runs.missing import refuse_phases
from handrail.runs.request import Request
from handrail.view.estimate import bound_warnings, estimate_rows, meaning


@click.command()
@click.argument("name", shell_complete=complete_flow)
@route_options
@limit_options
@click.option("--from", "start", metavar="PHASE", help="Leave out the phases before this one.")
@click.option("--until", metavar="PHASE", help="Leave out the phases after this one.")
@command
def estimate(app: App, shell: Shell, name: str, **options: Any) -> None:
    """Say how long a run will likely take and what it will cost.

    Both come from past runs of the same flow in this project, with the same agents.
    """
    flow = app.flow_named(name)
    assert flow.plan is not None
    request = Request(params={}, **part_of_request(app, options))
    refuse_phases(flow.plan, request)
    with Waiting(shell, f"reading past runs of `{flow.id}`"):
        found = estimate_run(app.runs, app.flows, flow, request)
    bounds = Bounded(**app.settings.limits, places=app.settings.limit_places).with_later(given_bounds(options))
    warnings = list(bound_warnings(found.whole, bounds))
    if shell.as_json:
        return shell.data({**found.to_json(), "warnings": warnings})
    print_table(shell, estimate_rows(found))
    shell.talk(meaning(found))
    for told in warnings:
        shell.talk(f"warning: {told}")
    return None
