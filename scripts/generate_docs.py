"""Writes the pages of docs/reference from the code. A test fails when a page is behind."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from handrail.cli.main import SECTIONS, handrail
from handrail.errors import EXIT_CODES
from handrail.flows.spec import SHAPES as FLOW_SHAPES
from handrail.settings import SETTINGS
from handrail.source.codes import rules
from handrail.source.fields import Shape
from handrail.workflows.placeholders import VARIABLES
from handrail.workflows.spec import EXIT, PHASE, TOOLS, WORKFLOW

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- written by `make docs`; do not edit -->\n\n"


def exit_codes() -> str:
    rows = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    return f"# Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n"


def codes() -> str:
    parts = ["# Problem codes\n\n`handrail explain CODE` prints the same.\n"]
    parts.extend(
        f"## {rule.code}\n\n*{rule.severity}.* {rule.meaning}\n\n```text\n{rule.example}\n```\n\n{rule.cure}\n"
        for rule in rules().values()
    )
    return "\n".join(parts)


def placeholders() -> str:
    where = "In every text of a workflow and in the instructions of every phase. Unknown names stay as written."
    head = f"# Placeholders\n\n{where}\n"
    rows = "\n".join(f"| `{{{name}}}` | {about} |" for name, about in VARIABLES.items())
    return f"{head}\n| placeholder | value |\n|---|---|\n{rows}\n"


def files() -> str:
    shapes = [WORKFLOW, PHASE, TOOLS, EXIT, SETTINGS]
    return "# Files\n\n" + "\n".join(_shape(shape) for shape in shapes)


def flows() -> str:
    return "# Flow files\n\n" + "\n".join(_shape(shape) for shape in FLOW_SHAPES)


def _shape(shape: Shape) -> str:
    rows = []
    for field in shape.fields:
        note = "required" if field.required else f"default `{field.default}`" if field.default is not None else ""
        choices = f"one of {', '.join(f'`{choice}`' for choice in field.choices)}" if field.choices else ""
        notes = "; ".join(filter(None, (choices, note)))
        rows.append(f"| `{field.name}` | {' or '.join(field.kinds)} | {field.about} | {notes} |")
    table = "\n".join(rows)
    return f"## {shape.title}\n\n{shape.about}\n\n| key | type | meaning | |\n|---|---|---|---|\n{table}\n"


def commands() -> str:
    parts = ["# Commands\n"]
    top = handrail.make_context("handrail", ["list"], resilient_parsing=True)
    for title, members in SECTIONS.items():
        parts.append(f"## {title}\n")
        for command in members:
            context = click.Context(command, parent=top, info_name=command.name)
            parts.append(f"### {command.name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


PAGES = {
    "codes.md": codes,
    "commands.md": commands,
    "exit-codes.md": exit_codes,
    "files.md": files,
    "flows.md": flows,
    "placeholders.md": placeholders,
}


def pages() -> dict[Path, str]:
    assert handrail.commands
    return {REFERENCE / name: NOTE + make() for name, make in PAGES.items()}


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote docs/reference/{path.name}\n")


if __name__ == "__main__":
    main()
