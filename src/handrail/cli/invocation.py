"""Finds the project of a command line."""

from __future__ import annotations

import os

from handrail.errors import UsageError
from handrail.project import find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.app import App


def project_folder(named: str | None) -> str:
    """The folder of `--project`; by default the nearest project folder upwards."""
    if named is not None and not os.path.isdir(named):
        raise UsageError(f"`{named}` is not a folder", "give the path of the project's folder")
    return os.path.realpath(named or find_root(os.getcwd()))


def make_app(project: str | None) -> App:
    """The `App` of this project."""
    from handrail.app import App

    return App(project_folder(project), os.environ)
