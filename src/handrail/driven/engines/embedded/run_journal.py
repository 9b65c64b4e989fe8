"""The journal of a run: its events are read, added and followed. Large values are in files beside it.

A driver holds the run's lock and has all events in `records`, so it does not read the journal again. One record may
hold several events, in order. An event that is not durable waits for the next durable one, at most `SOON` seconds; a
crash can lose only such events, and they are recorded again. Other processes may read the journal at the same time: if
nothing was written, a second read costs one `stat`.

The file of a large value is named after its digest. It has the value in its first line. A second line has the texts of
numbers like `1.10`, if there are any.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable
from typing import Any

from handrail.base import files, journal, jsonlite
from handrail.base.errors import StateError
from handrail.base.files import make_private, sync_folder
from handrail.base.journal import without_collector
from handrail.driven.engines.embedded.run_folders import JOURNAL, WAY_OUT, number_of, offset_at, read_journal
from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import Event, event_to_json, stored_event
from handrail.driven.runs.state import RunState, fold
from handrail.extensions.contracts import EventRecord, History, LastingError, Observer
from handrail.settings.secrets import Secrets
from handrail.source.values import restore, texts_in


def not_json(error: Exception) -> str:
    """Why a value is not JSON, in plain words."""
    if isinstance(error, ValueError) and "float" in str(error):
        return "it holds a number that JSON does not have, such as infinity"
    return str(error)


def as_json(value: Any) -> str:
    """The params or the form of a step as JSON. Raises `NodeError` for a value that is not JSON, such as infinity."""
    try:
        return jsonlite.dumps(value)
    except (ValueError, TypeError) as error:
        raise LastingError("params", f"its params cannot be stored: {not_json(error)}") from error


def digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


LARGE = 8192
SHORT = 1024
"""What a node was given stays in the journal up to this length: nobody needs it to continue the run."""


class Payloads:
    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, "payloads")

    def keep(self, value: Any, text: str | None = None, *, least: int = LARGE) -> tuple[Any, str | None]:
        """The value and None; or None and its digest, if its text is longer than `least` and is now in a file.

        `text` is the value as JSON, if the caller already has it.
        """
        text = jsonlite.dumps(value) if text is None else text
        if len(text) <= least:
            return value, None
        if texts := texts_in(value):
            text = f"{text}\n{jsonlite.dumps(texts)}"
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        path = os.path.join(self.folder, digest)
        if not os.path.exists(path):
            make_private(self.folder)
            files.replace(path, data, durable=True)
        return None, digest

    def read(self, digest: str) -> Any:
        path = os.path.join(self.folder, digest)
        run = os.path.basename(os.path.dirname(os.path.dirname(self.folder)))
        hint = f"`handrail restart {run}` does all its work again; its files so far are kept"
        try:
            data = files.read_regular(path)
        except OSError as error:
            raise StateError(f"a result of this run cannot be read: `{path}`: {error.strerror}", hint) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise StateError(f"a result of this run is damaged: `{path}`", hint)
        text, _, texts = data.decode("utf-8", "surrogatepass").partition("\n")
        return restore(jsonlite.loads(text), jsonlite.loads(texts) if texts else {})


SOON = 0.05
ROOM = 1 << 16


class Ledger:
    """One attempt's journal, open for reading and writing. The caller holds the run's lock.

    `waiting` are events that are not written yet, `number` and `end` where the next record begins. With `is_reading`,
    nothing is recorded.
    """

    def __init__(
        self, attempt: str, clock: Callable[[], float], secrets: Secrets, observer: Observer | None = None
    ) -> None:
        self.attempt = attempt
        self.path = f"{attempt}/{JOURNAL}"
        self.clock = clock
        self.secrets = secrets
        self.observer = observer
        self.listener: Observer | None = None
        self.state = RunState()
        self.records: list[EventRecord] = []
        self.is_reading = False
        self.waiting: list[dict[str, Any]] = []
        self.number = self.end = 0
        self._handle: int | None = None
        self._file: tuple[int, int] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_clean = False
        self._room = 0

    @property
    def history(self) -> History:
        offset, number = offset_at(self.attempt, self.end), number_of(self.attempt)
        return History(records=self.records, offset=offset, attempt=number, state=self.state)

    def read(self) -> None:
        with without_collector():
            scan = read_journal(self.attempt)
            self.records = events_of(scan.records, self.path)
            self.state = fold(self.records)
        self.number, self.end = len(scan.records), scan.end

    def record(self, event: Event, *, durable: bool = True) -> None:
        """Add an event, without the values of secrets. With `durable` it is on disk when this returns."""
        self.record_stored(stored_event(event, self.secrets), durable=durable)

    def record_stored(self, event: Event, *, durable: bool = True) -> None:
        """Add an event that is already in its stored form."""
        if self.is_reading:
            return
        data = event_to_json(event)
        data["t"] = at = int(self.clock() * 1000) / 1000
        self.waiting.append(data)
        if durable:
            self.flush(durable=True)
        elif self._timer is None:
            with contextlib.suppress(RuntimeError):  # without an event loop it is written by `close`
                self._timer = asyncio.get_running_loop().call_later(SOON, self._flush_later)
        self.state.take(data["type"], vars(event), at)
        self.records.append((at, event))
        for observe in (self.listener, self.observer):
            if observe is not None:
                observe(event)

    def note(self, event: Event) -> None:
        """Add an event that only informs people. It is added once, even if the run was resumed."""
        event = stored_event(event, self.secrets)
        if self.state.is_news(event):
            self.record_stored(event, durable=False)

    def start(self, event: run_events.NodeStarted, *, durable: bool) -> None:
        """Add the start of a node, which is already in its stored form."""
        try:
            self.record_stored(event, durable=durable)
        except StateError:  # the node does not start, so the journal must not say that it did
            self.waiting.pop()
            raise

    def flush(self, *, durable: bool = False) -> None:
        if not self.waiting:
            return
        line = jsonlite.encode_line({"n": self.number, "events": self.waiting})
        try:
            handle = self._open()
            if self._is_clean and self.end + len(line) > self._room:
                self._room = journal.preallocate(handle, self.end, max(ROOM, len(line)))
            journal.write_line(handle, self.path, self.end, line, durable=durable, is_clean=self._is_clean)
            self._is_clean = True
        except OSError as error:
            self._is_clean, self._room = False, 0
            raise journal.write_error(self.path, error) from error
        self.waiting = []
        self.number, self.end = self.number + 1, self.end + len(line)

    def _open(self) -> int:
        """The descriptor of the journal. Raises `JournalDamaged` if the file was removed or replaced since."""
        found = files.identity(self.path)
        if self._handle is None and (found is not None or not self.number):
            self._handle = journal.open_for_writing(self.path)
            if found is None:
                sync_folder(self.attempt)
            found = self._file = files.identity(self.path)
        if self._handle is None or found != self._file:
            what = f"removed or replaced while process {os.getpid()} was driving the run"
            raise journal.JournalDamaged(f"the journal `{self.path}` was {what}", WAY_OUT)
        return self._handle

    def _flush_later(self) -> None:
        """Write what waits. If this fails, the next durable event retries it, and its caller gets the error."""
        self._timer = None
        with contextlib.suppress(StateError):
            self.flush()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            self.flush()
        finally:
            if self._handle is not None:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._handle, self.end)
                os.close(self._handle)
                self._handle = None


def events_of(records: list[dict[str, Any]], path: str) -> list[EventRecord]:
    """The events of these journal records, each with its time."""
    try:
        return [(data["t"], run_events.event_from_json(data)) for record in records for data in record["events"]]
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"the journal `{path}` cannot be read: {error}", WAY_OUT) from error


def read_all(path: str, *, may_be_damaged: bool = False) -> tuple[list[EventRecord], int]:
    """All events of a journal, and the offset of its end. Raises `StateError` if it is damaged in the middle."""
    with without_collector():
        scan = read_journal(os.path.dirname(path), may_be_damaged=may_be_damaged)
        return events_of(scan.records, path), scan.end
