"""An engine that keeps runs in memory: everything that a second engine needs, in one file. Implements `Engine`.

It drives flows with the real interpreter. Runs exist as long as the process; each project has its own runs.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from handrail.artifacts.world import World
from handrail.contracts import (
    Attempt,
    Done,
    Durable,
    Finding,
    History,
    Life,
    Made,
    NodeContext,
    NodeError,
    NodeKind,
    Outside,
    Record,
    Site,
    Waiting,
    Work,
)
from handrail.errors import RefusedError
from handrail.flows.plan import Retry
from handrail.forms import form as forms
from handrail.forms import read as formspec
from handrail.runs import machine
from handrail.runs.life import INTERRUPTED, STOPPED, play_to_end
from handrail.runs.machine import Event
from handrail.runs.memory import Memory
from handrail.runs.summary import Summary, flow_of, summarize
from handrail.runs.together import limited, together
from handrail.runs.verify import verify

MOST = 1_000_000_000


@dataclass
class Kept:
    """The current attempt of a run, with its answers and stop requests."""

    about: str
    records: list[Record] = field(default_factory=list)
    attempt: int = 1
    is_prepared: bool = False
    is_driven: bool = False
    is_stop_requested: bool = False
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def history(self) -> History:
        driver = os.getpid() if self.is_driven else None
        return History(records=list(self.records), offset=self.offset, attempt=self.attempt, driver=driver)

    @property
    def offset(self) -> int:
        return (self.attempt - 1) * MOST + len(self.records)


_PROJECTS: dict[tuple[str, str], dict[str, Kept]] = {}


def open_engine(site: Site) -> InMemory:
    return InMemory(site, _PROJECTS.setdefault((site.state, site.project), {}))


class InMemory:
    """The runs of one project."""

    def __init__(self, site: Site, runs: dict[str, Kept]) -> None:
        self.site = site
        self.runs = runs

    def ids(self) -> list[str]:
        return list(self.runs)

    def summaries(self) -> list[Summary]:
        found: list[Summary] = []
        for run, kept in self.runs.items():
            events = [{**machine.event_to_json(event), "t": moment} for moment, event in kept.records]
            found.append(summarize(run, flow_of(kept.about), events, kept.attempt, kept.history.driver))
        return found

    def begin(self, run: str, about: str) -> History:
        self.runs[run] = Kept(about)
        return self.runs[run].history

    def load(self, run: str) -> tuple[str, History]:
        return self.runs[run].about, self.runs[run].history

    def events(self, run: str, offset: int) -> tuple[list[Record], int]:
        kept = self.runs[run]
        attempt, position = divmod(offset, MOST)
        return kept.records[position if attempt == kept.attempt - 1 else 0 :], kept.offset

    def payload(self, run: str, digest: str) -> Any:
        raise LookupError(f"{run} keeps every value in its event: {digest}")

    def driver(self, run: str) -> int | None:
        return self.runs[run].history.driver

    def log(self, run: str) -> str:
        assert run in self.runs
        return os.devnull

    def remove(self, run: str, *, aside: bool) -> bool:
        del aside
        return not self.runs[run].is_driven and self.runs.pop(run) is not None

    async def drive(self, run: str, life: Life, outside: Outside) -> History:
        kept = self.runs[run]
        if kept.is_driven:
            raise RefusedError(f"run `{run}` is driven by process {os.getpid()}", "wait for it")
        durable = MemoryRun(kept, self.site.clock, outside)
        for event in life.begin(kept.history):
            durable.record(event)
        if life.needs_preparation and not kept.is_prepared:
            life.prepare()
        kept.is_prepared, kept.is_driven, kept.is_stop_requested = True, True, False
        has_answer = lambda: any(path in kept.answers for path in durable.memory.state.questions)  # noqa: E731
        try:
            durable.record(await play_to_end(lambda: life.play(durable), lambda: kept.is_stop_requested, has_answer))
        except asyncio.CancelledError:
            durable.record(INTERRUPTED)
            raise
        finally:
            kept.is_driven = False
        return kept.history

    async def answer(self, run: str, path: str, values: Mapping[str, Any]) -> bool:
        self.runs[run].answers[path] = dict(values)
        return not self.runs[run].is_driven

    async def stop(self, run: str, opening: Sequence[Event]) -> History:
        kept = self.runs[run]
        kept.is_stop_requested = True
        while kept.is_driven:
            await asyncio.sleep(0.01)
        now = self.site.clock()
        kept.records += [(now, event) for event in opening if not kept.records]
        if machine.fold(event for _, event in kept.records).status != "cancelled":
            kept.records.append((now, STOPPED))
        return kept.history

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        old = self.runs[run]
        made = await make(old.history, MemoryRun(replace(old), self.site.clock, replace(outside, nodes={})))
        records = [(self.site.clock(), event) for event in made.events]
        self.runs[run] = Kept(made.about, records, old.attempt + 1)
        return self.runs[run].history


class MemoryRun:
    """One run while it is driven. Implements `Durable`."""

    def __init__(self, kept: Kept, clock: Callable[[], float], outside: Outside) -> None:
        self.kept = kept
        self.clock = clock
        self.outside = outside
        self.memory = Memory()
        self.world = World(outside.context.project)
        for _, event in kept.records:
            self.memory.take(event)

    def record(self, event: Event) -> None:
        self.kept.records.append((self.clock(), event))
        self.memory.take(event)
        if self.outside.observer is not None:
            self.outside.observer(event)

    def note(self, event: Event) -> None:
        if self.memory.is_news(event):
            self.record(event)

    def done(self, path: str) -> Done | None:
        return self.memory.done(path)

    async def node(self, work: Work, retry: Retry) -> Any:
        kind = self.outside.nodes.get(work.node)
        if kind is None:
            raise NodeError("node-unknown", f"there is no node `{work.node}`", transient=False)
        given = json.dumps([work.node, work.params, work.prompt])
        if (work.path, given) in self.memory.finished:
            return self.memory.finished[work.path, given].value
        wait = retry.wait
        for attempt in range(1, retry.attempts + 1):
            number = self.memory.starts.get(work.path, 0) + 1
            self.record(machine.NodeStarted(work.path, given, number))
            try:
                value = await self._run(kind, work)
            except NodeError as error:
                self.record(machine.NodeFailed(work.path, given, number, error.code, error.message))
                if attempt == retry.attempts or not error.transient:
                    raise
                await asyncio.sleep(wait)
                wait *= retry.factor
            else:
                self.record(machine.NodeFinished(work.path, given, number, value))
                return value
        raise AssertionError("the last attempt returns or raises")

    async def _run(self, kind: NodeKind, work: Work) -> Any:
        async def ask(question: dict[str, Any]) -> dict[str, Any]:
            return await self._ask(work.path, question)

        context: NodeContext = replace(self.outside.context, key=f"{self.outside.context.run}/{work.path}", ask=ask)
        async with limited(work.path, work.timeout):
            return await kind.run(work, context)

    async def _ask(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        given = json.dumps(question)
        if (path, given) in self.memory.answers:
            return self.memory.answers[path, given]
        if path not in self.memory.state.questions:
            self.record(machine.Asked(path, given, question))
        values = self.kept.answers.pop(path, None)
        if values is None and self.outside.asker is not None:
            values = await self.outside.asker(path, question)
        if values is None:
            raise Waiting(path, str(question["title"]))
        self.record(machine.Answered(path, given, forms.accept(formspec.from_json(question), values)))
        return self.memory.answers[path, given]

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any:
        known = self.memory.facts.get(path, {})
        if (place, kind, subject) not in known:
            self.record(machine.FactFound(path, place, kind, subject, self.world.look(kind, subject)))
        return self.memory.facts[path][place, kind, subject]

    async def check(self, kind: str, params: Mapping[str, Any]) -> Finding:
        return await verify(kind, params, self.outside.context)

    async def look(self, kind: str, subject: str) -> Any:
        return self.world.look(kind, subject)

    async def publish(self, path: str, made: list[Made], inputs: list[str]) -> None:
        known = {artifact["path"] for artifact in self.memory.published.get(path, ())}
        for item in made if self.outside.publisher is not None else ():
            assert self.outside.publisher is not None
            if self.outside.publisher.shown(item.path) not in known:
                artifact = self.outside.publisher.publish(item, path, inputs)
                if artifact is not None:
                    self.record(machine.ArtifactPublished(path, {**artifact, "isNew": item.is_new}))

    async def together(self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str) -> list[Any]:
        return await together(works, limit, on_failure)

    async def pause(self, path: str, seconds: float) -> None:
        del path
        await asyncio.sleep(seconds)

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]:
        return limited(path, seconds)
