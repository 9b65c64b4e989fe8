"""Finds the project of a command line."""

from __future__ import annotations

import os

from handrail.errors import UsageError
from handrail.project import Places, find_root, home_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.app import App


def project_folder(named: str | None) -> str:
    """The folder of `--project`; by default the nearest project folder upwards. In a worktree: the run's project."""
    if named is not None and not os.path.isdir(named):
        raise UsageError(f"`{named}` is not a folder", "give the path of the project's folder")
    return home_of(Places(os.environ), _folder(named))


def _folder(named: str | None) -> str:
    return os.path.realpath(named or find_root(os.getcwd()))


def make_app(project: str | None) -> App:
    """The `App` of this project."""
    from handrail.app import App

    home = project_folder(project)
    folder = _folder(project)
    return App(home, os.environ, folder=folder if folder != home else None)
