"""Skills that come with Handrail, for every agent that has skills: name → text of its `SKILL.md`."""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "builtin", "skills")
NAMES = ("write-workflow",)


def skills() -> dict[str, str]:
    """The skills that a model may use by itself."""
    found = {}
    for name in NAMES:
        with open(os.path.join(_FOLDER, f"{name}.md"), encoding="utf-8") as file:
            found[name] = file.read()
    return found
