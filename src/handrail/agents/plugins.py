"""What agents with a plugin in JavaScript share: reading its files, and the places that it stores in a history.

`child.js` is part of every plugin. Standard library only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.contracts.messages import BranchPoint

CHILD = "child.js"
"""Keeps one process, `handrail serve`, and asks it."""


def read(*path: str) -> str:
    """The text of a file below the folder of all agents."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), *path), encoding="utf-8") as file:
        return file.read()


def read_folder(*path: str) -> dict[str, str]:
    """Every file of a folder below the folder of all agents: name → text."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), *path)
    return {name: read(*path, name) for name in sorted(os.listdir(folder))}


def branch_point(data: Any) -> BranchPoint | None:
    """The place that a plugin found in the history; None if there is none."""
    if not isinstance(data, dict):
        return None
    return {"session": str(data["session"]), "project": str(data["project"]), "number": int(data["number"])}
