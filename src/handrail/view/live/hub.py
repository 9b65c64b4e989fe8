"""Opens topics by name and follows them while somebody watches. Many watchers of a topic share one reading.

Names: `home`, `catalog`, `run:ID`, `session:ID`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from handrail.app import App
from handrail.base.errors import HandrailError, StateError, UsageError
from handrail.source.suggestions import did_you_mean
from handrail.view.live.run import LiveRun, seq_of, with_tail
from handrail.view.rows.rows import RowMessage, Rows

LOOK_AGAIN = 0.2
"""In seconds: how often a watched topic is looked at. So a watcher gets at most five messages a second."""
SELDOM, SLOWER = 1.5, 1.05
"""A topic in which nothing happens is looked at less and less often, but at least every 1.5 seconds."""
KEPT_SECONDS, MOST_KEPT = 60.0, 8
"""How long, and how many, topics are kept that nobody watches."""
T = TypeVar("T")


class Topic(Protocol):
    @property
    def rows(self) -> Rows: ...


class LiveTopic(Protocol):
    """A topic that can be brought up to date. `refresh` may read much, so it is called in a thread; `is_stale` not."""

    @property
    def topic(self) -> Topic: ...

    def is_stale(self) -> bool: ...

    def refresh(self) -> None: ...

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]: ...


class WatchedTopic:
    """A topic with watchers. `error` is why it cannot be read any more: `check` raises it."""

    def __init__(self, live: LiveTopic) -> None:
        self.live = live
        self.watchers = 0
        self.error: Exception | None = None
        self._change_event = asyncio.Event()
        self._rows = threading.Lock()  # held while rows are changed or read, which happens in threads

    def refresh(self) -> None:
        """Bring the rows up to date. May take long."""
        with self._rows:
            self.live.refresh()

    async def messages(
        self, epoch: str, base: int, now: float, tail: int = 0
    ) -> tuple[list[RowMessage], tuple[str, int]]:
        """The messages for a receiver that has these rows and the lines up to `tail`, and where it is after them."""
        return await self.read(
            lambda live: (with_tail(live, list(live.messages(epoch, base, now)), epoch, tail), self.place)
        )

    async def read(self, look: Callable[[LiveTopic], T]) -> T:
        """The result of `look`, while no other thread changes the topic."""

        def look_locked() -> T:
            with self._rows:
                return look(self.live)

        return await asyncio.to_thread(look_locked)

    @property
    def place(self) -> tuple[str, int]:
        rows = self.live.topic.rows
        return rows.epoch, rows.seq

    @property
    def tail(self) -> int:
        """The number of the last line of the tail; 0 if there is none."""
        return seq_of(self.live)

    def check(self) -> None:
        """Raise what keeps the topic from being read: `HandrailError`, or a bug."""
        if self.error is not None:
            raise self.error

    def wake(self) -> None:
        self._change_event.set()
        self._change_event = asyncio.Event()

    async def change(self, seconds: float) -> None:
        """Wait for a change, at most so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._change_event.wait(), seconds)

    async def follow(self) -> None:
        """Look for changes until this is cancelled, or until the topic cannot be read."""
        pause, old_state = LOOK_AGAIN, self._state
        while self.error is None:
            await asyncio.sleep(pause - time.monotonic() % pause)  # all topics at the same moment: fewer wake-ups
            pause = min(pause * SLOWER, SELDOM)
            try:
                if not self.live.is_stale():
                    continue
                await asyncio.to_thread(self.refresh)
            except OSError as error:
                self.error = StateError(f"the state folder cannot be read: {error.strerror or error}")
            except Exception as error:  # noqa: BLE001  # whoever watches raises it: a task that ends says nothing
                self.error = error
            if self._state != old_state or self.error is not None:
                pause, old_state = LOOK_AGAIN, self._state
                self.wake()

    @property
    def _state(self) -> tuple[object, ...]:
        """What a watcher wants to know: rows, lines, and which process drives the run."""
        return self.place, self.tail, getattr(self.live, "live", None)


class Hub:
    """All topics that are watched now. `open_topic` makes a topic by its name; it raises `HandrailError`.

    A topic that nobody watches any more is kept for a while, without looking for changes: a page asks for what there
    is, and then for a stream, and it may be loaded again.
    """

    def __init__(self, open_topic: Callable[[str], LiveTopic]) -> None:
        self._open_topic = open_topic
        self._topics: dict[str, WatchedTopic] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._idle_topics: dict[str, WatchedTopic] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def names(self) -> list[str]:
        return list(self._topics)

    @asynccontextmanager
    async def watching(self, name: str) -> AsyncIterator[WatchedTopic]:
        """Watch a topic. It is opened for the first watcher, and followed until the last one leaves."""
        topic = await self._enter(name)
        try:
            yield topic
        finally:
            topic.watchers -= 1
            if not topic.watchers:
                self._leave(name, topic)

    async def _enter(self, name: str) -> WatchedTopic:
        """A topic with one more watcher. Opening a topic does not block other topics."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            if name not in self._topics:
                topic = await self._reopen(name) or WatchedTopic(await asyncio.to_thread(self._open_topic, name))
                self._topics[name] = topic
                self._tasks[name] = asyncio.create_task(topic.follow())
            self._topics[name].watchers += 1
            return self._topics[name]

    async def _reopen(self, name: str) -> WatchedTopic | None:
        """A topic that was watched before, refreshed. None if there is none, or if it cannot be read any more."""
        topic = self._idle_topics.pop(name, None)
        try:
            if topic is not None:
                await asyncio.to_thread(topic.refresh)
        except HandrailError:
            return None
        return topic

    def _leave(self, name: str, topic: WatchedTopic) -> None:
        self._topics.pop(name, None)
        self._tasks.pop(name).cancel()
        if topic.error is not None:
            return
        self._idle_topics[name] = topic
        if len(self._idle_topics) > MOST_KEPT:
            self._idle_topics.pop(next(iter(self._idle_topics)))
        asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, name, topic)

    def _forget(self, name: str, topic: WatchedTopic) -> None:
        if self._idle_topics.get(name) is topic:
            del self._idle_topics[name]


HOME, CATALOG = "home", "catalog"
TOPIC_KINDS = ("run", "session")


def open_topic(app: App, name: str) -> LiveTopic:
    """The topic with this name. Raises `UsageError` for a name without such a form, `NotFound` if there is none.

    The module of a topic is imported when somebody opens it: `handrail view` opens only one.
    """
    kind, _, id_ = name.partition(":")
    if name == HOME:
        from handrail.view.live.home import LiveHome

        return LiveHome(app)
    if name == CATALOG:
        from handrail.view.live.catalog import LiveCatalog

        return LiveCatalog(app)
    if kind not in TOPIC_KINDS or not id_:
        hint = did_you_mean(kind, (*TOPIC_KINDS, HOME, CATALOG)) or "write `home`, `catalog`, `run:ID` or `session:ID`"
        raise UsageError(f"there is no topic `{name}`", hint)
    if kind == "run":
        return LiveRun(app.runs, app.runs.named(id_))
    from handrail.view.live.session import LiveSession

    return LiveSession(app.sessions.choose(id_), app.secrets.mask)
