"""The report: a table for the terminal and the page `docs/benchmarks.md`. Contains no machine name and no path."""

from __future__ import annotations

import os
import platform

from bench.rows import HEAD, Part, Row, Table

INTRODUCTION = """\
# Benchmarks

Written by `make bench`; do not edit. The page has only ratios, because absolute times say more about a machine than
about Handrail. The two sides of a ratio are measured in turn, in one run. *Ratio* compares the medians, and the bound
applies to it. *By minima* compares the fastest times, which noise affects least. Sizes in bytes are the same on every
machine. Numbers that were *measured elsewhere* come from another run on another machine; they are a rough guide only.
"""
REPEAT = """\
## Repeat it

    make bench                            # everything; the exit code is 1 if a bound is missed
    .venv/bin/python -m bench gate        # one part, does not write this page: {parts}
    .venv/bin/python -m bench --no-bounds # only measure

It takes about ten minutes. The comparison with pi-workflows needs node 20 or later and npm; its published package is
downloaded once to `.cache/bench` (see `bench/pi-workflows`). Sessions run the real Claude Code in the version that the
tests use, downloaded once to `.cache/agents` (see `scripts/agents`); they need no key and no network. The other engines
are Python packages, downloaded once to `.cache/bench-peers` (see `scripts/peers`). The page is opened in Debian's
Chromium. If one of these programs is missing,
its rows say that they were skipped, and why. A busy machine changes the spread more than the ratios. If the two columns
differ a lot, run it again when the machine is idle.
"""


def setting(node: str | None) -> str:
    """The versions and the number of cores that the results depend on."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, node {node.removeprefix('v') if node else 'not used'}, {os.cpu_count()} cores"


def table(parts: list[Part]) -> str:
    """The report for a terminal: aligned columns, one group per part, then the additional tables."""
    lines = _aligned([HEAD, *[row.cells() for part in parts for row in part.rows]])
    head, lines = lines[:2], lines[2:]
    for part in parts:
        head += [*lines[: len(part.rows)], ""]
        lines = lines[len(part.rows) :]
    more = [[found.caption, *_aligned([found.head, *found.lines]), ""] for part in parts for found in part.tables]
    return "\n".join([*head, *[line for found in more for line in found]])


def _aligned(cells: list[list[str]]) -> list[str]:
    """The lines of a table: the head, a rule, and the rows."""
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    head, *rest = [_line(line, widths) for line in cells]
    return [head, "  ".join("-" * width for width in widths), *rest]


def _line(cells: list[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def page(parts: list[Part], node: str | None, names: list[str]) -> str:
    sections = [_section(part) for part in parts]
    this_run = f"This run: {setting(node)}.\n"
    return "\n".join([INTRODUCTION, this_run, *sections, REPEAT.format(parts=", ".join(f"`{n}`" for n in names))])


def _section(part: Part) -> str:
    tables = "".join(f"\n{found.caption}:\n\n{_numbers(found)}\n" for found in part.tables)
    return f"## {part.title}\n\n{part.about}\n\n{_rows(part.rows)}\n{tables}"


def _rows(rows: list[Row]) -> str:
    return _markdown([HEAD, ["---", "---", "--:", "--:", "---", "---"], *[row.cells() for row in rows]])


def _numbers(found: Table) -> str:
    return _markdown([found.head, ["--:"] * len(found.head), *found.lines])


def _markdown(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
