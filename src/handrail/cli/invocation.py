"""Handrail in the project that a command line means."""

from __future__ import annotations

import os

from handrail.app import App
from handrail.errors import UsageError
from handrail.project import find_root


def make_app(project: str | None) -> App:
    """For the folder that `--project` names; without it, for the nearest project upwards."""
    if project is not None and not os.path.isdir(project):
        raise UsageError(f"`{project}` is not a folder", "name the folder of the project")
    return App(project or find_root(os.getcwd()), os.environ)
