"""All runs and sessions of a project, followed, and which of them a person has opened.

A look at a project in which nothing happens reads no file; a session is read again only if its files changed.
What was opened is one file per project. Several processes may write it: each takes a lock, reads the file and
replaces it. If it is lost or damaged, every failure counts as new again; nothing else depends on it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from handrail.app import App
from handrail.base import files, locks
from handrail.base.errors import StateError
from handrail.driven.artifacts.scope import NO_BRANCH, default_scope
from handrail.guided.sessions.store import Session, report_now
from handrail.guided.sessions.words import question_form
from handrail.settings.folders import file_name
from handrail.view.rows.home import OPEN, HomeTopic, SessionLine
from handrail.view.rows.rows import RowMessage

LOOK_AT_ALL = 2.0
"""In seconds: how often sessions without an active workflow are looked at."""
SETTLED = 100_000_000
"""In nanoseconds. If the last change of a file is older, its next change gets a different modification time."""
FolderMark = tuple[int, int, int]


class GuidedSessions:
    """All sessions that a person works in, kept up to date by `refresh`. Those of runs are left out: see their run."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.lines: dict[str, SessionLine] = {}
        self._sessions: dict[str, Session] = {}
        self._marks: dict[str, FolderMark | None] = {}
        self._folder = -1
        self._next_look = 0.0

    def is_stale(self) -> bool:
        """True if `refresh` may find something."""
        _, time_changed = files.size_and_time(self.app.places.sessions(self.app.project))
        if time.monotonic() >= self._next_look or time_changed != self._folder or not self._is_settled(time_changed):
            return True
        active = (id_ for id_, line in self.lines.items() if line.status in OPEN)
        return any(_folder_mark(self._sessions[id_]) != self._marks[id_] for id_ in active)

    def refresh(self) -> bool:
        """Look again. True if anything changed."""
        now, (_, time_changed) = time.monotonic(), files.size_and_time(self.app.places.sessions(self.app.project))
        has_changed = False
        if time_changed != self._folder or not self._is_settled(time_changed):
            self._folder = time_changed
            has_changed = self._list()
        looks_at_all = now >= self._next_look
        if looks_at_all:
            self._next_look = now + LOOK_AT_ALL
        for id_, session in self._sessions.items():
            line = self.lines.get(id_)
            if looks_at_all or line is None or line.status in OPEN or self._marks[id_] is None:
                has_changed |= self._look(id_, session)
        return has_changed

    def _list(self) -> bool:
        sessions = {session.id: session for session in self.app.sessions.all() if session.about().run is None}
        removed_ids = self.lines.keys() - sessions.keys()
        for id_ in removed_ids:
            self.lines.pop(id_)
            self._marks.pop(id_)
        self._sessions = {id_: self._sessions.get(id_, session) for id_, session in sessions.items()}
        return bool(removed_ids)

    def _look(self, id_: str, session: Session) -> bool:
        mark = _folder_mark(session)
        old_line = self.lines.get(id_)
        if old_line is not None and mark == self._marks.get(id_):
            return False
        self._marks[id_] = mark if self._is_settled(max(mark[0], mark[2])) else None
        self.lines[id_] = session_line(session, mark[2] / 1e9 if mark[2] else None)
        return self.lines[id_] != old_line

    @staticmethod
    def _is_settled(time_changed: int) -> bool:
        return time.time_ns() - time_changed > SETTLED


def session_line(session: Session, time_changed: float | None) -> SessionLine:
    """A session in one line. One that cannot be read says why."""
    try:
        report = report_now(session, session.read())
    except StateError as error:
        return SessionLine(session.id, "", "", "damaged", changed=time_changed, problem=error.message)
    plan, state = report.plan, report.state
    stop = plan.stops[state.at] if plan is not None and state.at < len(plan.stops) else None
    outer = None if stop is None else stop.levels[0]  # a subworkflow counts as one phase, as in the status line
    return SessionLine(
        id=session.id,
        workflow="" if plan is None else plan.name,
        task=state.task,
        status=state.status,
        place=() if stop is None or not state.is_active else (*(one.name for one in stop.levels[1:]), stop.name),
        agent=session.about().agent,
        started=state.started or None,
        let_go=report.let_go or None,
        changed=time_changed,
        done=None if outer is None else outer.total if state.status == "done" else outer.position,
        total=None if outer is None else outer.total,
        line=report.status_line,
        asks=question_form(state),
    )


def _folder_mark(session: Session) -> FolderMark:
    """Changes with every move and every mark: those are files that are made, replaced or removed in the folder."""
    return (files.size_and_time(session.folder)[1], *files.size_and_time(session.journal))


MOST_OPENED = 10_000
"""How many ids are kept: those that were opened last."""
PATIENCE = 5.0


class OpenedRows:
    """The ids that were opened in one project. `refresh` reads the file again if it changed."""

    def __init__(self, app: App) -> None:
        self.path = os.path.join(app.places.state, "seen", f"{file_name(app.project)}.json")
        self.times: dict[str, float] = {}
        self._mark: object = None

    @property
    def is_stale(self) -> bool:
        """True if the file changed since it was read."""
        return self._file_mark() != self._mark

    def _file_mark(self) -> object:
        return files.identity(self.path), files.size_and_time(self.path)

    def refresh(self) -> bool:
        """Read the file if it changed. True if it did."""
        mark = self._file_mark()
        if mark == self._mark:
            return False
        old_times, self._mark, self.times = self.times, mark, self._read_times()
        return self.times != old_times

    def _read_times(self) -> dict[str, float]:
        try:
            data = json.loads(files.read_regular(self.path))
            return {str(id_): float(at) for id_, at in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def mark(self, id_: str, at: float | None) -> None:
        """A person opened this (`run:ID` or `session:ID`) at this time; None if it counts as not opened again."""
        busy = StateError(f"another process writes `{self.path}`", "try again")
        with locks.locked(f"{self.path}.lock", PATIENCE, lambda: busy):
            times = self._read_times()
            times.pop(id_, None)
            if at is not None:
                times[id_] = at
            newest = dict(sorted(times.items(), key=lambda item: item[1])[-MOST_OPENED:])
            files.replace(self.path, json.dumps(newest).encode(), durable=False)


def mark_seen(app: App, id_: str, *, is_seen: bool = True) -> None:
    """A person opened a row of home, so a failure does not need them any more; or it counts as not opened again."""
    OpenedRows(app).mark(id_, app.clock() if is_seen else None)


TITLE_AGAIN = 2.0
"""In seconds: how often the branch is read."""


class LiveHome:
    """The topic of a project, kept up to date by `refresh`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.topic = HomeTopic(app.token())
        self.runs = app.runs.engine.watch()
        self.sessions = GuidedSessions(app)
        self.opened_rows = OpenedRows(app)
        self._title: dict[str, Any] = {}
        self._last_title: dict[str, Any] = {}
        self._next_title = 0.0
        self.refresh()

    def is_stale(self) -> bool:
        """True if a look may find something. Times and sizes of files are looked at, and the branch."""
        return self._read_title() or self.opened_rows.is_stale or self.runs.is_stale() or self.sessions.is_stale()

    def refresh(self) -> None:
        """Read what may have changed. Cheap if nothing did."""
        self._read_title()
        changes = [self.runs.refresh(), self.sessions.refresh(), self.opened_rows.refresh()]
        if any(changes) or self._title != self._last_title or not self.topic.rows.seq:
            self._last_title = self._title
            runs, sessions = self.runs.runs.values(), self.sessions.lines.values()
            self.topic.update(runs, sessions, self.opened_rows.times, self._title)

    def _read_title(self) -> bool:
        """Read name, branch and scope of the project: `shop`, `main`, `main@036d8bbd`. True if one is new."""
        now = time.monotonic()
        if now < self._next_title:
            return self._title != self._last_title
        self._next_title = now + TITLE_AGAIN
        scope = default_scope(self.app.folder)
        name = os.path.basename(self.app.project) or self.app.project
        branch = scope.rpartition("@")[0]
        self._title = {"project": name, "branch": None if branch == NO_BRANCH else branch, "scope": scope}
        return self._title != self._last_title

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        return self.topic.rows.messages("home", base, now, epoch)
