"""Finds the agents of plugins for a process that such an agent started.

Only an agent of a plugin pays for the search. Needs all packages, so it is imported by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from handrail.app import App
from handrail.extensions.registry import Registry
from handrail.settings.folders import UserFolders, find_root, owning_project


def find_registry(agent: str, env: Mapping[str, str]) -> Registry | None:
    """The registry of the project in which this process runs. None if the agent is known and cannot be used."""
    if sys.flags.no_site:
        import site

        site.main()
    registry = App(owning_project(UserFolders(env), find_root(os.getcwd())), env).registry
    error = registry.unusable(agent)
    if error is None:
        return registry
    sys.stderr.write(f"error: {error.message}\n")
    return None
