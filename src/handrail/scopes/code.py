"""The last change of the project's own files, as far as git knows them: neither ignored files nor those of scopes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.process.child import Task, capture
from handrail.scopes.stages import Piece
from handrail.secrets.rules import without_secrets

SECONDS = 30.0
MOST = 64 * 1024 * 1024
_LIST = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
_OWN = tuple(f"{folder}/".encode() for folder in (AGENTWEAVER, HANDRAIL))


async def last_change(project: str, env: Mapping[str, str]) -> Piece | None:
    """The file that was changed last, and when. None if the project is in no repository, or git does not answer."""
    own = {name: value for name, value in without_secrets(env).items() if not name.startswith("GIT_")}
    try:
        printed = await capture(Task(argv=_LIST, cwd=project, env=own, timeout=SECONDS), MOST)
    except OSError:
        return None
    if printed.exit_code != 0 or printed.timed_out or printed.left_out:
        return None
    folder = os.fsencode(project)
    newest: tuple[float, bytes] | None = None
    for name in printed.data.split(b"\0"):
        if not name or name.startswith(_OWN):
            continue
        try:
            found = os.lstat(os.path.join(folder, name)).st_mtime, name
        except OSError:  # deleted
            continue
        newest = found if newest is None else max(newest, found)
    return None if newest is None else Piece(path=os.fsdecode(newest[1]), time=newest[0], basis="file time")
