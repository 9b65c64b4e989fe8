"""`handrail ui`: runs and sessions in the terminal. `handrail` alone does the same if it has a terminal."""

from __future__ import annotations

import importlib.util
import os

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell, has_terminal
from handrail.errors import NotFound, UsageError

MISSING = "the terminal surface needs a package that is not installed"
INSTALL = "run `pip install textual`"


@click.command()
@command
def ui(app: App, shell: Shell) -> None:
    """Show runs and guided sessions in this terminal: what needs you comes first.

    Runs go on when you quit. `?` shows every key.
    """
    del shell
    if not has_terminal(os.environ):
        raise UsageError("`handrail ui` needs a terminal", "`handrail runs` and `handrail view home` work without one")
    if importlib.util.find_spec("textual") is None:
        raise NotFound(MISSING, INSTALL)
    from handrail.tui.app import HandrailApp

    shown = HandrailApp(app)
    shown.run()
    if shown.bug is not None:
        raise shown.bug
