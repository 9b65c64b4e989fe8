"""Skills that come with Handrail. Every agent that it is installed into gets them in its folder of skills."""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "builtin", "skills")
NAMES = ("write-workflow",)


def files() -> dict[str, str]:
    """Path below a folder of skills → text, for the skills that a model may use by itself."""
    found = {}
    for name in NAMES:
        with open(os.path.join(_FOLDER, f"{name}.md"), encoding="utf-8") as file:
            found[f"{name}/SKILL.md"] = file.read()
    return found
