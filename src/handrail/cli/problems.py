"""Prints the problems of definitions: with relative paths, in colour, or as GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.cli.output import BOLD, CYAN, DIM, RED, YELLOW, echo, styled
from handrail.settings.folders import shown_path
from handrail.source.diagnostics import Diagnostic, as_github, diagnostic_text, sorted_problems, summary


def shown_problems(found: Iterable[Diagnostic], cwd: str) -> list[Diagnostic]:
    """The problems in order, with paths relative to the working directory."""
    return sorted_problems(d._replace(file=shown_path(d.file, cwd)) for d in found)


def print_problems(found: list[Diagnostic], style: str) -> None:
    if style == "github":
        for problem in found:
            echo(as_github(problem))
        return
    for problem in found:
        echo(_coloured(problem))
    echo(summary(found), err=True)


def _coloured(problem: Diagnostic) -> str:
    head, *rest = diagnostic_text(problem).split("\n")
    colour = {"error": RED, "note": CYAN}.get(problem.severity, YELLOW)
    mark = f"{problem.severity}[{problem.code}]"
    head = head.replace(mark, styled(mark, colour, BOLD), 1)
    return "\n".join([head, *[line if "hint:" in line else styled(line, DIM) for line in rest], ""])
