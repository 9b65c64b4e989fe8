"""Commands that install Handrail into agents, and the commands that the installed stubs call."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from handrail import registry
from handrail.app import App
from handrail.cli.changes import carry_out, installable, known_agent
from handrail.cli.common import command, command_for_scope
from handrail.cli.output import Shell
from handrail.cli.waiting import Waiting
from handrail.errors import HandrailError, UsageError
from handrail.hosts.install import Change, Installer, found_agents, installer_for, write_marketplace
from handrail.project import shown_path


def _carry_out(
    shell: Shell, installer: Installer, changes: list[Change], done: str, dry: bool, warnings: Sequence[str] = ()
) -> None:
    told = carry_out(shell, installer, changes, dry, warnings)
    if shell.as_json:
        return shell.data(told)
    shell.say("nothing was changed (--dry-run)" if dry and changes else done if changes else "nothing to do")
    return None


def _scope(function: click.decorators.FC) -> click.decorators.FC:
    function = click.option("--dry-run", is_flag=True, help="Print what would change; change nothing.")(function)
    scope = click.option(
        "--user/--project", "for_user", default=True, help="For all your projects, or only for this one."
    )
    return scope(function)


@click.command()
@click.argument("agent", required=False)
@_scope
@command_for_scope
def install(app: App, shell: Shell, agent: str | None, for_user: bool, dry_run: bool) -> None:
    """Install Handrail into an agent. Prints every file that it changes; run it again to upgrade.

    Without AGENT, it offers every agent that it finds on the PATH.
    """
    for name in [agent] if agent else _offered(shell, found_agents(app.env)):
        installer = installer_for(app, installable(name), for_project=not for_user)
        done = f"installed into {name}; restart it, then type {registry.host(name).COMMANDS['start']}"
        with Waiting(shell, f"looking at the files of {name}"):
            changes, unknown = installer.plan_install(), app.names_unknown_to([name])
        _carry_out(shell, installer, changes, done, dry_run, unknown)


def _offered(shell: Shell, found: list[str]) -> list[str]:
    """The agents that the person chooses. Without a terminal nobody can choose, so the command has to name one."""
    if not found:
        known = ", ".join(registry.installable())
        raise HandrailError("no agent was found on the PATH", f"install one of these first: {known}")
    if shell.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("name the agent", f"found on the PATH: {', '.join(f'`handrail install {a}`' for a in found)}")
    return [name for name in found if click.confirm(f"Install Handrail into {name}?", default=True, err=True)]


@click.command()
@click.argument("agent")
@_scope
@command_for_scope
def uninstall(app: App, shell: Shell, agent: str, for_user: bool, dry_run: bool) -> None:
    """Remove Handrail from an agent and restore its files."""
    installable(agent)
    if not dry_run:
        app.refuse_agents(f"uninstall {agent}")
    installer = installer_for(app, agent, for_project=not for_user)
    _carry_out(shell, installer, installer.plan_uninstall(), "removed", dry_run)


@click.command()
@click.argument("folder")
@click.option("--agent", help="The agent; by default the first one that has marketplaces.")
@command
def marketplace(app: App, shell: Shell, folder: str, agent: str | None) -> None:
    """Write a plugin and a marketplace to FOLDER. Others can install the plugin from there."""
    del app
    agent = known_agent(agent or registry.markets()[0], registry.markets(), "there is no marketplace for")
    written = write_marketplace(agent, os.path.abspath(folder))
    for path in written if not shell.quiet else ():
        shell.say(f"create   {shown_path(path, shell.cwd)}")
    if shell.as_json:
        return shell.data({"changes": [{"path": path, "change": "create"} for path in written], "dryRun": False})
    shell.say("then type:")
    for line in registry.market(agent).marketplace_steps(folder):
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
    from handrail.hosts.mcp import main

    raise SystemExit(main(["--agent", agent]))


@click.command()
@click.option("--stdio", is_flag=True, required=True, help="Read messages from stdin, answer on stdout.")
@click.option("--agent", required=True, help="The agent that starts it.")
def serve(stdio: bool, agent: str) -> None:
    """Answer the plugin of an agent on stdin and stdout. The stubs call this."""
    from handrail.hosts.serving import main

    del stdio
    raise SystemExit(main(["--agent", agent]))
