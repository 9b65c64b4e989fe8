"""Makes the agents of plugins known to a process that an agent started.

Only an agent of a plugin pays for the search. Needs all packages, so it is imported by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from handrail.app import App
from handrail.base.errors import HandrailError
from handrail.extensions import registry
from handrail.settings.folders import UserFolders, find_root, owning_project


def find_plugins(agent: str, env: Mapping[str, str]) -> bool:
    """Find the plugins of the project in which this process runs. False if the agent is known and cannot be used."""
    if sys.flags.no_site:
        import site

        site.main()
    App(owning_project(UserFolders(env), find_root(os.getcwd())), env)
    error: HandrailError | None = registry.unusable(agent)
    if error is not None:
        sys.stderr.write(f"error: {error.message}\n")
    return error is None
