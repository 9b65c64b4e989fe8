"""Commands that set Handrail up: init and schema in a project, install and uninstall for an agent.

Also the commands that the installed stubs call: hook, serve, mcp.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import resources
from typing import Any

import click

from handrail.agents.calls.install import FileChange, Installer, found_agents, installer_for, write_marketplace
from handrail.app import App
from handrail.base.errors import HandrailError, RefusedError, UsageError
from handrail.base.files import real_inside
from handrail.cli.options import command, command_for_scope
from handrail.cli.output import Shell
from handrail.cli.terminal import WaitingLine
from handrail.project.editor_schemas import FOLDER, KINDS, editor_schema, schema_files, write_schemas
from handrail.settings.folders import shown_path
from handrail.source.suggestions import did_you_mean

_CHANGE_WORDS = {"create": "created", "change": "edited", "remove": "removed", "restore": "restored"}


def apply_changes(
    shell: Shell, installer: Installer, changes: list[FileChange], dry: bool = False, warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """Apply the changes unless `dry`, print them and the warnings for a person, and return all of it as data."""
    for change in changes if dry or not shell.quiet else ():
        shell.say(f"{change.verb:<8} {shown_path(change.path, shell.cwd)}")
    for note in installer.notes if not shell.as_json else ():
        shell.say(f"note: {note}")
    for warning in warnings:
        shell.talk(f"warning: {warning}")
    if not dry:
        installer.apply(changes)
    rows = [{"path": change.path, "change": change.verb} for change in changes]
    changed = {change.path: _CHANGE_WORDS[change.verb] for change in changes}
    paths = sorted({*changed, *installer.next.get("owned", ()), *installer.next.get("after", ())})
    files = [{"path": path, "change": changed.get(path, "unchanged")} for path in paths]
    about = {"agent": installer.agent, "scope": "project" if installer.project else "user"}
    return {**about, "files": files, "changes": rows, "notes": installer.notes, "warnings": [*warnings], "dryRun": dry}


def known_agent(agent: str, known: list[str], what: str) -> str:
    """The agent, if it is one of the known ones. `what` begins the error."""
    if agent not in known:
        raise UsageError(f"{what} `{agent}`", did_you_mean(agent, known) or f"possible today: {', '.join(known)}")
    return agent


def installable(app: App, agent: str) -> str:
    """The agent, if Handrail can be installed into it."""
    return known_agent(agent, app.registry.installable(), "Handrail cannot be installed into")


def _apply_and_report(
    shell: Shell, installer: Installer, changes: list[FileChange], done: str, dry: bool, warnings: Sequence[str] = ()
) -> None:
    told = apply_changes(shell, installer, changes, dry, warnings)
    if shell.as_json:
        return shell.data(told)
    shell.say("nothing was changed (--dry-run)" if dry and changes else done if changes else "nothing to do")
    return None


def _scope_options(function: click.decorators.FC) -> click.decorators.FC:
    function = click.option("--dry-run", is_flag=True, help="Print what would change; change nothing.")(function)
    scope = click.option(
        "--user/--project", "for_user", default=True, help="For all your projects, or only for this one."
    )
    return scope(function)


@click.command()
@click.argument("agent", required=False)
@_scope_options
@command_for_scope
def install(app: App, shell: Shell, agent: str | None, for_user: bool, dry_run: bool) -> None:
    """Install Handrail into an agent. Prints every file that it changes; run it again to upgrade.

    Without AGENT, it offers every agent that it finds on the PATH.
    """
    for name in [agent] if agent else _offered_agents(app, shell):
        installer = installer_for(app, installable(app, name), for_project=not for_user)
        done = f"installed into {name}; restart it, then type {app.registry.host(name).COMMANDS['start']}"
        with WaitingLine(shell, f"looking at the files of {name}"):
            changes, unknown = installer.plan_install(), app.names_unknown_to([name])
        _apply_and_report(shell, installer, changes, done, dry_run, unknown)


def _offered_agents(app: App, shell: Shell) -> list[str]:
    """The agents that the person chooses. Without a terminal nobody can choose, so the command has to name one."""
    found = found_agents(app.registry, app.env)
    if not found:
        known = ", ".join(app.registry.installable())
        raise HandrailError("no agent was found on the PATH", f"install one of these first: {known}")
    if shell.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("name the agent", f"found on the PATH: {', '.join(f'`handrail install {a}`' for a in found)}")
    return [name for name in found if click.confirm(f"Install Handrail into {name}?", default=True, err=True)]


@click.command()
@click.argument("agent")
@_scope_options
@command_for_scope
def uninstall(app: App, shell: Shell, agent: str, for_user: bool, dry_run: bool) -> None:
    """Remove Handrail from an agent and restore its files."""
    installable(app, agent)
    if not dry_run:
        app.refuse_agents(f"uninstall {agent}")
    installer = installer_for(app, agent, for_project=not for_user)
    _apply_and_report(shell, installer, installer.plan_uninstall(), "removed", dry_run)


@click.command()
@click.argument("folder")
@click.option("--agent", help="The agent; by default the first one that has marketplaces.")
@command
def marketplace(app: App, shell: Shell, folder: str, agent: str | None) -> None:
    """Write a plugin and a marketplace to FOLDER. Others can install the plugin from there."""
    known = app.registry.markets()
    market = app.registry.market(known_agent(agent or known[0], known, "there is no marketplace for"))
    written = write_marketplace(market, os.path.abspath(folder))
    for path in written if not shell.quiet else ():
        shell.say(f"create   {shown_path(path, shell.cwd)}")
    if shell.as_json:
        return shell.data({"changes": [{"path": path, "change": "create"} for path in written], "dryRun": False})
    shell.say("then type:")
    for line in market.marketplace_steps(folder):
        shell.say(f"  {line}")
    return None


@click.command()
@click.argument("agent")
def hook(agent: str) -> None:
    """Answer one hook message of an agent: JSON in, JSON out. The stubs call this."""
    raise AssertionError(f"handled before the command line: {agent}")


@click.command()
@click.option("--agent", required=True, help="The agent that starts it.")
def mcp(agent: str) -> None:
    """Serve the tool `workflow_step` over MCP on stdin and stdout. The stubs call this."""
    from handrail.agents.calls.servers import mcp_main

    raise SystemExit(mcp_main(["--agent", agent]))


@click.command()
@click.option("--stdio", is_flag=True, required=True, help="Read messages from stdin, answer on stdout.")
@click.option("--agent", required=True, help="The agent that starts it.")
def serve(stdio: bool, agent: str) -> None:
    """Answer the plugin of an agent on stdin and stdout. The stubs call this."""
    from handrail.agents.calls.servers import serve_main

    del stdio
    raise SystemExit(serve_main(["--agent", agent]))


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


def _template_files(folder: resources.abc.Traversable, prefix: str) -> list[tuple[str, str]]:
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
