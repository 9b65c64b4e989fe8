"""Refuses state that other users could change: a session's gate is only as safe as the folder that it is in.

Hooks call this at every tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import os
import stat

from handrail.errors import StateError

_OTHERS_WRITE = 0o022


def refuse_shared(top: str, folder: str | None = None) -> None:
    """Raise `StateError` if a folder from `top` down to `folder` is a link, or if other users can change it.

    Folders that do not exist yet are not refused: Handrail creates them with the right permissions.
    """
    paths = [top]
    if folder is not None and folder.startswith(top + "/"):
        for name in folder[len(top) + 1 :].split("/"):
            paths.append(f"{paths[-1]}/{name}")
    for path in paths:
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(f"the folder `{path}` cannot be read: {error.strerror}") from error
        wrong = _wrong(path, found)
        if wrong is not None:
            message, hint = wrong
            raise StateError(f"Handrail does not use `{path}`: {message}", hint)


def _wrong(path: str, found: os.stat_result) -> tuple[str, str] | None:
    if stat.S_ISLNK(found.st_mode):
        return (
            "it is a symbolic link",
            "replace it with a folder, or set HANDRAIL_HOME to the folder that you want to use",
        )
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder", f"move it away: `mv {path} {path}.old`"
    if found.st_uid != os.geteuid():
        return f"it belongs to another user (id {found.st_uid})", "use a folder of your own: set HANDRAIL_HOME"
    if found.st_mode & _OTHERS_WRITE:
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        return f"other users can change it (mode {mode})", f"look what is in it, then run `chmod 700 {path}`"
    return None
