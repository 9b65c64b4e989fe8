"""`handrail init`: creates a small working example in a project, and installs Handrail into an agent for it."""

from __future__ import annotations

import os
from importlib import resources

import click

from handrail.app import App
from handrail.cli.changes import carry_out, installable
from handrail.cli.common import command
from handrail.cli.output import Shell
from handrail.editors import schema_files
from handrail.errors import RefusedError
from handrail.hosts.install import Installer, installer_for
from handrail.state.files import real_inside


@click.command()
@click.option("--agent", metavar="AGENT", help="Also install Handrail into this agent, for this project only.")
@command
def init(app: App, shell: Shell, agent: str | None) -> None:
    """Create an example workflow, an example flow and settings. Overwrites no file.

    The schemas in `.handrail/editor` are for editors. Commit them with the other files.

    With --agent, the agent also gets the skill that helps it to write a workflow for this project.
    """
    installer = _installer(app, agent) if agent else None
    changes = installer.plan_install() if installer else []
    is_new = not _has_own(app.project)
    created = _create(app, shell)
    if is_new and not app.is_leashed and not app.trust.holds():
        app.trust.grant(app.clock())
        shell.talk(f"trusted: {app.project} (`handrail distrust` takes it back)")
    told = carry_out(shell, installer, changes, warnings=app.names_unknown_to([installer.agent])) if installer else None
    if shell.as_json:
        return shell.data({"created": created, "trusted": app.trust.holds()} | ({"install": told} if agent else {}))
    shell.talk("next: `handrail show hello`, then `handrail start hello say hello`, or `handrail run hello`")
    if agent and not installer:
        shell.talk(f"{agent}: Handrail is installed for all your projects, so it was not installed for this one")
    if agent:
        shell.talk(f"{agent}: restart it in this project, then ask it: Write a Handrail workflow for this project")
    return None


def _installer(app: App, agent: str) -> Installer | None:
    """The installer for this project; None if Handrail is installed for all projects of the user."""
    if installer_for(app, installable(agent), for_project=False).known():
        return None
    return installer_for(app, agent, for_project=True)


def _has_own(project: str) -> bool:
    """True if the project brought definitions, settings or plugins along: then a person has to look at them first."""
    folders = (".handrail", os.path.join(".pi", "workflows"), ".agentweaver")
    paths = [os.path.join(project, folder) for folder in folders]
    return any(os.path.lexists(path) and not _is_empty(path) for path in paths)


def _is_empty(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)


def _create(app: App, shell: Shell) -> list[str]:
    """Create the files that do not exist yet. Returns their paths."""
    created: list[str] = []
    template = resources.files("handrail") / "builtin" / "init"
    own = os.path.join(app.project, ".handrail")
    if os.path.realpath(own) != own:
        raise RefusedError("`.handrail` is a link to another place", "remove the link, then run `handrail init` again")
    schemas = [(text, os.path.join("editor", name)) for name, text in schema_files()]
    for source, name in sorted([*_files(template, ""), *schemas], key=lambda item: item[1]):
        path = os.path.join(own, name)
        if real_inside(own, name) is None:
            raise RefusedError(f"`{path}` leads out of the project", "remove the link, then run `handrail init` again")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(source)
        except FileExistsError:
            shell.talk(f"kept:    {os.path.join('.handrail', name)}")
            continue
        created.append(os.path.join(".handrail", name))
        shell.say(f"created: {os.path.join('.handrail', name)}")
    return created


def _files(folder: resources.abc.Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found.extend(_files(entry, name + "/"))
        else:
            found.append((entry.read_text(encoding="utf-8"), name))
    return found
