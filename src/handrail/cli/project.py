"""`handrail init`: creates a small working example in a project."""

from __future__ import annotations

import os
from importlib import resources

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell
from handrail.errors import RefusedError
from handrail.state.files import real_inside


@click.command()
@command
def init(app: App, shell: Shell) -> None:
    """Create an example workflow, an example flow and settings. Overwrites no file."""
    created: list[str] = []
    template = resources.files("handrail") / "builtin" / "init"
    own = os.path.join(app.project, ".handrail")
    if os.path.realpath(own) != own:
        raise RefusedError("`.handrail` is a link to another place", "remove the link, then run `handrail init` again")
    for source, name in sorted(_files(template, ""), key=lambda item: item[1]):
        path = os.path.join(own, name)
        if real_inside(own, name) is None:
            raise RefusedError(f"`{path}` leads out of the project", "remove the link, then run `handrail init` again")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(source)
        except FileExistsError:
            shell.talk(f"kept:    {os.path.join('.handrail', name)}")
            continue
        created.append(os.path.join(".handrail", name))
        shell.say(f"created: {os.path.join('.handrail', name)}")
    if shell.as_json:
        return shell.data({"created": created})
    shell.talk("next: `handrail show hello`, then `handrail start hello say hello`, or `handrail run hello`")
    return None


def _files(folder: resources.abc.Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found.extend(_files(entry, name + "/"))
        else:
            found.append((entry.read_text(encoding="utf-8"), name))
    return found
