"""Follows topics while somebody watches them. Many watchers of a topic share one reading of its journal."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

from handrail.errors import HandrailError
from handrail.live.tail import seq_of, with_tail
from handrail.topics.rows import Message, Rows

LOOK_AGAIN = 0.2
"""In seconds: how often a watched topic is looked at. So a watcher gets at most five messages a second."""
SELDOM, SLOWER = 1.5, 1.05
"""A topic in which nothing happens is looked at less and less often, but at least every 1.5 seconds."""

Found = TypeVar("Found")


class Topic(Protocol):
    @property
    def rows(self) -> Rows: ...


class Live(Protocol):
    """A topic that can be brought up to date. `refresh` may read much, so it is called in a thread; `is_stale` not."""

    @property
    def topic(self) -> Topic: ...

    def is_stale(self) -> bool: ...

    def refresh(self) -> None: ...

    def messages(self, epoch: str, base: int, now: float) -> Iterator[Message]: ...


class Watched:
    """A topic with watchers. `error` is why it cannot be read any more."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.watchers = 0
        self.error: HandrailError | None = None
        self._changed = asyncio.Event()
        self._rows = threading.Lock()  # held while rows are changed or read, which happens in threads

    def _refresh(self) -> None:
        with self._rows:
            self.live.refresh()

    async def messages(self, epoch: str, base: int, now: float, tail: int = 0) -> tuple[list[Message], tuple[str, int]]:
        """The messages for a receiver that has these rows and the lines up to `tail`, and where it is after them."""

        def made() -> tuple[list[Message], tuple[str, int]]:
            with self._rows:
                return with_tail(self.live, list(self.live.messages(epoch, base, now)), epoch, tail), self.place

        return await asyncio.to_thread(made)

    async def read(self, look: Callable[[Live], Found]) -> Found:
        """What a look at the topic finds, while nobody changes it."""

        def made() -> Found:
            with self._rows:
                return look(self.live)

        return await asyncio.to_thread(made)

    @property
    def place(self) -> tuple[str, int]:
        rows = self.live.topic.rows
        return rows.epoch, rows.seq

    @property
    def tail(self) -> int:
        """The number of the last line of the tail; 0 if there is none."""
        return seq_of(self.live)

    def wake(self) -> None:
        """Wake all who wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self, seconds: float) -> None:
        """Wait for a change, at most so long."""
        changed = self._changed
        try:
            await asyncio.wait_for(changed.wait(), seconds)
        except TimeoutError:
            return

    async def follow(self) -> None:
        """Look for changes until this is cancelled, or until the topic cannot be read."""
        pause, known = LOOK_AGAIN, self._state
        while self.error is None:
            await asyncio.sleep(pause - time.monotonic() % pause)  # all topics at the same moment: fewer wake-ups
            pause = min(pause * SLOWER, SELDOM)
            try:
                if not self.live.is_stale():
                    continue
                await asyncio.to_thread(self._refresh)
            except HandrailError as error:
                self.error = error
            if self._state != known or self.error is not None:
                pause, known = LOOK_AGAIN, self._state
                self.wake()

    @property
    def _state(self) -> tuple[object, ...]:
        """What a watcher wants to know: rows, lines, and which process drives the run."""
        return self.place, self.tail, getattr(self.live, "driver", None)


class Hub:
    """All topics that are watched now. `open_topic` makes a topic by its name; it raises `HandrailError`."""

    def __init__(self, open_topic: Callable[[str], Live]) -> None:
        self._open = open_topic
        self._watched: dict[str, Watched] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._lock = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        return list(self._watched)

    @asynccontextmanager
    async def watching(self, name: str) -> AsyncIterator[Watched]:
        """Watch a topic. It is opened for the first watcher and closed after the last one."""
        async with self._lock:
            if name not in self._watched:
                live = await asyncio.to_thread(self._open, name)
                self._watched[name] = Watched(live)
                self._tasks[name] = asyncio.create_task(self._watched[name].follow())
            watched = self._watched[name]
            watched.watchers += 1
        try:
            yield watched
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                self._watched.pop(name, None)
                self._tasks.pop(name).cancel()
