"""The report: a table for the terminal and the page `docs/benchmarks.md`. Names no machine and no path."""

from __future__ import annotations

import os
import platform

from bench.rows import HEAD, Part, Row

INTRODUCTION = """\
# Benchmarks

Written by `make bench`; do not edit. Only ratios are given: absolute times say more about a machine than about
Handrail. The two sides of a ratio are measured in turn, in one run. *Ratio* is of medians and is what the bound is
about; *by minima* is the same of the fastest of each, which noise touches least.
"""
REPEAT = """\
## Repeat it

    make bench                            # everything; ends with 1 if a bound is missed
    .venv/bin/python -m bench gate        # one part, nothing is written: {parts}
    .venv/bin/python -m bench --no-bounds # only measure

It takes about five minutes. The comparison with the first seed's own code needs node 20 or later and npm; its published
package is fetched once into `.cache/bench` (see `bench/seed`). Sessions run the real Claude Code in the version that
the tests pin, fetched once into `.cache/agents` (see `scripts/agents`); they need no key and no network. Without these
programs those rows say that they were skipped, and why. A busy machine widens the spread, not so much the ratios; where
the two columns differ much, run it again when it is quiet.
"""


def setting(node: str | None) -> str:
    """What the run depends on and another machine can have too."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, node {node.removeprefix('v') if node else 'not used'}, {os.cpu_count()} cores"


def table(parts: list[Part]) -> str:
    """For a terminal: columns in line, one group a part."""
    cells = [HEAD, *[row.cells() for part in parts for row in part.rows]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [_line(HEAD, widths), "  ".join("-" * width for width in widths)]
    for part in parts:
        lines += [*[_line(row.cells(), widths) for row in part.rows], ""]
    return "\n".join(lines)


def _line(cells: list[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def page(parts: list[Part], node: str | None, names: list[str]) -> str:
    sections = [f"## {part.title}\n\n{part.about}\n\n{_markdown(part.rows)}\n" for part in parts]
    this_run = f"This run: {setting(node)}.\n"
    return "\n".join([INTRODUCTION, this_run, *sections, REPEAT.format(parts=", ".join(f"`{n}`" for n in names))])


def _markdown(rows: list[Row]) -> str:
    lines = [HEAD, ["---", "---", "--:", "--:", "---", "---"], *[row.cells() for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
