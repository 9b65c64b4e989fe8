"""Sends commands to a session under a file size limit and prints one JSON line per attempt.

`cramped.py FOLDER LIMIT...`: for each limit, one `loop` with the limit and one after it is removed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time

from handrail.base.errors import StateError
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import Loop
from handrail.guided.sessions.store import Session


def attempt(session: Session, limit: int) -> dict[str, object]:
    before = session.read().state.steps
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    error: StateError | None = None
    try:
        session.do(Loop())
    except StateError as found:
        error = found
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {
        "error": error and error.message,
        "hint": error and error.hint,
        "believed": session.read().state.steps - before,
        "size": os.path.getsize(session.journal),
        "card": os.path.exists(os.path.join(session.folder, "card")),
        "then": session.do(Loop()).after.steps - before,
    }


def main(folder: str, limits: list[int]) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    session = Session(SessionRef(folder, "/some/project", "s-1"), time.time)
    for limit in limits:
        sys.stdout.write(json.dumps(attempt(session, limit)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], [int(limit) for limit in sys.argv[2:]])
