"""The embedded engine: runs in folders on this machine, without a server. Implements `Engine`.

Each run has a folder with an append-only journal and a lock. The system releases the lock when its process ends. Only
this package reads and writes the files in that folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handrail.contracts import Attempt, Durable, History, Life, Observer, Outside, Record, Site
from handrail.errors import RefusedError, StateError
from handrail.project import file_name
from handrail.runs import machine
from handrail.runs.embedded import lease, summary
from handrail.runs.embedded.attempts import (
    WAY_OUT,
    attempts,
    following,
    is_headless,
    number_of,
    offset_at,
    position_of,
    read_about,
    run_ids,
    write_about,
)
from handrail.runs.embedded.driver import LOCK, holder
from handrail.runs.embedded.durable import DurableRun
from handrail.runs.embedded.follow import Follower, read_all
from handrail.runs.embedded.inbox import Inbox
from handrail.runs.embedded.ledger import JOURNAL, Ledger
from handrail.runs.embedded.litter import Litter
from handrail.runs.embedded.payloads import Payloads
from handrail.runs.life import INTERRUPTED, STOPPED, play_to_end
from handrail.runs.machine import Event
from handrail.runs.summary import Summary
from handrail.secrets import Redactor
from handrail.state import files, locks
from handrail.state.aside import put_aside
from handrail.state.private import refuse_shared
from handrail.state.removal import remove_folder

LOOK_AGAIN = 0.1
PATIENCE = 10.0
PREPARED = "aside"
"""The file that marks an attempt as prepared."""


def open_engine(site: Site) -> Embedded:
    return Embedded(site)


class Embedded:
    """The runs of one project, on disk."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.folder = os.path.join(site.state, "runs", file_name(site.project))
        self._follower = Follower()

    def ids(self) -> list[str]:
        return run_ids(self.folder)

    def attempt(self, run: str) -> str:
        """The folder of a run's current attempt."""
        home = self._home(run)
        found = attempts(home)
        if not found and is_headless(home):
            raise StateError(f"the request of the run in `{home}` is missing", WAY_OUT)
        if not found:
            raise KeyError(run)
        return found[-1]

    def _home(self, run: str) -> str:
        return os.path.join(self.folder, file_name(run))

    def summaries(self) -> list[Summary]:
        return summary.summaries(self.folder)

    def begin(self, run: str, about: str) -> History:
        refuse_shared(self.site.state, self.folder)
        write_about(os.path.join(self._home(run), "1"), about)
        return History(records=[], offset=0)

    def load(self, run: str) -> tuple[str, History]:
        attempt = self.attempt(run)
        about = read_about(attempt)
        records, end = read_all(os.path.join(attempt, JOURNAL))
        offset, driver = offset_at(attempt, end), self.driver(run)
        return about, History(records=records, offset=offset, attempt=number_of(attempt), driver=driver)

    def events(self, run: str, offset: int) -> tuple[list[Record], int]:
        attempt = self.attempt(run)
        records, end = self._follower.read_behind(os.path.join(attempt, JOURNAL), position_of(attempt, offset))
        return records, offset_at(attempt, end)

    def payload(self, run: str, digest: str) -> Any:
        return Payloads(self.attempt(run)).read(digest)

    def driver(self, run: str) -> int | None:
        return holder(self._home(run))

    def log(self, run: str) -> str:
        return os.path.join(self.attempt(run), "driver.log")

    def remove(self, run: str, *, aside: bool) -> bool:
        home = self._home(run)
        handle = locks.acquire(os.path.join(home, LOCK))
        if handle is None:
            return False
        try:
            if aside:
                put_aside(home, self.site.state)
            else:
                remove_folder(home)
        finally:
            os.close(handle)
        return True

    @contextlib.asynccontextmanager
    async def _held(self, run: str, observer: Observer | None = None) -> AsyncIterator[Ledger]:
        """Acquire the run's lock, then read its journal and open it for writing."""
        async with lease.held(self._home(run)):
            ledger = Ledger(self.attempt(run), self.site.clock, Redactor(self.site.env), observer)
            ledger.read()
            try:
                yield ledger
            finally:
                ledger.close()
                summary.store(self._home(run), ledger)

    async def drive(self, run: str, life: Life, outside: Outside) -> History:
        async with self._held(run, outside.observer) as ledger:
            events = life.begin(ledger.history)
            if life.needs_preparation:
                _prepare(ledger.attempt, life)
            for event in events:
                ledger.record(event, durable=_is_rewind(event))
            litter = Litter(ledger.attempt)
            litter.remove()
            outside = replace(outside, context=replace(outside.context, litter=litter.add))
            durable, inbox = DurableRun(ledger, self.site.clock, outside), Inbox(ledger.attempt)
            inbox.clear_stop()
            has_answer = lambda: any(map(inbox.holds, ledger.memory.state.questions))  # noqa: E731 - one line
            try:
                ledger.record(await play_to_end(lambda: life.play(durable), inbox.is_stop_requested, has_answer))
            except asyncio.CancelledError:
                ledger.record(INTERRUPTED)
                raise
            litter.remove()
        return ledger.history

    async def answer(self, run: str, path: str, values: Mapping[str, Any]) -> bool:
        inbox = Inbox(self.attempt(run))
        inbox.put(path, values)
        end = time.monotonic() + PATIENCE
        while self.driver(run) is not None and time.monotonic() < end:
            if not inbox.holds(path):
                return False
            await asyncio.sleep(LOOK_AGAIN)
        return self.driver(run) is None

    async def stop(self, run: str, opening: Sequence[Event]) -> History:
        Inbox(self.attempt(run)).request_stop()
        end = time.monotonic() + PATIENCE
        while self.driver(run) is not None:
            if time.monotonic() > end:
                raise RefusedError(f"run `{run}` has not ended yet", "wait for its current step, then try again")
            await asyncio.sleep(LOOK_AGAIN)
        async with self._held(run) as ledger:
            for event in opening if not ledger.records else ():
                ledger.record(event, durable=False)
            await lease.Programs(ledger.attempt).end(run)
            Litter(ledger.attempt).remove()
            if ledger.memory.state.status != "cancelled":
                ledger.record(STOPPED)
            Inbox(ledger.attempt).clear_stop()
        return ledger.history

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        async with self._held(run) as ledger:
            ledger.is_reading = True  # no node may run and no event may be recorded
            reading = DurableRun(ledger, self.site.clock, replace(outside, nodes={}))
            attempt = await make(ledger.history, reading)
            folder = following(ledger.attempt)
            seeded = self._seed(folder, attempt.events)
            write_about(folder, attempt.about)
        return seeded

    def _seed(self, folder: str, events: list[Event]) -> History:
        """Write these events to the journal of a new attempt."""
        path = os.path.join(folder, JOURNAL)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # left by a restart that was interrupted
        ledger = Ledger(folder, self.site.clock, Redactor({}))
        if not events:
            return ledger.history
        os.makedirs(folder, mode=0o700, exist_ok=True)
        payloads = Payloads(folder)
        for event in events:
            ledger.record(_stored(event, payloads), durable=False)
        ledger.recorder.flush(durable=True)
        ledger.close()
        return ledger.history


def _stored(event: Event, payloads: Payloads) -> Event:
    """The event. A large value is moved to a file, and the event holds its digest."""
    if not isinstance(event, machine.NodeFinished):
        return event
    kept = payloads.keep(event.value)
    return replace(event, value=kept.value, payload=kept.payload)


def _prepare(attempt: str, life: Life) -> None:
    done = os.path.join(attempt, PREPARED)
    if not os.path.exists(done):
        life.prepare()
        files.replace(done, b"", durable=True)


def _is_rewind(event: Event) -> bool:
    """True if the event makes finished phases run again. It has to be on disk before they start."""
    return isinstance(event, machine.RunResumed) and bool(event.rewound)
