"""The journal of a run as its driver uses it: the events read from it, and the events added to it.

The caller holds the run's lock. `records` holds all events of the journal, so it does not have to be read again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handrail.contracts import History, Observer, Record
from handrail.errors import StateError
from handrail.process.collector import without_collector
from handrail.runs import machine
from handrail.runs.embedded.attempts import WAY_OUT, number_of, offset_at
from handrail.runs.embedded.recorder import Recorder
from handrail.runs.machine import Event
from handrail.runs.memory import Memory
from handrail.runs.stored import stored
from handrail.secrets.redaction import Secrets
from handrail.state import journal

JOURNAL = "journal"


class Ledger:
    """One attempt's journal, open for reading and writing."""

    def __init__(
        self, attempt: str, clock: Callable[[], float], secrets: Secrets, observer: Observer | None = None
    ) -> None:
        self.attempt = attempt
        self.path = f"{attempt}/{JOURNAL}"
        self.observer = observer
        self.listener: Observer | None = None
        self.memory = Memory()
        self.records: list[Record] = []
        self.secrets = secrets
        self.recorder = Recorder(self.path, clock)
        self.is_reading = False

    @property
    def history(self) -> History:
        return History(
            records=self.records, offset=offset_at(self.attempt, self.recorder.end), attempt=number_of(self.attempt)
        )

    def read(self) -> None:
        """Read the whole journal."""
        self.memory = Memory()
        with without_collector():
            scan = read_journal(self.path)
            self.records = events_of(scan.records, self.path)
            for _, event in self.records:
                self.memory.take(event)
        self.recorder.continue_from(len(scan.records), scan.end)

    def record(self, event: Event, *, durable: bool = True) -> None:
        """Add an event, without the values of secrets. With `durable` it is on disk when this returns."""
        self.record_stored(stored(event, self.secrets), durable=durable)

    def record_stored(self, event: Event, *, durable: bool = True) -> None:
        """Add an event that is already in its stored form."""
        if self.is_reading:
            return
        written = self.recorder.add(event, durable=durable)
        self.memory.take(event)
        self.records.append((written["t"], event))
        for told in (self.listener, self.observer):
            if told is not None:
                told(event)

    def note(self, event: Event) -> None:
        """Add an event that only informs people. It is added once, even if the run was resumed."""
        event = stored(event, self.secrets)
        if self.memory.is_news(event):
            self.record_stored(event, durable=False)

    def start(self, event: machine.NodeStarted, *, durable: bool) -> None:
        """Add the start of a node, which is already in its stored form."""
        try:
            self.record_stored(event, durable=durable)
        except StateError:  # the node does not start, so the journal must not say that it did
            self.recorder.drop_last()
            raise

    def close(self) -> None:
        self.recorder.close()


def read_journal(path: str, *, may_be_damaged: bool = False) -> journal.Scan:
    """The records of a run's journal. If it is damaged, the error says how to move the run away."""
    try:
        return journal.read(path, may_be_damaged=may_be_damaged)
    except StateError as error:
        raise type(error)(error.message, WAY_OUT) from error


def events_of(records: list[dict[str, Any]], path: str) -> list[Record]:
    """The events of these journal records, each with its time."""
    try:
        return [(data["t"], machine.event_from_json(data)) for record in records for data in record["events"]]
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"the journal `{path}` cannot be read: {error}", WAY_OUT) from error
