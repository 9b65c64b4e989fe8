"""All runs and sessions of a project, followed: one look at the list of both."""

from __future__ import annotations

import os
from collections.abc import Iterator

from handrail.app import App
from handrail.sessions import marks
from handrail.sessions.report import Report
from handrail.sessions.store import Session
from handrail.topics.home import HomeTopic, Seated
from handrail.topics.rows import Message


class LiveHome:
    """The topic of a project, kept up to date by `refresh`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.topic = HomeTopic(app.token())
        self.refresh()

    def refresh(self) -> None:
        """Look at all runs and sessions again."""
        sessions = self.app.sessions
        seated = [_seated(sessions.session(report.session), report) for report in sessions.reports()]
        self.topic.update(self.app.runs.summaries(), seated, {})

    def messages(self, epoch: str, base: int, now: float) -> Iterator[Message]:
        """The messages for a receiver that has these rows."""
        rows = self.topic.rows
        yield from rows.messages("home", base if epoch == rows.epoch else 0, now)


def _seated(session: Session, report: Report) -> Seated:
    state = report.state
    return Seated(
        id=report.session,
        workflow="" if report.plan is None else report.plan.name,
        task=state.task,
        status=state.status,
        place=report.status_line,
        agent=session.agent(),
        started=state.started or None,
        let_go=marks.content(session.folder, marks.LET_GO) or None,
        changed=_changed(session.journal),
    )


def _changed(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None
