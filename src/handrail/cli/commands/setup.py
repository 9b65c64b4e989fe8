"""Commands that set up a project: `init` creates example files, `schema` prints or writes the schemas for editors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from handrail.agents.calls.install import Installer, installer_for
from handrail.app import App
from handrail.base.errors import RefusedError, UsageError
from handrail.base.files import real_inside
from handrail.cli.commands.install import apply_changes
from handrail.cli.options import command, installable
from handrail.cli.output import Shell
from handrail.project.editor_schemas import FOLDER, KINDS, editor_schema, schema_files, write_schemas
from handrail.settings.folders import shown_path

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@click.command()
@click.option("--agent", metavar="AGENT", help="Also install Handrail into this agent, for this project only.")
@command
def init(app: App, shell: Shell, agent: str | None) -> None:
    """Create an example workflow, an example flow and settings. Overwrites no file.

    The schemas in `.handrail/editor` are for editors. Commit them with the other files.

    With --agent, the agent also gets the skill that helps it to write a workflow for this project.
    """
    installer = _project_installer(app, agent) if agent else None
    changes = installer.plan_install() if installer else []
    is_new = not _has_own_files(app.project)
    created = _create_files(app, shell)
    if is_new and not app.is_leashed and not app.trust.holds():
        app.trust.grant(app.clock())
        shell.talk(f"trusted: {app.project} (`handrail distrust` takes it back)")
    told = (
        apply_changes(shell, installer, changes, warnings=app.names_unknown_to([installer.agent]))
        if installer
        else None
    )
    if shell.as_json:
        return shell.data({"created": created, "trusted": app.trust.holds()} | ({"install": told} if agent else {}))
    shell.talk("next: `handrail show hello`, then `handrail start hello say hello`, or `handrail run hello`")
    if agent and not installer:
        shell.talk(f"{agent}: Handrail is installed for all your projects, so it was not installed for this one")
    if agent:
        shell.talk(f"{agent}: restart it in this project, then ask it: Write a Handrail workflow for this project")
    return None


def _project_installer(app: App, agent: str) -> Installer | None:
    """The installer for this project; None if Handrail is installed for all projects of the user."""
    if installer_for(app, installable(app, agent), for_project=False).known():
        return None
    return installer_for(app, agent, for_project=True)


def _has_own_files(project: str) -> bool:
    """True if the project brought definitions, settings or plugins along: then a person has to look at them first."""
    folders = (".handrail", os.path.join(".pi", "workflows"), ".agentweaver")
    paths = [os.path.join(project, folder) for folder in folders]
    return any(os.path.lexists(path) and not _is_empty(path) for path in paths)


def _is_empty(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)


def _create_files(app: App, shell: Shell) -> list[str]:
    """Create the files that do not exist yet. Returns their paths."""
    from importlib import resources

    created: list[str] = []
    template = resources.files("handrail") / "builtin" / "init"
    own = os.path.join(app.project, ".handrail")
    if os.path.realpath(own) != own:
        raise RefusedError("`.handrail` is a link to another place", "remove the link, then run `handrail init` again")
    schemas = [(text, os.path.join("editor", name)) for name, text in schema_files(app.registry)]
    for source, name in sorted([*_template_files(template, ""), *schemas], key=lambda item: item[1]):
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


def _template_files(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found.extend(_template_files(entry, name + "/"))
        else:
            found.append((entry.read_text(encoding="utf-8"), name))
    return found


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)), required=False)
@click.option(
    "--write",
    "folder",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    help=f"Write the schemas of all kinds of files to DIR; by default to `{FOLDER}` of the project.",
)
@command
def schema(app: App, shell: Shell, kind: str | None, folder: str | None) -> None:
    """Print the JSON Schema of a kind of file, for editors, or write all of them.

    Editors with yaml-language-server find a schema by a comment in the file. `handrail init` writes these comments. The
    schemas belong into the repository, so that they work in every clone. After an update of Handrail, write them again.
    """
    if folder is not None:
        if kind is not None:
            raise UsageError("`--write` writes the schemas of all kinds", f"remove `{kind}`")
        return _write_schemas(app, shell, os.path.abspath(folder) if folder else os.path.join(app.project, FOLDER))
    if kind is None:
        raise UsageError("a kind of file is missing", f"write one of {', '.join(KINDS)}, or `--write`")
    return shell.data(editor_schema(kind, app.registry))


def _write_schemas(app: App, shell: Shell, folder: str) -> None:
    written = write_schemas(app.project, folder, app.registry)
    found = {shown_path(path, shell.cwd): is_new for path, is_new in written.items()}
    if shell.as_json:
        new = [path for path, is_new in found.items() if is_new]
        return shell.data({"written": new, "unchanged": [path for path in found if path not in new]})
    for path, is_new in found.items():
        shell.say(f"{'written: ' if is_new else 'unchanged:'} {path}")
    return None
