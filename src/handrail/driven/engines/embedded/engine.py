"""The embedded engine: runs in folders on this machine, without a server. Implements `Engine`.

Each run has a folder with an append-only journal and a lock. The system releases the lock when its process ends. Only
this package reads and writes the files in that folder. Files that steps write into the project for a moment are on a
list (`Litter`): if the driver is killed, the next one removes them, and only those with our own names.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any

from handrail.base import files, journal
from handrail.base.dataclasses import replace
from handrail.base.errors import RefusedError, StateError
from handrail.base.files import open_private, put_aside, refuse_shared, remove_folder
from handrail.driven.engines.embedded import activity, process_locks, run_folders, run_list
from handrail.driven.engines.embedded.durable_run import DurableRun
from handrail.driven.engines.embedded.inbox import Inbox, Letter
from handrail.driven.engines.embedded.run_journal import Ledger, Payloads, events_of, read_all
from handrail.driven.runs import run_events
from handrail.driven.runs.life import STOPPED, play_to_end, stop_event
from handrail.driven.runs.run_events import Event, stored_event
from handrail.driven.runs.run_rules import due_at, open_question, refuse_unless_waiting, too_late_error
from handrail.driven.runs.state import RunState, fold
from handrail.driven.runs.summary import Summary
from handrail.extensions.contracts import Attempt, Durable, EventRecord, History, Life, Observer, Outside, Site
from handrail.extensions.contracts.node import LITTER
from handrail.settings.folders import file_name

LITTER_FILE = "litter"


class Litter:
    """The temporary files of one attempt."""

    def __init__(self, attempt: str) -> None:
        self.file = os.path.join(attempt, LITTER_FILE)

    def add(self, path: str) -> None:
        """Remember a file before it is created."""
        with contextlib.suppress(OSError), open(self.file, "ab", opener=open_private) as file:
            file.write(os.fsencode(path) + b"\0")

    def remove(self) -> None:
        """Remove the files that are left. Called while no step of the run is running."""
        try:
            paths = files.read_regular(self.file).split(b"\0")[:-1]
        except OSError:
            return
        for path in map(os.fsdecode, paths):
            if os.path.basename(path).startswith(LITTER) and not os.path.islink(path):
                files.remove(path)
        files.remove(self.file)


LOOK_AGAIN = 0.1
PATIENCE = 10.0
TOLD = "told-"
"""The start of the name of a file that marks what people were told."""


def open_engine(site: Site) -> Embedded:
    return Embedded(site)


class Embedded:
    """The runs of one project, on disk."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.folder = os.path.join(site.state, "runs", file_name(site.project))
        self.secrets = site.known_secrets
        self._follower = run_folders.JournalFollower()
        self._home = cache(lambda run: os.path.join(self.folder, file_name(run)))
        self._about = ("", "")  # the attempt that was opened last, and its request

    def ids(self) -> list[str]:
        return run_folders.run_ids(self.folder)

    def attempt(self, run: str) -> str:
        return self._attempts(run)[-1]

    def _attempts(self, run: str) -> list[str]:
        home = self._home(run)
        found = run_folders.attempt_folders(home)
        if not found and run_folders.lacks_request(home):
            raise StateError(f"the request of the run in `{home}` is missing", run_folders.WAY_OUT)
        if not found:
            raise run_folders.RunGone(home)
        return found

    def summaries(self) -> list[Summary]:
        return run_list.summaries(self.folder)

    def watch(self) -> run_list.RunsWatch:
        return run_list.RunsWatch(self.folder)

    def begin(self, run: str, about: str) -> History:
        refuse_shared(self.site.state, self.folder)
        run_folders.mark_project(self.folder, self.site.project)
        attempt = os.path.join(self._home(run), "1")
        run_folders.write_created(attempt, self.site.clock())
        run_folders.write_journal(attempt)
        run_folders.write_about(attempt, about)
        self._about = attempt, about
        return History(records=[], offset=0)

    def load(self, run: str, *, may_be_damaged: bool = False) -> tuple[str, History]:
        attempt = self.attempt(run)
        about = run_folders.read_about(attempt)
        self._about = attempt, about
        records, end = read_all(os.path.join(attempt, run_folders.JOURNAL), may_be_damaged=may_be_damaged)
        offset, driver = run_folders.offset_at(attempt, end), self.driver(run)
        return about, History(
            records=records,
            offset=offset,
            attempt=run_folders.number_of(attempt),
            driver=driver,
            is_answered=driver is None and run_folders.has_answer(attempt),
            heard=run_folders.heard_at(attempt),
        )

    def events(self, run: str, offset: int) -> tuple[list[EventRecord], int]:
        attempt = self.attempt(run)
        path = os.path.join(attempt, run_folders.JOURNAL)
        records, end = self._follower.read_behind(path, run_folders.position_of(attempt, offset))
        return events_of(records, path), run_folders.offset_at(attempt, end)

    def has(self, run: str, offset: int) -> bool:
        attempt = self.attempt(run)
        return journal.ends_at(os.path.join(attempt, run_folders.JOURNAL), run_folders.position_of(attempt, offset))

    def attempts(self, run: str) -> list[int]:
        return [run_folders.number_of(attempt) for attempt in self._attempts(run)]

    def records(self, run: str, attempt: int) -> list[EventRecord]:
        return read_all(os.path.join(self._home(run), str(attempt), run_folders.JOURNAL))[0]

    def payload(self, run: str, digest: str) -> Any:
        return Payloads(self.attempt(run)).read(digest)

    def driver(self, run: str) -> int | None:
        return run_folders.holder(self._home(run))

    def stamp(self, run: str) -> object:
        attempt = self.attempt(run)
        names = (run_folders.JOURNAL, run_folders.ACTIVITY)
        return attempt, *(files.size_and_time(os.path.join(attempt, name)) for name in names)

    def has_program(self, run: str) -> bool:
        return run_folders.has_program(self.attempt(run))

    def activity(self, run: str, since: Any, most: int | None = None) -> tuple[list[dict[str, Any]], Any]:
        return activity.read_activity(os.path.join(self.attempt(run), run_folders.ACTIVITY), since, most)

    def log(self, run: str) -> str:
        return os.path.join(self.attempt(run), "driver.log")

    def remove(self, run: str, *, aside: bool) -> bool:
        home = self._home(run)
        try:
            handle = process_locks.acquire_run(home)
        except run_folders.RunGone:
            return False  # another command was faster
        if handle is None:
            return False
        try:
            if aside:
                put_aside(home, self.site.state)
            else:
                for attempt in run_folders.attempt_folders(home):
                    Litter(attempt).remove()
                remove_folder(home)
        finally:
            os.close(handle)
        return True

    @contextlib.asynccontextmanager
    async def _held(self, run: str, observer: Observer | None = None) -> AsyncIterator[Ledger]:
        """Acquire the run's lock, then read its journal and open it for writing."""
        async with process_locks.run_locked(self._home(run)):
            ledger = Ledger(self.attempt(run), self.site.clock, self.secrets, observer)
            ledger.read()
            try:
                yield ledger
            finally:
                ledger.close()
                known, about = self._about
                run_list.store_summary(self._home(run), ledger, about if known == ledger.attempt else None)

    async def drive(self, run: str, life: Life, outside: Outside) -> History:
        async with self._held(run, outside.observer) as ledger:
            events = life.begin(ledger.history)
            if not any(step.starts for step in ledger.state.steps.values()):
                life.prepare()
            for event in events:
                # an event that makes finished phases run again has to be on disk before they start
                is_rewind = isinstance(event, run_events.RunResumed) and bool(event.rewound)
                ledger.record(_with_heard(event, ledger), durable=is_rewind)
            litter = Litter(ledger.attempt)
            litter.remove()
            outside = replace(outside, context=replace(outside.context, litter=litter.add))
            durable, inbox = DurableRun(ledger, self.site.clock, outside), Inbox(ledger.attempt, self.secrets)
            inbox.stop.take()
            inbox.look.take()  # this life looks at everything
            inbox.clear_closed(ledger.state.questions)
            has_news = lambda: inbox.has_news(ledger.state.questions)  # noqa: E731 - three words
            try:
                while True:
                    ended = await play_to_end(lambda: life.play(durable), inbox.stop.exists, has_news)
                    for text in inbox.take_notices():
                        ledger.note(run_events.Noticed("", text))
                    ledger.record(ended if ended is not STOPPED else stop_event(inbox.stop.take() or None))
                    if outside.is_attended or not await self._has_answer_in_time(ledger, inbox):
                        break
                    for event in life.begin(ledger.history):
                        ledger.record(event)
            except asyncio.CancelledError:
                ledger.record(stop_event(outside.ended_by() or None, "interrupted"))
                raise
            finally:
                durable.activity.close()
            litter.remove()
        return ledger.history

    async def _has_answer_in_time(self, ledger: Ledger, inbox: Inbox) -> bool:
        """Wait while a run that is parked has a question with a deadline. True once one has an answer or is due."""
        while ledger.state.status == "waiting" and not inbox.stop.exists():
            first = min((due_at(question) for question in ledger.state.questions.values()), default=math.inf)
            if inbox.has_news(ledger.state.questions) or self.site.clock() >= first:
                return True
            if first == math.inf:
                return False
            await asyncio.sleep(LOOK_AGAIN)
        return False

    async def answer(
        self, run: str, question: str, values: Mapping[str, Any], by: str | None, surface: str | None = None
    ) -> bool:
        attempt = self.attempt(run)
        inbox = Inbox(attempt, self.secrets)
        is_new = inbox.put(question, Letter(dict(values), by, self.site.clock(), surface))
        if not is_new and not inbox.is_same(question, values):
            message = f"question `{question}` of run `{run}` already has an answer, from another command"
            raise RefusedError(message, f"if no process uses it, `handrail resume {run}` does")
        try:
            # Another answer may have been recorded just before, or a stop. The file of an answer is gone only after the
            # journal has it.
            state = _state(attempt)
            open_question(run, state, question)
            refuse_unless_waiting(run, state, is_driven=self.driver(run) is not None)
        except RefusedError:
            inbox.clear(question)
            raise
        run_folders.announce(self._home(run))  # it is answered, also if nothing drives it
        await self._wait_for_driver(run, lambda: inbox.holds(question))
        if not inbox.holds(question) and (state := _state(attempt)).closed.get(question) != "answered":
            raise too_late_error(run, state, question)
        return inbox.holds(question) and self.driver(run) is None

    async def ask_again(self, run: str) -> bool:
        if self.driver(run) is None:
            return True
        look = Inbox(self.attempt(run), self.secrets).look
        look.put()
        await self._wait_for_driver(run, look.exists)
        return self.driver(run) is None and look.take() is not None

    async def stop(self, run: str, opening: Sequence[Event], by: str | None) -> History:
        Inbox(self.attempt(run), self.secrets).stop.put(by or "")
        await self._wait_for_driver(run, lambda: True)
        if self.driver(run) is not None:
            raise RefusedError(f"run `{run}` has not ended yet", "wait for its current step, then try again")
        async with self._held(run) as ledger:
            for event in opening if not ledger.records else ():
                ledger.record(event, durable=False)
            await process_locks.Programs(ledger.attempt).end(run)
            Litter(ledger.attempt).remove()
            if ledger.state.status != "cancelled":
                ledger.record(_with_heard(replace(stop_event(by), driven=False), ledger))
            Inbox(ledger.attempt, self.secrets).stop.take()
        return ledger.history

    async def _wait_for_driver(self, run: str, needs_more: Callable[[], bool]) -> None:
        """Wait until the driver has done what it was asked for or has ended, for some seconds."""
        end = time.monotonic() + PATIENCE
        while self.driver(run) is not None and time.monotonic() < end and needs_more():
            await asyncio.sleep(LOOK_AGAIN)

    async def notice(self, run: str, text: str) -> None:
        try:
            async with self._held(run) as ledger:
                if ledger.records:  # its first event has to be `RunStarted`
                    ledger.record(run_events.Noticed("", text))
        except RefusedError:
            Inbox(self.attempt(run), self.secrets).put_notice(text)

    def tell_once(self, run: str, what: str) -> bool:
        path = os.path.join(self.attempt(run), f"{TOLD}{file_name(what)}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, files.PRIVATE))
        except FileExistsError:
            return False
        except OSError as error:
            raise StateError(f"`{path}` cannot be written: {error.strerror}") from error
        return True

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        async with self._held(run) as ledger:
            ledger.is_reading = True  # no node may run and no event may be recorded
            reading = DurableRun(ledger, self.site.clock, replace(outside, nodes={}))
            attempt = await make(ledger.history, reading)
            Litter(ledger.attempt).remove()
            folder = run_folders.next_attempt(ledger.attempt)
            seeded = self._seed(folder, attempt.events)
            run_folders.write_about(folder, attempt.about)
        self._about = folder, attempt.about
        return seeded

    def _seed(self, folder: str, events: list[Event]) -> History:
        """Write these events to the journal of a new attempt."""
        path = os.path.join(folder, run_folders.JOURNAL)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # left by a restart that was interrupted
        ledger = Ledger(folder, self.site.clock, self.secrets)
        ledger.number, ledger.end = 1, run_folders.write_journal(folder)
        payloads = Payloads(folder)
        for event in events:
            stored = stored_event(event, self.secrets)
            if isinstance(stored, run_events.NodeFinished):
                value, payload = payloads.keep(stored.value)
                stored = replace(stored, value=value, payload=payload)
            ledger.record_stored(stored, durable=False)
        ledger.flush(durable=True)
        ledger.close()
        return ledger.history


def _state(attempt: str) -> RunState:
    records, _ = read_all(os.path.join(attempt, run_folders.JOURNAL))
    return fold(records)


def _with_heard(event: Event, ledger: Ledger) -> Event:
    """The event that follows a kill, with the time when a program of the run printed something last."""
    if ledger.state.clock.is_going and isinstance(event, run_events.RunResumed | run_events.RunEnded):
        return replace(event, heard=run_folders.heard_at(ledger.attempt))
    return event
