"""Asks a person to trust a project before anything of it is run, and takes the word for one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from handrail.app import App
from handrail.cli.ask import can_ask
from handrail.cli.output import Shell
from handrail.project import shown_path
from handrail.trust.guard import WORD
from handrail.trust.programs import Program

Programs = Callable[[], Sequence[Program]]
F = TypeVar("F", bound=Callable[..., Any])
GIVEN = "handrail.trust"
SHOWN = 8
"""So many programs are shown before the question. `handrail trust --show` shows all."""


def trust_option(function: F) -> F:
    """`--trust`: trust the project for this one call."""
    return click.option(
        "--trust",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Trust this project for this one call, if nobody has trusted it yet.",
    )(function)


def _remember(context: click.Context, _param: click.Parameter, given: bool) -> None:
    context.meta[GIVEN] = given


def take_word(app: App, context: click.Context) -> None:
    """Trust the project for this call, if a person or a script says so. The word of an agent does not count."""
    if context.meta.get(GIVEN):
        app.refuse_agents(f"{context.info_name} --trust")
        app.trust.is_for_call = True
    elif os.environ.get(WORD) == "1":
        app.trust.is_for_call = not app.is_leashed


def need_trust(app: App, shell: Shell, find: Programs, run: str | None = None) -> None:
    """Ask for trust if there is something to run. Raises `UntrustedError` if nobody can be asked, or the answer is no.

    `find` returns what would be run; `run` is the run that would run it, if it has begun.
    """
    if app.trust.holds(run) or not (programs := find()):
        return
    if not can_ask() or shell.as_json or app.caller.sign is not None:
        raise app.trust.refusal(programs)
    click.echo(f"Nobody has trusted `{app.project}` yet. It would run:", err=True)
    for line in listed(programs, shell.cwd)[:SHOWN]:
        click.echo(f"  {line}", err=True)
    if len(programs) > SHOWN:
        click.echo(f"  and {len(programs) - SHOWN} more: `handrail trust --show`", err=True)
    if not click.confirm("Trust this project, now and later?", default=False, err=True):
        raise app.trust.refusal(programs)
    app.trust.grant(app.clock())


def listed(programs: Sequence[Program], cwd: str) -> list[str]:
    """Each program in one line."""
    return [program.words(lambda path: shown_path(path, cwd)) for program in programs]


def mark_untrusted(app: App) -> Callable[[Callable[[Any], Sequence[Program]], Any], str]:
    """A function that marks a definition, if nobody has trusted the project and it would run something.

    Its arguments are the function that finds what a definition would run, and the definition.
    """
    is_trusted = app.trust.holds()
    return lambda find, definition: " (not trusted)" if not is_trusted and find(definition) else ""


def tell_untrusted(app: App, shell: Shell, programs: Sequence[Program] | None = None) -> None:
    """Say what would be run if the project were trusted. By default only that there is something."""
    if app.trust.holds() or not (app.definitions.own_programs() if programs is None else programs):
        return
    if programs is None:
        shell.talk(
            "nobody has trusted this project, so it runs nothing: `handrail trust --show` says what it would run"
        )
        return
    shell.talk(f"nobody has trusted `{app.project}`, so it runs nothing; with `handrail trust` it would run:")
    for line in listed(programs, shell.cwd)[:SHOWN]:
        shell.talk(f"  {line}")
    if len(programs) > SHOWN:
        shell.talk(f"  and {len(programs) - SHOWN} more")
