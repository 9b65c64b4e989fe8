"""`handrail playbook`: makes, checks and shows the practices of a project, and what an agent is told of them.

A new playbook is made with an agent by the flow `playbook-init`, or from the files of the project alone.
"""

from __future__ import annotations

import os
from typing import Any

import click

from handrail.app import App
from handrail.base.errors import DefinitionError, HandrailError, NotFound, RefusedError, UsageError
from handrail.base.files import real_inside, write_whole
from handrail.cli.definition_list import print_problems, shown_problems
from handrail.cli.forms import can_ask
from handrail.cli.options import command
from handrail.cli.output import Shell
from handrail.cli.results import print_table
from handrail.cli.terminal import WaitingLine
from handrail.settings.routes import DEFAULT
from handrail.source.diagnostics import has_errors
from handrail.source.plain_text import command_line, counted
from handrail.steps.playbook.guidance import TOKEN, Selection, TaskGuidance, guide
from handrail.steps.playbook.load import FoundPlaybook, read_playbook
from handrail.steps.playbook.spec import MANIFEST, OWN, PHASES, Playbook, PlaybookEntry


class Unanswered(HandrailError):
    """A person has to accept the playbook, and nobody can be asked."""

    code = "waiting"
    exit_code = 4


def init_with_agent(app: App, shell: Shell, options: dict[str, Any]) -> None:
    """Run the flow that asks an agent, and then a person."""
    from handrail.cli.commands.runs import run

    if options["agent"] is None and DEFAULT not in app.settings.routes and "planning" not in app.settings.routes:
        hint = "name one: `--agent AGENT`, or make it from the files alone: `--no-agent`"
        raise UsageError("no agent was named, and the settings name none", hint)
    values = {"agent": options["agent"], "answers": options["answers"], "accept_playbook_draft": options["is_accepted"]}
    shared_options = {"project": app.project, "as_json": shell.as_json, "quiet": shell.quiet, "verbose": False}
    click.get_current_context().invoke(run, name="playbook-init", task=(), scope="playbook", **values, **shared_options)


def init_without_agent(app: App, shell: Shell, options: dict[str, Any]) -> None:
    """Write a playbook from the files of the project alone, if a person accepts it."""
    from handrail.steps.playbook.draft import draft_from, languages_and_frameworks, playbook_files
    from handrail.steps.playbook.survey import ProjectTree, facts_of

    name = os.path.basename(app.project)
    with WaitingLine(shell, "reading the files of the project"):
        facts = facts_of(ProjectTree(app.project))
    draft = draft_from(facts, name)
    files = playbook_files(draft, name, languages_and_frameworks(facts))
    for path in files:
        if real_inside(app.project, path) is None:
            raise RefusedError(f"`{path}` leads out of the project", "replace the link with a folder")
        if os.path.lexists(os.path.join(app.project, path)):
            raise RefusedError(f"`{path}` is there already, and nothing is overwritten", "move it away, then try again")
    for rule in draft["accepted_rules"]:
        shell.talk(f"{rule['title']} ({', '.join(rule['evidence_paths'])})")
    if not options["is_accepted"]:
        _ask_to_accept(app, len(draft["accepted_rules"]))
    for path, text in files.items():
        target = os.path.join(app.project, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_whole(target, text.encode(), durable=True)
        shell.say(f"created: {path}")
    lookup = read_playbook(app.project)
    if lookup.playbook is None:
        raise HandrailError("the written playbook has errors", "`handrail playbook check` shows them")
    if shell.as_json:
        return shell.data({"created": list(files), "folder": OWN})
    return shell.talk("next: read and edit the files, then `handrail playbook guidance --phase implement --task TASK`")


def _ask_to_accept(app: App, count: int) -> None:
    """Ask the person at the terminal. Raises `RefusedError` for a no, and `Unanswered` if there is nobody."""
    if not can_ask() or app.caller.sign is not None:
        message = f"a person has to accept the playbook with {counted(count, 'practice')}, and there is no terminal"
        raise Unanswered(message, "`--yes` accepts it")
    if not click.confirm(f"Write this playbook to `{OWN}`?", err=True):
        raise RefusedError("the playbook was not accepted, so nothing was written")


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
    if options["is_accepted"]:
        app.refuse_agents("playbook init --yes")
    if options["agent"] and options["no_agent"]:
        raise UsageError("`--agent` and `--no-agent` exclude each other")
    lookup = read_playbook(app.project)
    if lookup.playbook is not None:
        shell.say(f"`{lookup.folder}` is a valid playbook; it stays as it is")
        return shell.data({"created": [], "folder": lookup.folder}) if shell.as_json else None
    if lookup.has_manifest:
        return _report(shell, lookup)
    return init_without_agent(app, shell, options) if options["no_agent"] else init_with_agent(app, shell, options)


@playbook.command()
@click.option("--format", "style", type=click.Choice(["text", "github"]), default="text", help="How to print problems.")
@command
def check(app: App, shell: Shell, style: str) -> None:
    """Check all files of the playbook. `handrail validate` checks them, too."""
    _report(shell, _require_playbook(app), style)


def _require_playbook(app: App) -> FoundPlaybook:
    """The playbook of the project, valid or not. Raises `NotFound` if there is none."""
    lookup = read_playbook(app.project)
    if lookup.folder is None:
        raise NotFound("the project has no playbook", MAKE)
    return lookup


def _report(shell: Shell, lookup: FoundPlaybook, style: str = "text") -> None:
    problems, fails = shown_problems(lookup.problems, shell.cwd), has_errors(lookup.problems)
    if shell.as_json:
        shell.data({"ok": not fails, "problems": [problem.to_json() for problem in problems]})
    elif problems or style == "github":
        print_problems(problems, style)
    elif lookup.playbook is not None:
        book = lookup.playbook
        parts = ((book.practices, "practice"), (book.examples, "example"), (book.templates, "template"))
        numbers = [counted(len(part), noun) for part, noun in parts if part]
        shell.say(f"no problems in `{lookup.folder}`: {', '.join(numbers) or 'no practices'}")
    if fails:
        raise SystemExit(2)


def _valid_playbook(app: App) -> tuple[FoundPlaybook, Playbook]:
    """The valid playbook of the project. Raises `DefinitionError` if it has errors."""
    lookup = _require_playbook(app)
    if lookup.playbook is None:
        errors = counted(sum(problem.severity == "error" for problem in lookup.problems), "error")
        raise DefinitionError(f"`{lookup.folder}` has {errors}", "`handrail playbook check` shows them")
    return lookup, lookup.playbook


@playbook.command()
@command
def show(app: App, shell: Shell) -> None:
    """List the practices, examples, templates and budgets of the playbook."""
    lookup, book = _valid_playbook(app)
    if shell.as_json:
        return shell.data(_playbook_json(book))
    shell.say(f"{book.name} ({lookup.folder}/{MANIFEST})")
    rows: list[tuple[str, ...]] = []
    for entry in book.entries:
        filters = entry.applies
        parts = (filters.languages, filters.frameworks, filters.globs, filters.keywords)
        tasks = ", ".join(name for part in parts for name in part or ())
        rows.append((entry.id, entry.kind, ", ".join(entry.phases) or "all", tasks or "every task", entry.title))
    rows += [(path, "template", "", "", "") for path in book.templates]
    rows += [(path, "always", "all", "every task", "") for path in book.always]
    if rows:
        shell.say()
        print_table(shell, [("ID", "KIND", "PHASES", "FOR", "TITLE"), *rows])
    shell.say()
    names = list(dict.fromkeys((*PHASES, *book.budgets)))
    print_table(shell, [("PHASE", "TOKENS"), *((name, str(book.budget(name))) for name in names)])
    return None


def _playbook_json(book: Playbook) -> dict[str, Any]:
    rules = {"includeExamples": book.include_examples, "maxExamples": book.max_examples, "matching": book.matching}
    return {
        "folder": book.folder,
        "name": book.name,
        **{name: list(getattr(book, name)) for name in ("languages", "frameworks", "templates", "always")},
        "practices": [_entry(entry) for entry in book.practices],
        "examples": [_entry(entry) for entry in book.examples],
        "budgets": {name: book.budget(name) for name in dict.fromkeys((*PHASES, *book.budgets))},
        "selection": rules,
    }


def _entry(entry: PlaybookEntry) -> dict[str, Any]:
    applies = {name: list(value) for name, value in vars(entry.applies).items() if value}
    row = {"id": entry.id, "title": entry.title, "path": entry.path, "phases": list(entry.phases)}
    details = {"priority": entry.priority or 0, "severity": entry.severity or "info", "related": list(entry.related)}
    return {**row, "appliesTo": applies, **details}


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
        raise UsageError(f"`{more[0]}` was not expected", f"name files with `{command_line('--files', *more)}`")
    _valid_playbook(app)
    if not phase.strip():
        raise UsageError("`--phase` is blank", f"name a phase, such as {PHASES[0]}")
    inside = {path: os.path.relpath(os.path.abspath(path), app.project) for path in (*files, *more)}
    paths = [path if inner.startswith("..") else inner for path, inner in inside.items()]  # as globs see them
    guidance_text = guide(app.project, phase, task, paths)
    selection = guidance_text.selection
    assert selection is not None
    items = _items(guidance_text, selection)
    if shell.as_json:
        sizes = {"characters": selection.characters, "budget": selection.limit * TOKEN}
        tokens = {"used": selection.used, "budget": selection.limit}
        left_out = [one.entry.id for one in selection.dropped]
        data = {"phase": selection.phase, "items": items, **sizes, "tokens": tokens, "leftOut": left_out}
        return shell.data({**data, "text": guidance_text.text})
    shell.talk(f"{counted(len(items), 'item')}, {selection.used} of {selection.limit} tokens, in the phase `{phase}`")
    if not items:
        return shell.say("nothing in the playbook is for this task in this phase")
    print_table(shell, [("ID", "TOLD", "WHY"), *((item["id"], item["told"], item["why"]) for item in items)])
    return shell.say(f"\n{guidance_text.text}")


def _items(guidance_: TaskGuidance, selection: Selection) -> list[dict[str, Any]]:
    """What an agent is told. `told`: its `text`, or only its `path`."""
    folder = guidance_.source.folder
    chosen_paths = {one.entry.path for one in selection.chosen}
    rows: list[dict[str, Any]] = [
        {"id": path, "title": path, "path": f"{folder}/{path}", "why": "for every task", "kind": "page", "told": "path"}
        for path in selection.always
        if path not in chosen_paths
    ]
    for one in selection.chosen:
        entry = one.entry
        row = {"id": entry.id, "title": entry.title, "path": f"{folder}/{entry.path}", "why": one.why}
        rows.append({**row, "kind": entry.kind, "told": "text" if one.is_told else "path"})
    return rows
