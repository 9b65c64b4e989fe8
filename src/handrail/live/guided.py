"""The guided sessions of a project in one line each. A session is read again only if its files changed."""

from __future__ import annotations

import os
import time

from handrail.app import App
from handrail.errors import StateError
from handrail.sessions import marks
from handrail.sessions.report import report_now
from handrail.sessions.store import Session
from handrail.topics.home import Seated

LOOK_AT_ALL = 2.0
"""In seconds: how often sessions without an active workflow are looked at."""
SETTLED = 100_000_000
"""In nanoseconds. If the last change of a file is older, its next change gets a different modification time."""
Mark = tuple[int, int, int]


class GuidedSessions:
    """All sessions that a person works in, kept up to date by `refresh`. Those of runs are left out: see their run."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.seated: dict[str, Seated] = {}
        self._sessions: dict[str, Session] = {}
        self._marks: dict[str, Mark | None] = {}
        self._folder = -1
        self._next_look = 0.0

    def is_stale(self) -> bool:
        """True if `refresh` may find something."""
        changed = _time_of(self.app.places.sessions(self.app.project))
        if time.monotonic() >= self._next_look or changed != self._folder or not self._is_settled(changed):
            return True
        active = (id_ for id_, known in self.seated.items() if known.status == "active")
        return any(_mark(self._sessions[id_]) != self._marks[id_] for id_ in active)

    def refresh(self) -> bool:
        """Look again. True if anything changed."""
        now, changed = time.monotonic(), _time_of(self.app.places.sessions(self.app.project))
        has_changed = False
        if changed != self._folder or not self._is_settled(changed):
            self._folder = changed
            has_changed = self._list()
        looks_at_all = now >= self._next_look
        if looks_at_all:
            self._next_look = now + LOOK_AT_ALL
        for id_, session in self._sessions.items():
            known = self.seated.get(id_)
            if looks_at_all or known is None or known.status == "active" or self._marks[id_] is None:
                has_changed |= self._look(id_, session)
        return has_changed

    def _list(self) -> bool:
        found = {session.id: session for session in self.app.sessions.all() if session.run() is None}
        gone = self.seated.keys() - found.keys()
        for id_ in gone:
            self.seated.pop(id_)
            self._marks.pop(id_)
        self._sessions = {id_: self._sessions.get(id_, session) for id_, session in found.items()}
        return bool(gone)

    def _look(self, id_: str, session: Session) -> bool:
        mark = _mark(session)
        known = self.seated.get(id_)
        if known is not None and mark == self._marks.get(id_):
            return False
        self._marks[id_] = mark if self._is_settled(max(mark[0], mark[2])) else None
        self.seated[id_] = seated(session, mark[2] / 1e9 if mark[2] else None)
        return self.seated[id_] != known

    @staticmethod
    def _is_settled(changed: int) -> bool:
        return time.time_ns() - changed > SETTLED


def seated(session: Session, changed: float | None) -> Seated:
    """A session in one line. One that cannot be read says why."""
    try:
        report = report_now(session, session.read())
    except StateError as error:
        return Seated(session.id, "", "", "damaged", changed=changed, wrong=error.message)
    plan, state = report.plan, report.state
    stop = plan.stops[state.at] if plan is not None and state.at < len(plan.stops) else None
    outer = None if stop is None else stop.levels[0]  # a subworkflow counts as one phase, as in the status line
    return Seated(
        id=session.id,
        workflow="" if plan is None else plan.name,
        task=state.task,
        status=state.status,
        place=() if stop is None or not state.is_active else (*(one.name for one in stop.levels[1:]), stop.name),
        agent=session.agent(),
        started=state.started or None,
        let_go=marks.content(session.folder, marks.LET_GO) or None,
        changed=changed,
        done=None if outer is None else outer.total if state.status == "done" else outer.position,
        total=None if outer is None else outer.total,
        line=report.status_line,
    )


def _mark(session: Session) -> Mark:
    """Changes with every move and every mark: those are files that are made, replaced or removed in the folder."""
    try:
        found = os.stat(session.journal)
    except OSError:
        return (_time_of(session.folder), 0, 0)
    return (_time_of(session.folder), found.st_size, found.st_mtime_ns)


def _time_of(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
