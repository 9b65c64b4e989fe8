"""`handrail import`: takes over what AgentWeaver left. Reports each thing, and never changes it."""

from __future__ import annotations

import os

import click

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound
from handrail.cli.options import command
from handrail.cli.output import Shell
from handrail.cli.results import print_table
from handrail.cli.terminal import WaitingLine
from handrail.project.agentweaver_files import FOLDER
from handrail.project.agentweaver_import import (
    RESULT_WORDS,
    AgentWeaverImport,
    ImportItem,
    ImportResult,
    result_counts,
)
from handrail.settings.folders import shown_path
from handrail.source.plain_text import counted, plain


@click.command("import")
@click.argument("tool", type=click.Choice(["agentweaver"]))
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False))
@click.option("--dry-run", is_flag=True, help="Only report what would be taken over.")
@command
def import_(app: App, shell: Shell, tool: str, folder: str | None, dry_run: bool) -> None:
    """Take over what AgentWeaver left in a project.

    It looks in this project, or in DIR, and in your home folder. Artifacts with a manifest become published artifacts;
    named presets and the routes of flows go into your settings. Everything else is reported: what works as it is, and
    what is left, and why. For an unfinished run, the command that goes on with it is shown. No file of AgentWeaver is
    changed, and a second import takes nothing twice.

    \b
    handrail import agentweaver --dry-run
    """
    del tool
    if not dry_run:
        app.refuse_agents("import")
    if folder is not None:
        app = app.at(_project_in(folder))
    with WaitingLine(shell, f"reading what AgentWeaver left in {shown_path(app.project, shell.cwd)}"):
        items = _take_over(app, dry_run=dry_run)
    if shell.as_json:
        rows = [item.to_json() for item in items]
        return shell.data({"project": app.project, "dryRun": dry_run, "items": rows, "counts": result_counts(items)})
    head = ("WHAT", "RESULT", "NAME", "WHERE", "NOTE")
    print_table(shell, [head, *(_row(item, shell, dry_run) for item in _grouped(items))])
    for item in items:
        if item.kind == "run" and item.command:
            shell.say(plain(f"{item.name} in {item.scope}: {item.command}"))
    told = [f"{count} {_many(result, count, dry_run)}" for result, count in result_counts(items).items() if count]
    return shell.say(f"{', '.join(told)}; nothing of AgentWeaver was changed")


def _take_over(app: App, *, dry_run: bool) -> list[ImportItem]:
    return AgentWeaverImport(
        project=app.project,
        places=app.places,
        kept=app.runs.kept,
        secrets=app.secrets,
        flow_named=app.flow_named,
        catalog=app.flows,
        agents=app.registry.executors(),
        is_dry=dry_run,
    ).take_over()


def _project_in(folder: str) -> str:
    """The project that a person names: its folder, or the folder of AgentWeaver in it."""
    path = os.path.realpath(folder)
    if os.path.basename(path) == FOLDER:
        path = os.path.dirname(path)
    if not os.path.isdir(os.path.join(path, FOLDER)):
        raise NotFound(f"there is no folder `{FOLDER}` in `{folder}`", "name the folder of the project")
    return path


def _word(result: ImportResult, dry_run: bool) -> str:
    return "would be taken over" if dry_run and result == "taken" else RESULT_WORDS[result]


def _many(result: ImportResult, count: int, dry_run: bool) -> str:
    return "work as they are" if result == "works" and count > 1 else _word(result, dry_run)


def _row(item: ImportItem, shell: Shell, dry_run: bool) -> tuple[str, ...]:
    return item.kind, _word(item.result, dry_run), item.name, shown_path(item.path, shell.cwd), item.note


def _grouped(items: list[ImportItem]) -> list[ImportItem]:
    """The items for people: the artifacts of a scope that were taken over are one line."""
    found: dict[tuple[str | None, str] | int, list[ImportItem]] = {}
    for number, item in enumerate(items):
        is_many = item.kind == "artifact" and item.result in ("taken", "already")
        found.setdefault((item.scope, item.result) if is_many else number, []).append(item)
    return [_one_item(same) if len(same) > 1 else same[0] for same in found.values()]


def _one_item(same: list[ImportItem]) -> ImportItem:
    first = same[0]
    name = f"{counted(len(same), 'artifact')} of {first.scope}"
    path = os.path.commonpath([item.path for item in same])
    return replace(first, name=name, path=path, note="`handrail artifacts` lists them")
