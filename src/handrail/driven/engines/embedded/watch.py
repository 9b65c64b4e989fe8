"""All runs of a project, kept up to date for somebody who watches them. Implements `Watch`.

Most runs have ended or wait: nothing happens in them until a process drives them, and that process changes the time of
the folder of all runs (`run_folders.announce`). So a look at a project in which nothing happens is one `stat`, and one
more per run that is driven. All runs are looked at every `LOOK_AT_ALL` seconds, in case a change was missed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from handrail.base import journal
from handrail.base.errors import StateError
from handrail.driven.engines.embedded.run_folders import LOCK, attempt_folders, holder, read_about, run_names
from handrail.driven.engines.embedded.summary_files import JOURNAL, outlived, summary_of
from handrail.driven.runs.state import RunState
from handrail.driven.runs.summary import Summary, shape_in, with_state

PROBE_AGAIN = 1.0
"""In seconds: how often the lock of a driven run is probed, to notice that its process was killed."""
LOOK_AT_ALL = 10.0
"""In seconds: how often all runs are looked at, even if no driver came or went."""
SETTLED = 100_000_000
"""In nanoseconds. If the last change of a file is older, its next change gets a different modification time."""


class RunsWatch:
    """The summary of each run, by id. `refresh` brings them up to date."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.runs: dict[str, Summary] = {}
        self._followed: dict[str, _Followed] = {}
        self._locks: dict[str, int] = {}
        self._time = -1
        self._next_probe = self._next_look = 0.0

    def is_stale(self) -> bool:
        """True if `refresh` may find something."""
        now = time.monotonic()
        if now >= self._next_look or _time_of(self.folder) != self._time:
            return True
        followed = self._followed.values()
        return bool(followed) and (now >= self._next_probe or any(one.has_news for one in followed))

    def refresh(self) -> bool:
        """Look again. True if anything changed."""
        now, changed = time.monotonic(), _time_of(self.folder)
        is_new = changed != self._time
        has_changed = False
        if is_new or now >= self._next_look:
            self._time, self._next_look = changed, now + LOOK_AT_ALL
            has_changed = self._look_at_all()
        probes = is_new or now >= self._next_probe
        if probes:
            self._next_probe = now + PROBE_AGAIN
        for id_, followed in list(self._followed.items()):
            has_changed |= self._follow(id_, followed, probes=probes)
        return has_changed

    def _look_at_all(self) -> bool:
        names = set(run_names(self.folder, self.runs))
        gone = self.runs.keys() - names
        for id_ in gone:
            self.runs.pop(id_)
            self._followed.pop(id_, None)
        looked = [self._look(id_) for id_ in names if id_ not in self._followed]
        return any(looked) or bool(gone)

    def _look(self, id_: str) -> bool:
        """Look at a run that no process drove. Reads its summary only if that may have changed."""
        lock, known = _time_of(os.path.join(self.folder, id_, LOCK)), self.runs.get(id_)
        if known is not None and lock == self._locks.get(id_) and known.status != "damaged":
            return False
        self._locks[id_] = lock
        self._open(id_)
        return self.runs[id_] != known

    def _open(self, id_: str) -> None:
        home = os.path.join(self.folder, id_)
        self._followed.pop(id_, None)
        summary = self.runs[id_] = summary_of(home, id_)
        if summary.status == "damaged" or (summary.driver is None and not summary.goes_on):
            return
        try:
            self._followed[id_] = _Followed(home, summary)
        except StateError as error:
            self.runs[id_] = summary._replace(status="damaged", why=error.message)

    def _follow(self, id_: str, followed: _Followed, *, probes: bool) -> bool:
        known = self.runs[id_]
        try:
            has_news = followed.read()
            if probes or has_news:
                followed.probe()
        except StateError:
            followed.is_over = True
        if followed.is_over:
            self._locks[id_] = _time_of(os.path.join(self.folder, id_, LOCK))
            self._open(id_)
        elif probes or has_news:
            self.runs[id_] = followed.summary()
        return self.runs[id_] != known


class _Followed:
    """A run that goes on. Its journal is read from where it was read last; `is_over`: it has to be opened anew."""

    def __init__(self, home: str, summary: Summary) -> None:
        self.home = home
        self.base = summary
        self.driver, self.goes_on, self.is_over = summary.driver, summary.goes_on, False
        found = attempt_folders(home)
        if not found:
            raise StateError(f"the run in `{home}` was removed")
        self.attempt = found[-1]
        self.path = os.path.join(self.attempt, JOURNAL)
        self.state, self.shape = RunState(), _shape(self.attempt)
        self.offset = 0
        self._mark: tuple[int, int] | None = None
        self.read()

    @property
    def has_news(self) -> bool:
        """True if the journal may have changed since it was read."""
        try:
            seen = os.stat(self.path)
        except OSError:
            return False
        return (seen.st_size, seen.st_mtime_ns) != self._mark

    def read(self) -> bool:
        """Read what was recorded since the last call. True if there was something. One `stat` if there was not."""
        try:
            seen = os.stat(self.path)
        except OSError:
            return False
        mark = (seen.st_size, seen.st_mtime_ns)
        if mark == self._mark:
            return False
        records, self.offset = journal.read_behind(self.path, self.offset)
        try:
            for event in _events(records):
                self.state.take(event["type"], event, event["t"])
        except (KeyError, TypeError, AttributeError) as error:
            raise StateError(f"the journal `{self.path}` cannot be read: {error!r}") from error
        if not records and time.time_ns() - seen.st_mtime_ns > SETTLED:
            self._mark = mark
        return bool(records)

    def probe(self) -> None:
        """Find out whether a process drives the run now. A restart or an end begins something new."""
        self.driver = holder(self.home)
        self.goes_on = outlived(self.attempt, self.state.status, self.driver)
        is_going = self.driver is not None or (self.state.status == "running" and self.goes_on)
        self.is_over = not is_going or attempt_folders(self.home)[-1:] != [self.attempt]

    def summary(self) -> Summary:
        return with_state(self.base._replace(driver=self.driver, goes_on=self.goes_on), self.state, self.shape)


def _events(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for record in records:
        yield from record["events"]


def _shape(attempt: str) -> Any:
    try:
        return shape_in(read_about(attempt))
    except StateError:
        return None


def _time_of(path: str) -> int:
    """When a file or folder changed; 0 if it does not exist."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
