"""All runs and sessions of a project, followed. A look at a project in which nothing happens reads no file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from handrail.app import App
from handrail.artifacts.scope import NO_BRANCH, default_scope
from handrail.live.guided import GuidedSessions
from handrail.live.seen import Seen
from handrail.topics.home import HomeTopic
from handrail.topics.rows import Message

TITLE_AGAIN = 2.0
"""In seconds: how often the branch is read."""


class LiveHome:
    """The topic of a project, kept up to date by `refresh`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.topic = HomeTopic(app.token())
        self.runs = app.runs.engine.watch()
        self.sessions = GuidedSessions(app)
        self.seen = Seen(app)
        self._title: dict[str, Any] = {}
        self._shown: dict[str, Any] = {}
        self._next_title = 0.0
        self.refresh()

    def is_stale(self) -> bool:
        """True if a look may find something. Times and sizes of files are looked at, and the branch."""
        return self._read_title() or self.seen.is_stale or self.runs.is_stale() or self.sessions.is_stale()

    def refresh(self) -> None:
        """Look at what may have changed. Cheap if nothing did."""
        self._read_title()
        parts = (self.runs.refresh(), self.sessions.refresh(), self.seen.refresh(), self._title != self._shown)
        if any(parts) or not self.topic.rows.seq:
            self._shown = self._title
            self.topic.update(self.runs.runs.values(), self.sessions.seated.values(), self.seen.opened, self._title)

    def _read_title(self) -> bool:
        """Read name, branch and scope of the project: `shop`, `main`, `main@036d8bbd`. True if one is new."""
        now = time.monotonic()
        if now < self._next_title:
            return self._title != self._shown
        self._next_title = now + TITLE_AGAIN
        scope = default_scope(self.app.folder)
        name = os.path.basename(self.app.project) or self.app.project
        branch = scope.rpartition("@")[0]
        title = {"project": name, "branch": None if branch == NO_BRANCH else branch, "scope": scope}
        self._title = title
        return title != self._shown

    def messages(self, epoch: str, base: int, now: float) -> Iterator[Message]:
        """The messages for a receiver that has these rows."""
        rows = self.topic.rows
        yield from rows.messages("home", base if epoch == rows.epoch else 0, now)

    def older(self, after: str | None = None) -> list[dict[str, Any]]:
        """The next page of what ended, behind the row with this id."""
        return self.topic.older(after)
