"""What an engine implements: it stores runs of flows, and drives them. Finished work is never done twice.

The interpreter of flows uses `Durable` while a run is driven. `Runs` uses `Engine`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import Any, Literal, Protocol

from handrail.base.dataclasses import dataclass, field
from handrail.extensions.contracts.check import Finding
from handrail.extensions.contracts.node import NodeContext, NodeKind, Work
from handrail.extensions.registry import Registry
from handrail.settings.secrets import DEFAULT_RULES, SecretRules, Secrets

RunEvent = Any
"""An event of `driven.runs.run_events`, a higher layer than this module. An engine returns events as recorded: in their
stored form, without the values of secrets (`handrail.driven.runs.run_events`). Observers get them in this form, too."""
EventRecord = tuple[float, RunEvent]
"""When an event was recorded, in seconds since 1970, and the event."""
Asker = Callable[[str, str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Asks a person: (id of the question, path of the step, form) → values; None if nobody answers now."""
Observer = Callable[[RunEvent], None]


@dataclass(frozen=True)
class Done:
    """A finished phase or step. Only a phase, a skipped step and a step that ran a nested flow have no value.

    `is_left_out`: the phase was skipped because the run starts with a later one.
    """

    status: Literal["done", "skipped"]
    value: Any = None
    has_value: bool = False
    stop: bool = False
    is_left_out: bool = False


@dataclass(frozen=True)
class PromisedFile:
    """A file that a step promised: its path, name and schema. `is_new` is True if the step created it."""

    path: str
    name: str | None
    schema: str | None
    required: bool
    is_new: bool = False


@dataclass(frozen=True)
class StepAttempts:
    """The attempts of a step so far.

    `failures` failed since the step was last begun anew, `total` in the whole run. `failure` is the (code, message) of
    the last one; None if its node has finished since. `is_refuted`: the node had finished, but the proof did not hold.
    `is_over`: the step failed, so its next attempt is a first one. `is_interrupted`: its node began and did not end.
    """

    failures: int = 0
    total: int = 0
    failure: tuple[str, str] | None = None
    is_refuted: bool = False
    is_over: bool = False
    is_interrupted: bool = False


class Durable(Protocol):
    """All that the interpreter of flows knows about durability. Another engine implements exactly these methods.

    Paths identify steps by names, never by positions. Work is data, so that it can be done in another process. Running
    branches in parallel is a method, so that an engine can decide how to order them. `node` returns the result of
    finished work by its path, even if its input changed since. All values are real: an engine restores the secrets in
    what it stored (`handrail.settings.secrets`).
    """

    def note(self, event: RunEvent) -> None: ...

    def done(self, path: str) -> Done | None: ...

    def tried(self, path: str) -> StepAttempts:
        """The attempts of a step, including those of earlier lives of the run."""

    async def node(self, work: Work, *, again: bool = False) -> Any:
        """The recorded result of a node; else one attempt of it. With `again` it runs although it had finished."""

    async def ask(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        """A person's answer. Raises `Waiting` if nobody has answered yet."""

    @property
    def published(self) -> Mapping[str, list[dict[str, Any]]]:
        """The artifacts that were published, by the path of the step."""

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any: ...

    async def check(self, kind: str, params: Mapping[str, Any]) -> Finding: ...

    async def look(self, kind: str, subject: str) -> Any: ...

    async def publish(self, path: str, made: list[PromisedFile], inputs: list[str]) -> None: ...

    async def together(
        self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str
    ) -> list[Any]: ...

    async def pause(self, path: str, seconds: float, reason: str) -> None:
        """Wait before the next attempt. The end of the wait is recorded, so a later life does not wait again."""

    async def rest(self, path: str) -> None:
        """Wait until the recorded end of a wait that an earlier life began."""

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]:
        """A time limit. It continues over the lives of the run; only time in which the run is driven counts."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where Handrail works: the project, the folder of its own state, the environment and the clock.

    `secrets` says which variables of the environment hold secrets. `by` is who uses it: `person`, `script`,
    `agent:NAME` or `run:ID`; None if it is not known. `registry` has what is built in, and what plugins add.
    """

    project: str
    state: str
    env: Mapping[str, str]
    clock: Callable[[], float]
    secrets: SecretRules = DEFAULT_RULES
    by: str | None = None
    registry: Registry = field(default_factory=Registry)

    @cached_property
    def known_secrets(self) -> Secrets:
        return Secrets(self.env, self.secrets)


@dataclass(frozen=True, kw_only=True)
class History:
    """What happened in the current attempt of a run. `offset` is its end: `Engine.events` continues there.

    `driver` is the id of the process that drives the run, 0 if the id is not known, None if there is no driver.
    `state` is the `driven.runs.state.RunState` after these records, if the engine has it. `is_answered`: an answer is
    stored, and no process drives the run, so it is not recorded yet. `heard` is when an agent or a
    program of the run printed something last; None if that is not known.
    """

    records: list[EventRecord]
    offset: int
    attempt: int = 1
    driver: int | None = None
    state: Any = None
    is_answered: bool = False
    heard: float | None = None


class Publishing(Protocol):
    """Publishes the files that steps made."""

    def shown(self, path: str) -> str: ...

    def checked(self, made: PromisedFile) -> bytes | None: ...

    def publish(self, made: PromisedFile, step: str, inputs: list[str]) -> dict[str, Any] | None: ...


class Metering(Protocol):
    """Counts what the agents of a run use. `refuse` and `took` raise `Exhausted` if a bound is reached."""

    @property
    def usd_left(self) -> float | None: ...

    def refuse(self) -> None:
        """Called before a node is started."""

    def took(self, path: str, usage: Mapping[str, Any]) -> None:
        """What the current call of the agent of a step has used so far."""

    def blind_to(self, usage: Mapping[str, Any]) -> str | None:
        """Says which bound cannot hold because the agent did not report what it is about; None if all can."""

    def blind_to_lost(self, agent: str) -> str:
        """Says that what an agent used before a kill is not known, and which bounds cannot hold because of that."""

    def settle(self, path: str) -> None:
        """The current call has ended."""


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What a run needs from outside: its nodes, their context, and who publishes, observes, answers and counts.

    `by` is who drives the run, and so who gives the answers of `asker`. `is_attended`: whoever drives it asks a person
    its questions when it waits; else the driver waits for the deadlines of its questions. `is_unattended`: nobody is
    asked, and a question whose `deadline` is `unattended` gets its default. `ended_by` says who ended the
    driver by a signal, as `by` of events.
    """

    nodes: Mapping[str, NodeKind]
    context: NodeContext
    publisher: Publishing | None = None
    observer: Observer | None = None
    asker: Asker | None = None
    meter: Metering | None = None
    by: str | None = None
    is_attended: bool = False
    is_unattended: bool = False
    ended_by: Callable[[], str] = str


class Life(Protocol):
    """What a driver does with a run, from its current state to its next end."""

    def begin(self, history: History) -> list[RunEvent]:
        """The first events of this life. Raises `RefusedError` if the state of the run does not allow it.

        Called again in the same life if the run waited and goes on.
        """

    def prepare(self) -> None:
        """Called before the first event of an attempt. Called again until a node of the attempt was started."""

    async def play(self, durable: Durable) -> RunEvent:
        """Run the flow, and return the event that says how it ended. Raises `Waiting` if a person is needed."""


@dataclass(frozen=True)
class Attempt:
    """A new attempt of a run: its request, and the first events of its journal."""

    about: str
    events: list[RunEvent]


class Watch(Protocol):
    """All runs of a project for somebody who watches them: `runs` has the `Summary` of each, by id."""

    @property
    def runs(self) -> Mapping[str, Any]: ...

    def is_stale(self) -> bool:
        """True if `refresh` may find something. Called several times a second, so it costs little: nothing is read."""

    def refresh(self) -> bool:
        """Look again. True if anything changed."""


class Engine(Protocol):
    """Stores the runs of one project and drives them. Each run has one driver at a time.

    `about` is the request of a run as text. An engine stores it and does not read it. A method that gets the id of a
    run that does not exist raises `LookupError`.
    """

    def ids(self) -> list[str]:
        """The ids of all runs, the oldest first."""

    def summaries(self) -> list[Any]:
        """A `driven.runs.summary.Summary` of each run, the oldest first. A damaged run has one, too. Reads little."""

    def watch(self) -> Watch:
        """The runs of the project, to be watched. `refresh` has not been called yet."""

    def begin(self, run: str, about: str) -> History:
        """Store a new run. It is on disk when this returns."""

    def load(self, run: str, *, may_be_damaged: bool = False) -> tuple[str, History]:
        """The request of a run, and its history; with `may_be_damaged`, what is readable of it."""

    def events(self, run: str, offset: int) -> tuple[list[EventRecord], int]:
        """The events after an offset, and the offset for the next call. Cheap if there are none.

        0 is the start. An offset from before a restart counts as the start of the new attempt.
        """

    def has(self, run: str, offset: int) -> bool:
        """True if the events up to this offset are still there. A person may have replaced the files of a run."""

    def attempts(self, run: str) -> list[int]:
        """The numbers of all attempts of a run, the current one last."""

    def records(self, run: str, attempt: int) -> list[EventRecord]:
        """All events of one attempt. Earlier attempts are kept as they were."""

    def payload(self, run: str, digest: str) -> Any:
        """A large value, by the digest in its event."""

    def driver(self, run: str) -> int | None: ...

    def stamp(self, run: str) -> object:
        """Differs after every event, every printed line and every new attempt. Costs little: nothing is read."""

    def has_program(self, run: str) -> bool:
        """True if a program that a step started still runs, perhaps without a driver."""

    def activity(self, run: str, since: Any, most: int | None = None) -> tuple[list[dict[str, Any]], Any]:
        """What agents and programs printed after a mark, and the mark for the next call; None is the start.

        With `most`, only that many of them, the last ones.
        Each line has a number `n`, its time `t`, its `node`, its `kind` and its `text`. Lines may come again.
        """

    def log(self, run: str) -> str:
        """The file that gets the output of a driver in the background."""

    def remove(self, run: str, *, aside: bool) -> bool:
        """Remove a run, or with `aside` put its files aside. False if it has a driver."""

    async def drive(self, run: str, life: Life, outside: Outside) -> History:
        """Drive a run until it ends or waits for a person. Finished work is not done again."""

    async def answer(
        self, run: str, question: str, values: Mapping[str, Any], by: str | None, surface: str | None = None
    ) -> bool:
        """Store the answer to an open question. True if the run has no driver, so the caller has to drive it.

        `by` is who gave it, and `surface` where: `cli`, `tui` or `web`.
        Of several answers to one question, exactly one is stored. Others raise `RefusedError` and leave nothing.
        """

    async def ask_again(self, run: str) -> bool:
        """Let a driver look again at what open questions are about. True if there is none: the caller has to drive."""

    async def stop(self, run: str, opening: Sequence[RunEvent], by: str | None) -> History:
        """Stop a run and every process that it started. `opening` are its first events, if it has none yet."""

    async def notice(self, run: str, text: str) -> None:
        """Record a notice for people. If the run is driven, its driver records it when this life ends."""

    def tell_once(self, run: str, what: str) -> bool:
        """Record that people are told of something in the current attempt. False if that was recorded before.

        Of several processes that call this at the same time, exactly one gets True.
        """

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        """Store a new attempt of a run. `make` gets the history so far, and a `Durable` that runs no node."""


class EngineKind(Protocol):
    """A module that provides an engine."""

    def open_engine(self, site: Site) -> Engine: ...
