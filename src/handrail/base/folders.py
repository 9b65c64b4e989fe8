"""Removes a folder, or exchanges two, in one step: after a crash a name leads to a whole folder or to none."""

from __future__ import annotations

import os
import shutil
import sys

from handrail.base.errors import StateError

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


_CURRENT_FOLDER = -100
_EXCHANGE = 2
"""The same number on Linux (`renameat2`) and macOS (`renamex_np`)."""


def exchange(left: str, right: str) -> bool:
    """Exchange two paths on the same disk. False if this system or this file system cannot do it."""
    import ctypes

    paths = os.fsencode(left), os.fsencode(right)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(system.renamex_np(*paths, _EXCHANGE) == 0)
        return bool(system.renameat2(_CURRENT_FOLDER, paths[0], _CURRENT_FOLDER, paths[1], _EXCHANGE) == 0)
    except (OSError, AttributeError):  # the function does not exist here
        return False
