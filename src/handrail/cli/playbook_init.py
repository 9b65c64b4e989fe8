"""How `handrail playbook init` makes a playbook: with an agent by the flow `playbook-init`, or without one."""

from __future__ import annotations

import os
from typing import Any

import click

from handrail.app import App
from handrail.cli.ask import can_ask
from handrail.cli.output import Shell
from handrail.cli.waiting import Waiting
from handrail.errors import HandrailError, RefusedError, UsageError
from handrail.playbook.files import playbook_files
from handrail.playbook.load import read_playbook
from handrail.playbook.making import about_project, draft_from, facts_of
from handrail.playbook.repository import Repository
from handrail.playbook.spec import OWN
from handrail.settings import DEFAULT
from handrail.source.plain import counted
from handrail.state.files import real_inside, write_whole

FLOW = "playbook-init"
SCOPE = "playbook"
"""Where the artifacts on the way to a playbook are."""


class Unanswered(HandrailError):
    """A person has to accept the playbook, and nobody can be asked."""

    code = "waiting"
    exit_code = 4


def with_agent(app: App, shell: Shell, options: dict[str, Any]) -> None:
    """Run the flow that asks an agent, and then a person."""
    from handrail.cli.runs import run

    if options["agent"] is None and DEFAULT not in app.settings.routes and "planning" not in app.settings.routes:
        hint = "name one: `--agent AGENT`, or make it from the files alone: `--no-agent`"
        raise UsageError("no agent was named, and the settings name none", hint)
    given = {"agent": options["agent"], "answers": options["answers"], "accept_playbook_draft": options["is_accepted"]}
    shared = {"project": app.project, "as_json": shell.as_json, "quiet": shell.quiet, "verbose": False}
    click.get_current_context().invoke(run, name=FLOW, task=(), scope=SCOPE, **given, **shared)


def without_agent(app: App, shell: Shell, options: dict[str, Any]) -> None:
    """Write a playbook from the files of the project alone, if a person accepts it."""
    name = os.path.basename(app.project)
    with Waiting(shell, "reading the files of the project"):
        facts = facts_of(Repository(app.project))
    draft = draft_from(facts, name)
    files = playbook_files(draft, name, about_project(facts))
    _refuse_others(app.project, files)
    for rule in draft["accepted_rules"]:
        shell.talk(f"{rule['title']} ({', '.join(rule['evidence_paths'])})")
    if not options["is_accepted"]:
        _ask(app, len(draft["accepted_rules"]))
    for path, text in files.items():
        target = os.path.join(app.project, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_whole(target, text.encode(), durable=True)
        shell.say(f"created: {path}")
    found = read_playbook(app.project)
    if found.playbook is None:
        raise HandrailError("the written playbook has errors", "`handrail playbook check` shows them")
    if shell.as_json:
        return shell.data({"created": list(files), "folder": OWN})
    return shell.talk("next: read and edit the files, then `handrail playbook guidance --phase implement --task TASK`")


def _refuse_others(project: str, files: dict[str, str]) -> None:
    """Raise `RefusedError` if one of the files is there, or leads out of the project."""
    for path in files:
        if real_inside(project, path) is None:
            raise RefusedError(f"`{path}` leads out of the project", "replace the link with a folder")
        if os.path.lexists(os.path.join(project, path)):
            raise RefusedError(f"`{path}` is there already, and nothing is overwritten", "move it away, then try again")


def _ask(app: App, count: int) -> None:
    """Ask the person at the terminal. Raises `RefusedError` for a no, and `Unanswered` if there is nobody."""
    if not can_ask() or app.caller.sign is not None:
        message = f"a person has to accept the playbook with {counted(count, 'practice')}, and there is no terminal"
        raise Unanswered(message, "`--yes` accepts it")
    if not click.confirm(f"Write this playbook to `{OWN}`?", err=True):
        raise RefusedError("the playbook was not accepted, so nothing was written")
