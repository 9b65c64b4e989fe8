"""What an engine implements: it stores runs of flows, and drives them so that finished work is never done twice.

The interpreter of flows uses `Durable` while a run is driven. `Runs` uses `Engine`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from handrail.contracts.check import Finding
from handrail.contracts.node import NodeContext, NodeKind, Work

Event = Any
"""An event of `handrail.runs.machine`, a higher layer than this module. An engine returns events as recorded."""
Record = tuple[float, Event]
"""When an event was recorded, in seconds since 1970, and the event."""
Asker = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Asks a person: (path of the step, form) → values; None if nobody answers now."""
Observer = Callable[[Event], None]


@dataclass(frozen=True)
class Done:
    """A finished phase or step. Only a phase, a skipped step and a step that ran a nested flow have no value."""

    status: Literal["done", "skipped"]
    value: Any = None
    has_value: bool = False
    stop: bool = False


@dataclass(frozen=True)
class Made:
    """A file that a step promised: its path, name and schema. `is_new` is True if the step created it."""

    path: str
    name: str | None
    schema: str | None
    required: bool
    is_new: bool = False


class Durable(Protocol):
    """All that the interpreter of flows knows about durability. Another engine implements exactly these methods.

    Paths identify steps by names, never by positions. Work is data, so that it can be done in another process. Running
    branches in parallel is a method, so that an engine can decide how to order them.
    """

    def note(self, event: Event) -> None: ...

    def done(self, path: str) -> Done | None: ...

    async def node(self, work: Work, retry: Any) -> Any: ...

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any: ...

    async def check(self, kind: str, params: Mapping[str, Any]) -> Finding: ...

    async def look(self, kind: str, subject: str) -> Any: ...

    async def publish(self, path: str, made: list[Made], inputs: list[str]) -> None: ...

    async def together(
        self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str
    ) -> list[Any]: ...

    async def pause(self, path: str, seconds: float) -> None: ...

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]: ...


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where Handrail works: the project, the folder of its own state, the environment and the clock."""

    project: str
    state: str
    env: Mapping[str, str]
    clock: Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class History:
    """What happened in the current attempt of a run. `offset` is its end: `Engine.events` continues there.

    `driver` is the id of the process that drives the run, 0 if the id is not known, None if there is no driver.
    """

    records: list[Record]
    offset: int
    attempt: int = 1
    driver: int | None = None


class Publishing(Protocol):
    """Publishes the files that steps made."""

    def shown(self, path: str) -> str: ...

    def publish(self, made: Made, step: str, inputs: list[str]) -> dict[str, Any] | None: ...


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What a run needs from outside: its nodes, their context, and who publishes, observes and answers."""

    nodes: Mapping[str, NodeKind]
    context: NodeContext
    publisher: Publishing | None = None
    observer: Observer | None = None
    asker: Asker | None = None


class Life(Protocol):
    """What a driver does with a run, from its current state to its next end."""

    @property
    def needs_preparation(self) -> bool: ...

    def begin(self, history: History) -> list[Event]:
        """The first events of this life. Raises `RefusedError` if the state of the run does not allow it."""
        ...

    def prepare(self) -> None:
        """Called once per attempt, before its first event is recorded. Called again if it was interrupted."""
        ...

    async def play(self, durable: Durable) -> Event:
        """Run the flow, and return the event that says how it ended. Raises `Waiting` if a person is needed."""
        ...


@dataclass(frozen=True)
class Attempt:
    """A new attempt of a run: its request, and the first events of its journal."""

    about: str
    events: list[Event]


class Engine(Protocol):
    """Stores the runs of one project and drives them. Each run has one driver at a time.

    `about` is the request of a run as text. An engine stores it and does not read it. A method that gets the id of a
    run that does not exist raises `LookupError`.
    """

    def ids(self) -> list[str]:
        """The ids of all runs, the oldest first."""
        ...

    def summaries(self) -> list[Any]:
        """A `runs.summary.Summary` of each run, the oldest first. A damaged run has one, too. Reads little."""
        ...

    def begin(self, run: str, about: str) -> History:
        """Store a new run. It is on disk when this returns."""
        ...

    def load(self, run: str) -> tuple[str, History]:
        """The request of a run, and its history."""
        ...

    def events(self, run: str, offset: int) -> tuple[list[Record], int]:
        """The events after an offset, and the offset for the next call. Cheap if there are none.

        0 is the start. An offset from before a restart counts as the start of the new attempt.
        """
        ...

    def payload(self, run: str, digest: str) -> Any:
        """A large value, by the digest in its event."""
        ...

    def driver(self, run: str) -> int | None: ...

    def log(self, run: str) -> str:
        """The file that gets the output of a driver in the background."""
        ...

    def remove(self, run: str, *, aside: bool) -> bool:
        """Remove a run, or with `aside` put its files aside. False if it has a driver."""
        ...

    async def drive(self, run: str, life: Life, outside: Outside) -> History:
        """Drive a run until it ends or waits for a person. Finished work is not done again."""
        ...

    async def answer(self, run: str, path: str, values: Mapping[str, Any]) -> bool:
        """Store an answer for the driver of a run. True if the run has no driver, so the caller has to drive it."""
        ...

    async def stop(self, run: str, opening: Sequence[Event]) -> History:
        """Stop a run and every process that it started. `opening` are its first events, if it has none yet."""
        ...

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        """Store a new attempt of a run. `make` gets the history so far, and a `Durable` that runs no node."""
        ...


class EngineKind(Protocol):
    """A module that provides an engine."""

    def open_engine(self, site: Site) -> Engine: ...
