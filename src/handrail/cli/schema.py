"""`handrail schema`: the JSON Schemas that editors use."""

from __future__ import annotations

import os

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell
from handrail.editors import FOLDER, KINDS, editor_schema, write_schemas
from handrail.errors import UsageError
from handrail.project import shown_path


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)), required=False)
@click.option(
    "--write",
    "folder",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    help=f"Write the schemas of all kinds of files to DIR; by default to `{FOLDER}` of the project.",
)
@command
def schema(app: App, shell: Shell, kind: str | None, folder: str | None) -> None:
    """Print the JSON Schema of a kind of file, for editors, or write all of them.

    Editors with yaml-language-server find a schema by a comment in the file. `handrail init` writes these comments. The
    schemas belong into the repository, so that they work in every clone. After an update of Handrail, write them again.
    """
    if folder is not None:
        if kind is not None:
            raise UsageError("`--write` writes the schemas of all kinds", f"remove `{kind}`")
        return _write(app, shell, os.path.abspath(folder) if folder else os.path.join(app.project, FOLDER))
    if kind is None:
        raise UsageError("a kind of file is missing", f"write one of {', '.join(KINDS)}, or `--write`")
    return shell.data(editor_schema(kind))


def _write(app: App, shell: Shell, folder: str) -> None:
    found = {shown_path(path, shell.cwd): is_new for path, is_new in write_schemas(app.project, folder).items()}
    if shell.as_json:
        written = [path for path, is_new in found.items() if is_new]
        return shell.data({"written": written, "unchanged": [path for path in found if path not in written]})
    for path, is_new in found.items():
        shell.say(f"{'written: ' if is_new else 'unchanged:'} {path}")
    return None
