"""What commands share: options and arguments, their completion, agents by name, and asking a person for trust."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from handrail.app import App
from handrail.base.errors import HandrailError, UsageError
from handrail.cli.forms import can_ask
from handrail.cli.invocation import make_app
from handrail.cli.output import Shell
from handrail.cli.results import SHOWN_PROGRAMS, program_lines
from handrail.settings.trust import TRUST_VARIABLE, ProgramUse
from handrail.source.suggestions import did_you_mean

FindPrograms = Callable[[], Sequence[ProgramUse]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
F = TypeVar("F", bound=Callable[..., Any])
TRUST_GIVEN = "handrail.trust"


def option_group(*each: Callable[[Any], Any]) -> Callable[[F], F]:
    """One decorator for several options, in the order in which the help shows them."""

    def decorated(function: F) -> F:
        for option in reversed(each):
            function = option(function)
        return function

    return decorated


trust_option = click.option(
    "--trust",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, is_given: context.meta.update({TRUST_GIVEN: is_given}),
    help="Trust this project for this one call, if nobody has trusted it yet.",
)


def trust_for_call(app: App, context: click.Context) -> None:
    """Trust the project for this call, if a person or a script says so. The word of an agent does not count."""
    if context.meta.get(TRUST_GIVEN):
        app.refuse_agents(f"{context.info_name} --trust")
        app.trust.word = lambda: True
    elif os.environ.get(TRUST_VARIABLE) == "1":
        app.trust.word = lambda: not app.is_leashed


def need_trust(app: App, shell: Shell, find: FindPrograms, run: str | None = None) -> None:
    """Ask for trust if there is something to run. Raises `UntrustedError` if nobody can be asked, or the answer is no.

    `find` returns what would be run; `run` is the run that would run it, if it has begun.
    """
    if app.trust.holds(run) or not (programs := find()):
        return
    if not can_ask() or shell.as_json or app.caller.sign is not None:
        raise app.trust.refusal(programs)
    click.echo(f"Nobody has trusted `{app.project}` yet. It would run:", err=True)
    for line in program_lines(programs, shell.cwd)[:SHOWN_PROGRAMS]:
        click.echo(f"  {line}", err=True)
    if len(programs) > SHOWN_PROGRAMS:
        click.echo(f"  and {len(programs) - SHOWN_PROGRAMS} more: `handrail trust --show`", err=True)
    if not click.confirm("Trust this project, now and later?", default=False, err=True):
        raise app.trust.refusal(programs)
    app.trust.grant(app.clock())


def command(function: F) -> F:
    """Decorates a command: it gets `app` and `shell`, and has the options that every command has."""
    project = click.option("--project", metavar="DIR", help="The project's folder.", hidden=True)
    return project(command_for_scope(function))


def command_for_scope(function: F) -> F:
    """Like `command`, for commands with their own `--user/--project` option."""

    def wrapped(as_json: bool, quiet: bool, verbose: bool, project: str | None = None, **values: Any) -> Any:
        del verbose  # the bug report looks for it in `argv`
        context = click.get_current_context()
        shared_options = context.find_root().params
        app = make_app(project or shared_options.get("project"))
        trust_for_call(app, context)
        if "run_id" in values:
            values["run_id"] = app.runs.named(values["run_id"])
        shell = Shell(os.getcwd(), as_json=as_json, quiet=quiet or bool(shared_options.get("quiet")))
        return function(app=app, shell=shell, **values)

    return cast("F", _shared_options(functools.wraps(function)(wrapped)))


_shared_options = option_group(
    click.option("-v", "--verbose", is_flag=True, hidden=True),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option("-q", "--quiet", is_flag=True, help="Print only the result."),
)


class ListGroup(click.Group):
    """A group of commands that runs its command `list` if none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def completing(find: Callable[[App, click.Context], Iterable[tuple[str, str | None]]]) -> Complete:
    """A completion: the words that `find` yields, each with its help, as far as they continue what was typed."""

    def complete(context: click.Context, _param: click.Parameter, begin: str) -> list[CompletionItem]:
        try:
            words = list(find(make_app(context.find_root().params.get("project")), context))
        except HandrailError:
            return []
        return [CompletionItem(word, help=about) for word, about in words if word.startswith(begin)]

    return complete


complete_workflow = completing(lambda app, _: ((spec.command, spec.name) for spec in app.catalog.visible()))
complete_key = completing(lambda app, _: ((spec.key, spec.name) for spec in app.catalog.workflows.values()))
complete_run = completing(lambda app, _: ((id_, None) for id_ in app.runs.engine.ids()))
complete_session = completing(
    lambda app, _: ((one.session, one.status_line or one.state.status) for one in app.sessions.reports())
)


@completing
def complete_flow(app: App, _: click.Context) -> Iterable[tuple[str, str | None]]:
    shipped_flows = {entry.id: entry.description for entry in app.definitions.shipped.entries() if entry.visible}
    plans = [flow.plan for flow in app.flows.flows.values() if flow.plan is not None]
    hidden_ids = {plan.id for plan in plans if not plan.visible}
    every = {**shipped_flows, **{plan.id: plan.description for plan in plans}}
    return [(id_, about) for id_, about in every.items() if id_ not in hidden_ids]


run_argument = click.argument("run_id", metavar="RUN", shell_complete=complete_run)
"""The id of a run, the beginning of an id, or `last`."""
session_option = click.option(
    "--session",
    metavar="ID",
    shell_complete=complete_session,
    help="The session; by default the only active one in this project.",
)


def known_agent(agent: str, agents: list[str], problem: str) -> str:
    """The agent, if it is one of `agents`. `problem` begins the error."""
    if agent not in agents:
        raise UsageError(f"{problem} `{agent}`", did_you_mean(agent, agents) or f"possible today: {', '.join(agents)}")
    return agent


def installable(app: App, agent: str) -> str:
    """The agent, if Handrail can be installed into it."""
    return known_agent(agent, app.registry.installable(), "Handrail cannot be installed into")
