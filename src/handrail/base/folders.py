"""Folders: lists what is in one, and removes one or exchanges two in one step.

After a crash, a name leads to a whole folder or to none.
"""

from __future__ import annotations

import os
import shutil
import sys

from handrail.base.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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


MAX_ENTRIES = 20_000
"""How many entries of a folder are looked at."""


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, by name. Empty if there is no folder, or if it is a link. At most `MAX_ENTRIES`."""
    if os.path.islink(folder):
        return []
    try:
        with os.scandir(folder) as found:
            return sorted((entry for entry, _ in zip(found, range(MAX_ENTRIES), strict=False)), key=lambda e: e.name)
    except OSError:
        return []


def files_below(folder: str, *, without: tuple[str, ...] = ()) -> Iterator[os.DirEntry[str]]:
    """The regular files in a folder and below. Links are not followed. `without` are names of folders to leave out."""
    waiting, left = [folder], MAX_ENTRIES
    while waiting:
        for entry in entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in without:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                left -= 1
                if left < 0:
                    return
                yield entry
