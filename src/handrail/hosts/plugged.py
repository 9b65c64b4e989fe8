"""Makes the agents of plugins known to a process that an agent started. Only such an agent pays for the search."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from handrail import registry
from handrail.app import App
from handrail.errors import HandrailError
from handrail.project import Places, find_root, home_of


def find_plugins(agent: str, env: Mapping[str, str]) -> bool:
    """Find the plugins of the project in which this process runs. False if the agent is known and cannot be used."""
    if sys.flags.no_site:
        import site

        site.main()
    App(home_of(Places(env), find_root(os.getcwd())), env)
    error: HandrailError | None = registry.unusable(agent)
    if error is not None:
        sys.stderr.write(f"error: {error.message}\n")
    return error is None
