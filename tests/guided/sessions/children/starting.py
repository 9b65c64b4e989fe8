"""Starts a workflow under a file size limit: `starting.py FOLDER LIMIT`.

Prints the results of pinning the plan and of starting the workflow as one JSON object.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Callable

from handrail.base.errors import StateError
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import Start, Started
from handrail.guided.sessions.store import Session
from handrail.guided.workflows.plan import Plan


def message_of(act: Callable[[], object]) -> str | None:
    try:
        act()
    except StateError as error:
        return error.message
    return None


def main(folder: str, limit: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    session = Session(SessionRef(folder, "/some/project", "s-1"), time.time)
    plan = Plan(
        key="key", name="Name", command="command", initial_message="Begin.", texts={}, session_name_length=50, stops=()
    )
    digest = session.pin(plan)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    said = {
        "pin": message_of(lambda: session.pin(plan._replace(name="Other"))),
        "start": message_of(lambda: session.do(Start(Started(digest, "task", "id", 1.0)))),
    }
    sys.stdout.write(json.dumps({**said, "status": session.read().state.status}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
