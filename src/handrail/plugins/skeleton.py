"""The files of a new plugin. They are in `builtin/plugin`, and `@ID@` stands for the id."""

from __future__ import annotations

import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "builtin", "plugin")
MARK = "@ID@"


def files_of(id_: str) -> dict[str, str]:
    """Path below the plugin's folder → text."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(FOLDER):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, FOLDER)] = file.read().replace(MARK, id_)
    return found
