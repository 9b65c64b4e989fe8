"""A command in a module of its own."""

from __future__ import annotations

import click

from handrail.app import App
from handrail.cli.options import command
from handrail.cli.output import Shell


@click.command()
@click.argument("who")
@command
def greet(app: App, shell: Shell, who: str) -> None:
    """Greet somebody."""
    if shell.as_json:
        return shell.data({"hello": who, "project": app.project})
    return shell.say(f"hello {who}")
