"""The list of all runs of a project: a summary of each, and a watch that keeps them up to date. Imports little.

Each run has a small summary file, so that a list does not read journals. The driver writes it when the run ends or
waits. It says which journal it covers: one that is older than the journal, or damaged, is not used, and the next list
writes a new one.

Most runs have ended or wait: nothing happens in them until a process drives them, and that process changes the time of
the folder of all runs (`run_folders.announce`). So a look at a project in which nothing happens is one `stat`, and one
more per run that is driven. All runs are looked at every `LOOK_AT_ALL` seconds, in case a change was missed.
"""

from __future__ import annotations

import contextlib
import os
import time

from handrail.base import files, jsonlite
from handrail.base.errors import StateError
from handrail.driven.engines.embedded import run_folders
from handrail.driven.runs.state import RunState
from handrail.driven.runs.summary import Summary, shape_in, summarize, with_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.driven.engines.embedded.run_journal import Ledger

FORMAT = 6
PATIENCE = 5.0
"""Grace period in seconds before a new run without a driver counts as interrupted."""
PROBE_AGAIN = 1.0
"""In seconds: how often the lock of a driven run is probed, to notice that its process was killed."""
COARSE = 10.0
"""In seconds: how far apart two signs of life are. A run that prints all the time is not a new row all the time."""
LOOK_AT_ALL = 10.0
"""In seconds: how often all runs are looked at, even if no driver came or went."""
_NOW = ("id", "driver", "goes_on", "is_answered")
"""The fields of a summary that are not stored: they are true only now, or the name of the folder says them."""


def summaries(folder: str) -> list[Summary]:
    """The summaries of all runs in a folder, the oldest first. A damaged run does not prevent the others."""
    found = [summary_of(os.path.join(folder, id_), id_) for id_ in run_folders.run_names(folder)]
    return sorted(
        found, key=lambda run: (run.created or 0.0, run_folders.created_file_time(os.path.join(folder, run.id)), run.id)
    )


def summary_of(folder: str, id_: str) -> Summary:
    try:
        return _read(folder, id_)
    except StateError as error:
        return Summary(id_, "", "damaged", None, error.message, run_folders.created_at(folder))


def _read(folder: str, id_: str) -> Summary:
    found = run_folders.attempt_folders(folder)
    if not found:
        raise StateError(f"the request of the run in `{folder}` is missing", run_folders.WAY_OUT)
    attempt = found[-1]
    mark = mark_of(attempt)
    known = _stored(folder, id_, mark)
    driver = run_folders.holder(folder)
    if known is not None:
        return _now(known, attempt, driver)
    about = run_folders.read_about(attempt)
    state, scan = RunState(), run_folders.read_journal(attempt)
    _take(state, scan.records, attempt)
    summary = summarize(id_, about, state, run_folders.number_of(attempt), driver, run_folders.heard_at(attempt))
    summary = summary._replace(created=run_folders.created_at(folder))
    if driver is None and mark_of(attempt) == mark:
        _write(folder, summary, mark, scan.end)
    return _now(summary, attempt, driver)


def _now(summary: Summary, attempt: str, driver: int | None) -> Summary:
    """The summary with what is true only now."""
    is_answered = summary.status == "waiting" and driver is None and run_folders.has_answer(attempt)
    goes_on = _outlived(attempt, summary.status, driver)
    return summary._replace(driver=driver, goes_on=goes_on, is_answered=is_answered)


def _take(state: RunState, records: list[dict[str, Any]], attempt: str) -> None:
    try:
        for record in records:
            for event in record["events"]:
                state.take(event["type"], event, event["t"])
    except (KeyError, TypeError, AttributeError) as error:
        raise StateError(f"the journal in `{attempt}` cannot be read: {error!r}", run_folders.WAY_OUT) from error


def _outlived(attempt: str, status: str, driver: int | None) -> bool:
    """True if no process drives the run, but a program of it still runs, or the run was made a moment ago."""
    if status != "running" or driver is not None:
        return False
    if run_folders.has_program(attempt):
        return True
    begun = _time_of(os.path.join(attempt, run_folders.ABOUT))
    return time.time() - begun / 1e9 < PATIENCE and not run_folders.has_events(attempt)


def store_summary(folder: str, ledger: Ledger, about: str | None) -> None:
    """Write the summary of a run after its driver closed the journal. If this fails, the next list is slower.

    `about` is the request of its attempt, if the caller knows it.
    """
    if not ledger.records or ledger.state.status == "running":
        return
    try:
        about = about if about is not None else run_folders.read_about(ledger.attempt)
        summary = summarize("", about, ledger.state, run_folders.number_of(ledger.attempt), None)
    except StateError:
        return
    _write(folder, summary._replace(created=run_folders.created_at(folder)), mark_of(ledger.attempt), ledger.end)


def mark_of(attempt: str) -> list[int]:
    """Identifies the content of an attempt: its number, and the size and time of its journal and its request."""
    mark = [run_folders.number_of(attempt)]
    for name in (run_folders.JOURNAL, run_folders.ABOUT):
        mark += files.size_and_time(os.path.join(attempt, name))
    return mark


def _stored(folder: str, id_: str, mark: list[int]) -> Summary | None:
    """The stored summary if it covers the journal with this mark, else None."""
    data = run_folders.stored_summary(folder)
    if data is None or data.get("format") != FORMAT or data["mark"] != mark:
        return None
    if not _is(data["run"], _SHAPE):
        return None
    try:
        return Summary(id_, driver=None, **data["run"])
    except TypeError:
        return None


_NUMBER, _TEXT = (float, int, None), (str, None)
_GLANCE = {
    **dict.fromkeys(("doing", "who", "code", "rejected", "path"), _TEXT),
    "place": [str],
    "modes": [str],
    "usage": dict,
    "done": int,
    "total": (int, None),
    "last": _NUMBER,
    "round": ([int], None),
    "need": ({"count": int, "id": str, "path": str, "kind": str, "title": str, "since": _NUMBER}, None),
    "delay": ({"path": str, "until": (float, int), "reason": str}, None),
}
_SHAPE = {
    **dict.fromkeys(("flow", "status", "why", "given"), str),
    **dict.fromkeys(("created", "seconds", "started", "ended"), _NUMBER),
    "attempt": int,
    "reason": _TEXT,
    "error": _TEXT,
    "is_least": bool,
    "glance": (_GLANCE, None),
    "questions": ([{"question": str, "path": str, "title": _TEXT}], None),
}
"""What a stored summary looks like. A list must not fail because of one with other types."""


def _is(value: Any, kind: Any) -> bool:
    """True if a value is of a kind: a type, None, a list of a kind, an object with such fields, or one of several."""
    if isinstance(kind, tuple):
        return any(_is(value, one) for one in kind)
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is(item, kind[0]) for item in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(_is(value.get(name), one) for name, one in kind.items())
    return value is None if kind is None else isinstance(value, kind)


def _write(folder: str, summary: Summary, mark: list[int], end: int) -> None:
    """Store a summary. `end` is where the records of its attempt end: a journal that is shorter later has lost some.

    Of a run that was killed, nothing is said: its last records may not be on disk.
    """
    row = {name: value for name, value in summary._asdict().items() if name not in _NOW}
    known = {"mark": mark, "end": 0 if summary.status == "running" else end}
    data = jsonlite.encode_line({"format": FORMAT, "id": os.path.basename(folder), **known, "run": row})
    with contextlib.suppress(OSError):
        files.write_whole(os.path.join(folder, run_folders.SUMMARY), data, durable=False)


class RunsWatch:
    """The summary of each run, by id. `refresh` brings them up to date."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.runs: dict[str, Summary] = {}
        self._followed: dict[str, _FollowedRun] = {}
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
            known, summary = self.runs[id_], followed.look(probes=probes)
            if summary is None:
                self._locks[id_] = _time_of(os.path.join(self.folder, id_, run_folders.LOCK))
                self._open(id_)
            else:
                self.runs[id_] = summary
            has_changed |= self.runs[id_] != known
        return has_changed

    def _look_at_all(self) -> bool:
        names = set(run_folders.run_names(self.folder, self.runs))
        gone = self.runs.keys() - names
        for id_ in gone:
            self.runs.pop(id_)
            self._followed.pop(id_, None)
        looked = [self._look(id_) for id_ in names if id_ not in self._followed]
        return any(looked) or bool(gone)

    def _look(self, id_: str) -> bool:
        """Look at a run that no process drove. Reads its summary only if that may have changed."""
        lock, known = _time_of(os.path.join(self.folder, id_, run_folders.LOCK)), self.runs.get(id_)
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
            self._followed[id_] = _FollowedRun(home, summary)
        except StateError as error:
            self.runs[id_] = summary._replace(status="damaged", why=error.message)


class _FollowedRun:
    """A run that goes on. Its journal is read from where it was read last."""

    def __init__(self, home: str, summary: Summary) -> None:
        attempts = run_folders.attempt_folders(home)
        if not attempts:
            raise StateError(f"the run in `{home}` was removed")
        self.home = home
        self.attempt = attempts[-1]
        self.summary = summary
        self.path = os.path.join(self.attempt, run_folders.JOURNAL)
        self.shape = shape_in(run_folders.read_about(self.attempt))
        self.state, self.offset = RunState(), 0
        self.follower = run_folders.JournalFollower()
        self._read()

    @property
    def has_news(self) -> bool:
        """True if the journal may have changed since it was read. One `stat`."""
        return self.follower.has_news(self.path, self.offset)

    def look(self, *, probes: bool) -> Summary | None:
        """The summary of the run now; None if something new begins, such as an end or a restart.

        `probes`: find out whether a process still drives the run, even if nothing was recorded.
        """
        try:
            if not self._read() and not probes:
                return self.summary
            driver = run_folders.holder(self.home)
            goes_on = _outlived(self.attempt, self.state.status, driver)
            if (driver is None and not goes_on) or run_folders.attempt_folders(self.home)[-1:] != [self.attempt]:
                return None
        except StateError:
            return None
        heard, old_last = run_folders.heard_at(self.attempt), (self.summary.glance or {}).get("last") or 0.0
        heard = max(old_last, heard if heard is not None and heard - old_last > COARSE else 0.0)
        self.summary = with_state(self.summary._replace(driver=driver, goes_on=goes_on), self.state, self.shape, heard)
        return self.summary

    def _read(self) -> bool:
        """Read what was recorded since the last call. True if there was something."""
        records, self.offset = self.follower.read_behind(self.path, self.offset)
        _take(self.state, records, self.attempt)
        return bool(records)


def _time_of(path: str) -> int:
    """When a file or folder changed, in nanoseconds; 0 if it does not exist."""
    return files.size_and_time(path)[1]
