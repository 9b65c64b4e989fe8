"""Restarts the workflow of a session many times and prints the step number of each acknowledged command.

It begins when stdin is closed, so that many processes can begin together: `looping.py FOLDER TIMES`.
"""

from __future__ import annotations

import sys
import time

from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import Loop
from handrail.guided.sessions.store import Session, SessionBusy


def loop(session: Session) -> int:
    while True:
        try:
            return session.do(Loop()).after.steps
        except SessionBusy:  # the command was not carried out, so it is retried
            continue


def main(folder: str, times: int) -> None:
    session = Session(SessionRef(folder, "/some/project", "s-1"), time.time)
    sys.stdin.read()
    for _ in range(times):
        sys.stdout.write(f"{loop(session)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
