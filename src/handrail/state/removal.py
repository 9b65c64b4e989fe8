"""Removes a folder of Handrail's state. After a crash it is whole, or it is gone from its place."""

from __future__ import annotations

import os
import shutil

from handrail.errors import StateError

TRASH = ".removed"
"""The ending of a folder that is being removed. It is not a run and not a session any more."""


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it. What an interrupted removal left beside it is removed as well."""
    above = os.path.dirname(folder)
    new = os.path.join(above, f".{os.path.basename(folder)}.{os.getpid()}{TRASH}")
    try:
        os.rename(folder, new)
    except OSError as error:
        raise StateError(f"`{folder}` cannot be removed: {error.strerror}") from error
    for name in os.listdir(above):
        if name.startswith(".") and name.endswith(TRASH):
            shutil.rmtree(os.path.join(above, name), ignore_errors=True)
