"""Prints a dry run."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.cli.output import Shell
from handrail.flows.dryrun import preview_lines
from handrail.flows.preview import PreviewRow


def print_preview(shell: Shell, rows: Iterable[PreviewRow]) -> None:
    """Print what a run would do, for people."""
    for row in rows:
        for line in preview_lines(row):
            shell.say(line)
    shell.talk("this was a dry run: no step was run")
