"""Commands that install Handrail into an agent and remove it: install, uninstall.

Also the commands that the installed stubs call: hook, serve, mcp.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from handrail.agents.calls.install import (
    FileChange,
    Installer,
    found_agents,
    installer_for,
    program_is_there,
    write_marketplace,
)
from handrail.app import App
from handrail.base.errors import HandrailError, UsageError
from handrail.cli.options import command_for_scope, installable, known_agent, option_group
from handrail.cli.output import Shell
from handrail.cli.terminal import WaitingLine
from handrail.settings.folders import shown_path

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
    change_words = {change.path: _CHANGE_WORDS[change.verb] for change in changes}
    paths = sorted({*change_words, *installer.next.get("owned", ()), *installer.next.get("after", ())})
    files = [{"path": path, "change": change_words.get(path, "unchanged")} for path in paths]
    rows = [{"path": change.path, "change": change.verb} for change in changes]
    about = {"agent": installer.agent, "scope": "project" if installer.project else "user"}
    return {**about, "files": files, "changes": rows, "notes": installer.notes, "warnings": [*warnings], "dryRun": dry}


def _apply_and_report(
    shell: Shell, installer: Installer, changes: list[FileChange], success: str, dry: bool, warnings: Sequence[str] = ()
) -> None:
    report = apply_changes(shell, installer, changes, dry, warnings)
    if shell.as_json:
        return shell.data(report)
    shell.say("nothing was changed (--dry-run)" if dry and changes else success if changes else "nothing to do")
    return None


_scope_options = option_group(
    click.option("--user/--project", "for_user", default=True, help="For all your projects, or only for this one."),
    click.option("--dry-run", is_flag=True, help="Print what would change; change nothing."),
)


@click.command()
@click.argument("agent", required=False)
@_scope_options
@click.option("--marketplace", metavar="DIR", help="Instead, write a plugin and a marketplace for others to DIR.")
@command_for_scope
def install(app: App, shell: Shell, agent: str | None, for_user: bool, dry_run: bool, marketplace: str | None) -> None:
    """Install Handrail into an agent. Prints every file that it changes; run it again to upgrade.

    Without AGENT, it offers every agent that it finds on the PATH.
    """
    if marketplace is not None:
        return _write_marketplace(app, shell, marketplace, agent)
    for name in [agent] if agent else _offered_agents(app, shell):
        installer = installer_for(app, installable(app, name), for_project=not for_user)
        success = f"installed into {name}; restart it, then type {app.registry.host(name).COMMANDS['start']}"
        with WaitingLine(shell, f"looking at the files of {name}"):
            changes, warnings = installer.plan_install(), app.names_unknown_to([name])
        if program_is_there(app.registry, name, app.env) is False:
            shell.talk(f"warning: {name} itself is not installed, or not on the PATH")
        _apply_and_report(shell, installer, changes, success, dry_run, warnings)
    return None


def _offered_agents(app: App, shell: Shell) -> list[str]:
    """The agents that the person chooses. Without a terminal nobody can choose, so the command has to name one."""
    agents = found_agents(app.registry, app.env)
    if not agents:
        names = ", ".join(app.registry.installable())
        raise HandrailError("no agent was found on the PATH", f"install one of these first: {names}")
    if shell.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("name the agent", f"found on the PATH: {', '.join(f'`handrail install {a}`' for a in agents)}")
    return [name for name in agents if click.confirm(f"Install Handrail into {name}?", default=True, err=True)]


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


def _write_marketplace(app: App, shell: Shell, folder: str, agent: str | None) -> None:
    """Write a plugin and a marketplace. Others can install the plugin from there. By default for the first agent."""
    agents = app.registry.markets()
    market = app.registry.market(known_agent(agent or agents[0], agents, "there is no marketplace for"))
    paths = write_marketplace(market, os.path.abspath(folder))
    for path in paths if not shell.quiet else ():
        shell.say(f"create   {shown_path(path, shell.cwd)}")
    if shell.as_json:
        return shell.data({"changes": [{"path": path, "change": "create"} for path in paths], "dryRun": False})
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
