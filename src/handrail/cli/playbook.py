"""`handrail playbook`: make, check and show the practices of a project, and see what an agent is told of them."""

from __future__ import annotations

import os
from typing import Any

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell
from handrail.cli.problems import print_problems, shown
from handrail.cli.reply import print_table
from handrail.errors import DefinitionError, NotFound, UsageError
from handrail.playbook.guidance import Guidance, guide
from handrail.playbook.load import Found, read_playbook
from handrail.playbook.select import TOKEN, Selection
from handrail.playbook.spec import MANIFEST, PHASES, Entry, Playbook
from handrail.source.diagnostics import has_errors
from handrail.source.plain import counted

MAKE = "`handrail playbook init` makes one"


@click.group()
def playbook() -> None:
    """Make, check and show the practices of a project.

    A playbook is in `.handrail/playbook`, or else where AgentWeaver has it, in `.agentweaver/playbook`.
    """


@playbook.command()
@click.option("--agent", metavar="AGENT", help="The agent that proposes practices; by default that of the settings.")
@click.option("--no-agent", is_flag=True, help="Make practices from the files of the project alone.")
@click.option("--answers", metavar="FILE", help="With an agent: a file with answers to its questions (JSON or YAML).")
@click.option("--yes", "is_accepted", is_flag=True, help="Write the playbook without asking.")
@command
def init(app: App, shell: Shell, **options: Any) -> None:
    """Make a playbook from what the files of the project and its people say.

    An agent reads the project, proposes practices with evidence and asks what it could not find out. Then you are asked
    whether the playbook is right, and it is written to `.handrail/playbook`. Files that are there are never changed.
    It is the flow `playbook-init`: `handrail resume` continues it. With --no-agent, no agent is needed.
    """
    from handrail.cli.playbook_init import with_agent, without_agent

    if options["is_accepted"]:
        app.refuse_agents("playbook init --yes")
    if options["agent"] and options["no_agent"]:
        raise UsageError("`--agent` and `--no-agent` exclude each other")
    found = read_playbook(app.project)
    if found.playbook is not None:
        shell.say(f"`{found.folder}` is a valid playbook; it stays as it is")
        return shell.data({"created": [], "folder": found.folder}) if shell.as_json else None
    if found.has_manifest:
        return _report(shell, found)
    return without_agent(app, shell, options) if options["no_agent"] else with_agent(app, shell, options)


@playbook.command()
@click.option("--format", "style", type=click.Choice(["text", "github"]), default="text", help="How to print problems.")
@command
def check(app: App, shell: Shell, style: str) -> None:
    """Check all files of the playbook. `handrail validate` checks them, too."""
    _report(shell, _found(app), style)


def _found(app: App) -> Found:
    """The playbook of the project, valid or not. Raises `NotFound` if there is none."""
    found = read_playbook(app.project)
    if found.folder is None:
        raise NotFound("the project has no playbook", MAKE)
    return found


def _report(shell: Shell, found: Found, style: str = "text") -> None:
    """Print the problems of a playbook. Exits with 2 if one is an error."""
    problems, fails = shown(found.problems, shell.cwd), has_errors(found.problems)
    if shell.as_json:
        shell.data({"ok": not fails, "problems": [problem.to_json() for problem in problems]})
    elif problems or style == "github":
        print_problems(problems, style)
    elif found.playbook is not None:
        book = found.playbook
        numbers = [counted(len(some), noun) for some, noun in _sections(book) if some]
        shell.say(f"no problems in `{found.folder}`: {', '.join(numbers) or 'no practices'}")
    if fails:
        raise SystemExit(2)


def _sections(book: Playbook) -> list[tuple[tuple[Any, ...], str]]:
    return [(book.practices, "practice"), (book.examples, "example"), (book.templates, "template")]


def _valid(app: App) -> tuple[Found, Playbook]:
    """The valid playbook of the project. Raises `DefinitionError` if it has errors."""
    found = _found(app)
    if found.playbook is None:
        errors = counted(sum(problem.severity == "error" for problem in found.problems), "error")
        raise DefinitionError(f"`{found.folder}` has {errors}", "`handrail playbook check` shows them")
    return found, found.playbook


@playbook.command()
@command
def show(app: App, shell: Shell) -> None:
    """List the practices, examples, templates and budgets of the playbook."""
    found, book = _valid(app)
    if shell.as_json:
        return shell.data(_whole(book))
    shell.say(f"{book.name} ({found.folder}/{MANIFEST})")
    rows: list[tuple[str, ...]] = [
        (entry.id, entry.kind, ", ".join(entry.phases) or "all", _for_whom(entry), entry.title)
        for entry in book.entries
    ]
    rows += [(path, "template", "", "", "") for path in book.templates]
    rows += [(path, "always", "all", "every task", "") for path in book.always]
    if rows:
        shell.say()
        print_table(shell, [("ID", "KIND", "PHASES", "FOR", "TITLE"), *rows])
    shell.say()
    names = list(dict.fromkeys((*PHASES, *book.budgets)))
    print_table(shell, [("PHASE", "TOKENS"), *((name, str(book.budget(name))) for name in names)])
    return None


def _for_whom(entry: Entry) -> str:
    applies = entry.applies
    parts = (*(applies.languages or ()), *(applies.frameworks or ()), *(applies.globs or ()), *(applies.keywords or ()))
    return ", ".join(parts) or "every task"


def _whole(book: Playbook) -> dict[str, Any]:
    return {
        "folder": book.folder,
        "name": book.name,
        "languages": list(book.languages),
        "frameworks": list(book.frameworks),
        "practices": [_entry(entry) for entry in book.practices],
        "examples": [_entry(entry) for entry in book.examples],
        "templates": list(book.templates),
        "always": list(book.always),
        "budgets": {name: book.budget(name) for name in dict.fromkeys((*PHASES, *book.budgets))},
        "selection": {
            "includeExamples": book.include_examples,
            "maxExamples": book.max_examples,
            "matching": book.matching,
        },
    }


def _entry(entry: Entry) -> dict[str, Any]:
    applies = {name: list(value) for name, value in vars(entry.applies).items() if value}
    row = {"id": entry.id, "title": entry.title, "path": entry.path, "phases": list(entry.phases)}
    more = {"priority": entry.priority or 0, "severity": entry.severity or "info", "related": list(entry.related)}
    return {**row, "appliesTo": applies, **more}


@playbook.command()
@click.option("--phase", required=True, help=f"The phase: {', '.join(PHASES)}, or one of your own.")
@click.option("--task", default="", help="The task, in words.")
@click.option("--files", multiple=True, metavar="FILE...", help="Files that the task changes.")
@click.argument("more", nargs=-1, metavar="")
@command
def guidance(app: App, shell: Shell, phase: str, task: str, files: tuple[str, ...], more: tuple[str, ...]) -> None:
    """Show what an agent is told of the playbook for a task, and why.

    \b
    handrail playbook guidance --phase implement --task "add a login page" --files src/login.ts src/app.ts
    """
    if more and not files:
        raise UsageError(f"`{more[0]}` was not expected", "name files with `--files FILE...`")
    _valid(app)
    if not phase.strip():
        raise UsageError("`--phase` is blank", f"name a phase, such as {PHASES[0]}")
    given = guide(app.project, phase, task, [_in_project(app, path) for path in (*files, *more)])
    selection = given.selection
    assert selection is not None
    if shell.as_json:
        return shell.data(_told(given, selection))
    items = _items(given, selection)
    shell.talk(f"{counted(len(items), 'item')}, {selection.used} of {selection.limit} tokens, in the phase `{phase}`")
    if not items:
        return shell.say("nothing in the playbook is for this task in this phase")
    print_table(shell, [("ID", "TOLD", "WHY"), *((item["id"], item["told"], item["why"]) for item in items)])
    return shell.say(f"\n{given.text}")


def _in_project(app: App, path: str) -> str:
    """A path as globs see it: relative to the project, if it is inside."""
    real = os.path.abspath(path)
    inside = os.path.relpath(real, app.project)
    return path if inside.startswith("..") else inside


def _told(given: Guidance, selection: Selection) -> dict[str, Any]:
    return {
        "phase": selection.phase,
        "items": _items(given, selection),
        "characters": selection.characters,
        "budget": selection.limit * TOKEN,
        "tokens": {"used": selection.used, "budget": selection.limit},
        "leftOut": [one.entry.id for one in selection.dropped],
        "text": given.text,
    }


def _items(given: Guidance, selection: Selection) -> list[dict[str, Any]]:
    """What an agent is told. `told`: its `text`, or only its `path`."""
    folder = given.found.folder
    chosen = {one.entry.path for one in selection.chosen}
    rows: list[dict[str, Any]] = [
        {"id": path, "title": path, "path": f"{folder}/{path}", "why": "for every task", "kind": "page", "told": "path"}
        for path in selection.always
        if path not in chosen
    ]
    for one in selection.chosen:
        entry = one.entry
        row = {"id": entry.id, "title": entry.title, "path": f"{folder}/{entry.path}", "why": one.why}
        rows.append({**row, "kind": entry.kind, "told": "text" if one.is_told else "path"})
    return rows
