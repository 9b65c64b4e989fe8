"""What an engine implements: it keeps runs of flows, and drives them so that finished work is never done twice.

`Durable` is what the interpreter of flows needs while a run is driven; `Engine` is what `Runs` needs of all runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from handrail.contracts.check import Finding
from handrail.contracts.node import NodeContext, NodeKind, Work

Event = Any
"""A fact of `handrail.runs.machine`, which lies above this module. An engine returns events as they were recorded."""
Record = tuple[float, Event]
"""When an event was recorded, in seconds since 1970, and the event."""
Asker = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Asks a person at once: (path of the step, form) → values; None if nobody answers now."""
Observer = Callable[[Event], None]


@dataclass(frozen=True)
class Done:
    """A phase or step that is finished. Only a step that ran another flow is done without a value of its own."""

    status: Literal["done", "skipped"]
    value: Any = None
    has_value: bool = False
    stop: bool = False


@dataclass(frozen=True)
class Made:
    """A file that a step promised: its path, its name, the schema of its content; `is_new` if the step created it."""

    path: str
    name: str | None
    schema: str | None
    required: bool
    is_new: bool = False


class Durable(Protocol):
    """All that the interpreter of flows knows of durability. Another engine implements these and no more.

    Paths name steps, never positions; work is data, so that it can be done elsewhere; running things at once is a
    verb, so that an engine can keep their order its own way.
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
    """Where Handrail works: the project, the folder of Handrail's own state, the environment, the clock."""

    project: str
    state: str
    env: Mapping[str, str]
    clock: Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class History:
    """What happened in the current attempt at a run. `offset` is where it ends: `Engine.events` continues there.

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
    """What a run needs of the world: the nodes it knows, their context, who publishes, who watches, who answers."""

    nodes: Mapping[str, NodeKind]
    context: NodeContext
    publisher: Publishing | None = None
    observer: Observer | None = None
    asker: Asker | None = None


class Life(Protocol):
    """What a driver does with a run, from where it stands to its next end."""

    @property
    def needs_preparation(self) -> bool: ...

    def begin(self, history: History) -> list[Event]:
        """The events that open this life. Raises if the run cannot begin or go on as it stands."""
        ...

    def prepare(self) -> None:
        """Called once per attempt, before its first event is recorded; again if it was interrupted."""
        ...

    async def play(self, durable: Durable) -> Event:
        """Run the flow to its end, and return the event that says how it ended. `Waiting` if a person is needed."""
        ...


@dataclass(frozen=True)
class Attempt:
    """A new attempt at a run: what it was asked to do, and the events that its journal begins with."""

    about: str
    events: list[Event]


class Engine(Protocol):
    """Keeps the runs of one project and drives them, one driver at a time for each.

    `about` is a text that says what a run was asked to do. An engine keeps it and does not look into it. Methods that
    name a run which does not exist raise `LookupError`.
    """

    def ids(self) -> list[str]:
        """Every run, the oldest first."""
        ...

    def begin(self, run: str, about: str) -> History:
        """Store what a new run needs. It is safe when this returns."""
        ...

    def load(self, run: str) -> tuple[str, History]:
        """What a run was asked to do, and what happened in it."""
        ...

    def events(self, run: str, offset: int) -> tuple[list[Record], int]:
        """What was recorded behind an offset, and the offset to ask with next. Cheap if nothing was.

        0 is the start. An offset from before a restart is the start of the new attempt.
        """
        ...

    def payload(self, run: str, digest: str) -> Any:
        """A large value, which its event only names by a digest."""
        ...

    def driver(self, run: str) -> int | None: ...

    def log(self, run: str) -> str:
        """The file that takes what a driver in the background prints."""
        ...

    async def drive(self, run: str, life: Life, outside: Outside) -> History:
        """Drive a run until it ends or waits for a person. Work that has finished is not done again."""
        ...

    async def answer(self, run: str, path: str, values: Mapping[str, Any]) -> bool:
        """Hand an answer to the driver of a run. True if there is none, so that the caller has to drive it."""
        ...

    async def stop(self, run: str, opening: Sequence[Event]) -> History:
        """End a run and everything that it started. `opening` are the first events of a run that has not begun."""
        ...

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        """Store a new attempt at a run. `make` gets what happened so far, and a `Durable` that does no work."""
        ...


class EngineKind(Protocol):
    """A module that is an engine."""

    def open_engine(self, site: Site) -> Engine: ...
