"""`handrail trust` and `handrail distrust`: a person's word that a project may run programs."""

from __future__ import annotations

import os
from typing import Any

import click

from handrail.app import App
from handrail.base.errors import UsageError
from handrail.cli.options import command
from handrail.cli.output import Shell, date_and_time
from handrail.cli.results import program_lines
from handrail.settings.folders import find_root, owning_project, shown_path
from handrail.settings.trust import ProgramUse
from handrail.source.plain_text import command_line, counted, plain


@click.command()
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(exists=False))
@click.option("--below", is_flag=True, help="Trust every project in this folder, also those that come later.")
@click.option("--show", is_flag=True, help="Only say whether the project is trusted, and what it would run.")
@command
def trust(app: App, shell: Shell, folder: str | None, below: bool, show: bool) -> None:
    """Trust a project: its checks, flows, settings and agents may run programs.

    A project that nobody has trusted runs nothing. Trust is recorded in Handrail's state folder, outside of the
    project. It holds for the folder, whatever its files say later; plugins are asked for again when they change.

    \b
    handrail trust --show
    handrail trust
    """
    if folder is not None and not os.path.isdir(folder):
        raise UsageError(f"`{folder}` is not a folder", "give the path of the project's folder")
    at = app if folder is None else app.at(_project(app, folder, is_exact=below))
    if show:
        return _say_standing(at, shell)
    app.refuse_agents("trust")
    at.trust.grant(at.clock(), below=below)
    if shell.as_json:
        return shell.data(_standing(at, shell, at.definitions.programs_of_project(at.settings)))
    shell.say(f"trusted: {plain(at.project)}" + (", and every project below it" if below else ""))
    return shell.talk(f"`{command_line('handrail', 'distrust', at.project)}` takes it back")


@click.command()
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(exists=False))
@command
def distrust(app: App, shell: Shell, folder: str | None) -> None:
    """Take back the trust in a project. It runs nothing any more until a person trusts it again."""
    at = app if folder is None else app.at(_known(app, folder))
    revoked = at.trust.store.revoke(at.project)
    above = at.trust.record
    if shell.as_json:
        return shell.data({"project": at.project, "revoked": revoked, **_record(at)})
    shell.say(f"not trusted any more: {plain(at.project)}" if revoked else f"was not trusted: {plain(at.project)}")
    if above is not None:
        shell.insist(
            f"warning: it is still trusted, because every project below `{plain(above.path)}` is; "
            f"`{command_line('handrail', 'distrust', above.path)}` takes that back"
        )
    return None


def _project(app: App, folder: str, *, is_exact: bool) -> str:
    """The project of a folder, or the folder itself."""
    return os.path.realpath(folder) if is_exact else owning_project(app.places, find_root(folder))


def _known(app: App, folder: str) -> str:
    """The folder that has a record, also if it does not exist any more; else the project of the folder."""
    exact = os.path.realpath(folder)
    return exact if any(one.path == exact for one in app.trust.store.all()) else _project(app, folder, is_exact=False)


def _record(app: App) -> dict[str, Any]:
    record = app.trust.record
    told = None if record is None else {"path": record.path, "at": record.at, "below": record.below}
    return {"trusted": record is not None, "record": told}


def _standing(app: App, shell: Shell, programs: list[ProgramUse]) -> dict[str, Any]:
    runs = [program.to_json(lambda path: shown_path(path, shell.cwd)) for program in programs]
    return {"project": app.project, **_record(app), "runs": runs}


def _say_standing(app: App, shell: Shell) -> None:
    programs, record = app.definitions.programs_of_project(app.settings), app.trust.record
    if shell.as_json:
        return shell.data(_standing(app, shell, programs))
    if record is None:
        shell.say(f"not trusted: {plain(app.project)}")
    else:
        by = "" if record.path == app.project else f", by the record of `{plain(record.path)}`"
        shell.say(f"trusted: {plain(app.project)}, since {date_and_time(record.at)}{by}")
    if not programs:
        return shell.say("its definitions and settings run nothing; runs of other flows and agents need trust, too")
    shell.say(f"it {'runs' if record else 'would run'} {counted(len(programs), 'thing')}:")
    for line in program_lines(programs, shell.cwd):
        shell.say(f"  {line}")
    return None
