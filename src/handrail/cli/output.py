"""What the command line prints: data to stdout, talk to stderr, colour only for people."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import click

from handrail.errors import HandrailError
from handrail.project import shown_path
from handrail.source.diagnostics import Diagnostic, as_github, as_text, in_order, plain_lines, summary


class Shell:
    """One invocation: where to print and how."""

    def __init__(self, cwd: str, *, as_json: bool, quiet: bool) -> None:
        self.cwd = cwd
        self.as_json = as_json
        self.quiet = quiet

    def data(self, value: dict[str, Any]) -> None:
        """The one object of `--json`."""
        click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))

    def say(self, text: str = "") -> None:
        """What was asked for, for people; not with `--json`."""
        if not self.as_json:
            click.echo(text)

    def talk(self, text: str) -> None:
        """Progress and asides, never mixed with data."""
        if not self.quiet:
            click.echo(plain_lines(text), err=True)

    def shown(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The problems with files called as a person standing here would call them."""
        return in_order(replace(d, file=shown_path(d.file, self.cwd)) for d in found)

    def problems(self, found: list[Diagnostic], style: str) -> None:
        if style == "github":
            for problem in found:
                click.echo(as_github(problem))
            return
        for problem in found:
            click.echo(_coloured(problem))
        click.echo(summary(found), err=True)


def _coloured(problem: Diagnostic) -> str:
    head, *rest = as_text(problem).split("\n")
    colour = "red" if problem.severity == "error" else "yellow"
    mark = f"{problem.severity}[{problem.code}]"
    head = head.replace(mark, click.style(mark, fg=colour, bold=True), 1)
    return "\n".join([head, *[click.style(line, dim="hint:" not in line) for line in rest], ""])


def print_error(error: HandrailError, *, as_json: bool) -> None:
    """An error for people, and with `--json` the one object for programs."""
    message, hint = (plain_lines(_shorter(text)) if text else None for text in (error.message, error.hint))
    colour = wants_colour(os.environ)
    if as_json:
        body = {"code": error.code, "message": message, "hint": hint}
        click.echo(json.dumps({"error": body}, ensure_ascii=False))
    click.echo(f"{click.style('error', fg='red', bold=True)}: {message}", err=True, color=colour)
    if hint:
        click.echo(f"{click.style('hint', bold=True)}: {hint}", err=True, color=colour)


def _shorter(text: str) -> str:
    """Paths below the working folder as a person standing here would type them."""
    try:
        here = os.getcwd()
    except OSError:
        return text
    return text.replace(here + "/", "") if here != "/" else text


def wants_colour(env: dict[str, str] | os._Environ[str]) -> bool | None:
    """No colour when `NO_COLOR` says so; otherwise as the stream is."""
    return False if env.get("NO_COLOR") else None


def time_of_day(moment: float) -> str:
    """A moment as the clock on the wall shows it."""
    return time.strftime("%H:%M:%S", time.localtime(moment))
