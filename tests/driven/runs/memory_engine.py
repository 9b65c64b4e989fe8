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
from functools import partial
from typing import Any

from handrail.base.errors import RefusedError
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.forms import form, form_params
from handrail.driven.runs import run_events
from handrail.driven.runs.life import (
    STOPPED,
    TimeLimits,
    attempts,
    done,
    play_to_end,
    recall,
    remember,
    resumable_wait,
    run_parallel,
    stop_event,
    verify,
)
from handrail.driven.runs.run_events import Event, question_for_people, stored_event
from handrail.driven.runs.run_rules import next_question_id, open_question
from handrail.driven.runs.state import RunState, StepState, fold
from handrail.driven.runs.summary import Summary, summarize
from handrail.extensions.contracts import (
    Attempt,
    Done,
    Durable,
    EventRecord,
    Finding,
    FormAnswer,
    History,
    Life,
    NodeContext,
    NodeError,
    NodeKind,
    Outside,
    PromisedFile,
    Site,
    StepAttempts,
    Waiting,
    Work,
)
from handrail.settings.secrets import Secrets

MOST = 1_000_000_000


@dataclass
class Kept:
    """The current attempt of a run, with its answers and stop requests."""

    about: str
    records: list[EventRecord] = field(default_factory=list)
    attempt: int = 1
    is_prepared: bool = False
    is_driven: bool = False
    is_stop_requested: bool = False
    stopped_by: str | None = None
    answers: dict[str, tuple[dict[str, Any], str | None, float]] = field(default_factory=dict)
    earlier: dict[int, list[EventRecord]] = field(default_factory=dict)
    told: set[tuple[int, str]] = field(default_factory=set)

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


class Watching:
    """Reads everything again, as nothing here is large."""

    def __init__(self, engine: InMemory) -> None:
        self.engine = engine
        self.runs: dict[str, Summary] = {}

    def is_stale(self) -> bool:
        return True

    def refresh(self) -> bool:
        before, self.runs = self.runs, {summary.id: summary for summary in self.engine.summaries()}
        return self.runs != before


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
            found.append(summarize(run, kept.about, fold(kept.records), kept.attempt, kept.history.driver))
        return found

    def watch(self) -> Watching:
        return Watching(self)

    def begin(self, run: str, about: str) -> History:
        self.runs[run] = Kept(about)
        return self.runs[run].history

    def load(self, run: str, *, may_be_damaged: bool = False) -> tuple[str, History]:
        del may_be_damaged
        return self.runs[run].about, self.runs[run].history

    def events(self, run: str, offset: int) -> tuple[list[EventRecord], int]:
        kept = self.runs[run]
        attempt, position = divmod(offset, MOST)
        return kept.records[position if attempt == kept.attempt - 1 else 0 :], kept.offset

    def has(self, run: str, offset: int) -> bool:
        return offset <= self.runs[run].offset

    def attempts(self, run: str) -> list[int]:
        return [*self.runs[run].earlier, self.runs[run].attempt]

    def records(self, run: str, attempt: int) -> list[EventRecord]:
        kept = self.runs[run]
        return list(kept.earlier.get(attempt, kept.records))

    def payload(self, run: str, digest: str) -> Any:
        raise LookupError(f"{run} keeps every value in its event: {digest}")

    def driver(self, run: str) -> int | None:
        return self.runs[run].history.driver

    def stamp(self, run: str) -> object:
        return self.runs[run].attempt, self.runs[run].offset

    def has_program(self, run: str) -> bool:
        assert run in self.runs
        return False

    def activity(self, run: str, since: Any, most: int | None = None) -> tuple[list[dict[str, Any]], Any]:
        assert run in self.runs
        del most
        return [], since

    def log(self, run: str) -> str:
        assert run in self.runs
        return os.devnull

    def tell_once(self, run: str, what: str) -> bool:
        told = self.runs[run].told
        is_first = (self.runs[run].attempt, what) not in told
        told.add((self.runs[run].attempt, what))
        return is_first

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
        if not kept.is_prepared:
            life.prepare()
        kept.is_prepared, kept.is_driven, kept.is_stop_requested = True, True, False
        has_answer = lambda: any(q.id in kept.answers for q in durable.state.questions.values())  # noqa: E731
        try:
            ended = await play_to_end(lambda: life.play(durable), lambda: kept.is_stop_requested, has_answer)
            durable.record(ended if ended is not STOPPED else stop_event(kept.stopped_by))
        except asyncio.CancelledError:
            durable.record(stop_event(outside.ended_by() or None, "interrupted"))
            raise
        finally:
            kept.is_driven = False
        return kept.history

    async def answer(
        self, run: str, question: str, values: Mapping[str, Any], by: str | None, surface: str | None = None
    ) -> bool:
        del surface  # an engine may leave it out
        kept = self.runs[run]
        open_question(run, fold(kept.records), question)
        if question in kept.answers:
            raise RefusedError(f"question `{question}` already has an answer")
        kept.answers[question] = (dict(values), by, self.site.clock())
        return not kept.is_driven

    async def ask_again(self, run: str) -> bool:
        return not self.runs[run].is_driven  # questions of a driven run are looked at in its next life

    async def stop(self, run: str, opening: Sequence[Event], by: str | None) -> History:
        kept = self.runs[run]
        kept.is_stop_requested, kept.stopped_by = True, by
        while kept.is_driven:
            await asyncio.sleep(0.01)
        now = self.site.clock()
        kept.records += [(now, event) for event in opening if not kept.records]
        if fold(kept.records).status != "cancelled":
            kept.records.append((now, replace(stop_event(by), driven=False)))
        return kept.history

    async def notice(self, run: str, text: str) -> None:
        self.runs[run].records.append((self.site.clock(), run_events.Noticed("", text)))

    async def restart(
        self, run: str, make: Callable[[History, Durable], Awaitable[Attempt]], outside: Outside
    ) -> History:
        old = self.runs[run]
        made = await make(old.history, MemoryRun(replace(old), self.site.clock, replace(outside, nodes={})))
        secrets = Secrets(self.site.env, self.site.secrets)
        records = [(self.site.clock(), stored_event(event, secrets)) for event in made.events]
        earlier = {**old.earlier, old.attempt: old.records}
        self.runs[run] = Kept(made.about, records, old.attempt + 1, earlier=earlier)
        return self.runs[run].history


class MemoryRun:
    """One run while it is driven. Implements `Durable`."""

    def __init__(self, kept: Kept, clock: Callable[[], float], outside: Outside) -> None:
        self.kept = kept
        self.clock = clock
        self.outside = outside
        self.state = RunState()
        self.secrets = Secrets(outside.context.env, outside.context.secrets)
        self.world = ProjectFiles(outside.context.project)
        self.limits = TimeLimits(lambda path: self.state.spent.get(path, 0.0), self.record)
        for at, event in kept.records:
            self.state.apply(event, at)

    def record(self, event: Event) -> None:
        event = stored_event(event, self.secrets)
        at = self.clock()
        self.kept.records.append((at, event))
        self.state.apply(event, at)
        if self.outside.observer is not None:
            self.outside.observer(event)

    def note(self, event: Event) -> None:
        if self.state.is_news(stored_event(event, self.secrets)):
            self.record(event)

    def done(self, path: str) -> Done | None:
        known = done(self.state, path)
        return None if known is None else replace(known, value=self.secrets.from_storage(known.value))

    def tried(self, path: str) -> StepAttempts:
        return attempts(self.state, path)

    async def node(self, work: Work, *, again: bool = False) -> Any:
        kind = self.outside.nodes.get(work.node)
        if kind is None:
            raise NodeError("node-unknown", f"there is no node `{work.node}`", transient=False)
        step = self.state.steps.get(work.path) or StepState()
        if not again and step.is_finished:
            return self.secrets.from_storage(step.value)
        given = json.dumps(self.secrets.for_storage([work.node, work.params, work.prompt]))
        if step.input not in (None, given):
            self.note(run_events.Noticed(work.path, "the input of this step changed"))
        number = step.starts + 1
        self.record(run_events.NodeStarted(work.path, given, number))
        try:
            value = await self._run(kind, work)
        except NodeError as error:
            error.message = self.secrets.mask(error.message)
            self.record(run_events.NodeFailed(work.path, given, number, error.code, error.message))
            raise
        self.record(run_events.NodeFinished(work.path, given, number, value))
        return value

    async def _run(self, kind: NodeKind, work: Work) -> Any:
        async def ask(question: dict[str, Any]) -> FormAnswer:
            return await self._answered(work.path, question)

        waits = partial(resumable_wait, self.state, self.record, self.clock, work.path)
        tried, key = self.tried(work.path), f"{self.outside.context.run}/{work.path}"
        context: NodeContext = replace(
            self.outside.context, key=key, ask=ask, failure=tried.failure, failures=tried.total, rest=waits
        )
        keeps = partial(remember, self.state, self.record, self.secrets, work.path)
        finds = partial(recall, self.state, self.secrets, work.path)
        context = replace(context, remember=keeps, recall=finds)
        async with self.limits.within(work.path, work.timeout):
            return await kind.run(replace(work, timeout=self.limits.left(work.path, work.timeout)), context)

    async def ask(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        return (await self._answered(path, question)).values

    async def _answered(self, path: str, question: dict[str, Any]) -> FormAnswer:
        question = question_for_people(question, self.secrets)
        given = json.dumps(question)
        if (path, given) in self.state.answers:
            return self._answer(path, given)
        asked = self.state.questions.get(path)
        if asked is None or (asked.input != given and asked.id not in self.kept.answers):
            self.record(run_events.Asked(path, given, question, next_question_id(self.state, self.kept.attempt)))
        id_ = self.state.questions[path].id
        values, by, at = self.kept.answers.pop(id_, (None, self.outside.by, self.clock()))
        if values is None and self.outside.asker is not None:
            values = await self.outside.asker(id_, path, question)
        if values is None:
            raise Waiting(path, str(question["title"]))
        self.record(run_events.Answered(path, given, form.accept(form_params.form_from(question), values), id_, by, at))
        return self._answer(path, given)

    def _answer(self, path: str, given: str) -> FormAnswer:
        known = self.state.answers[path, given]
        return FormAnswer(self.secrets.from_storage(known["values"]), known["at"])

    @property
    def published(self) -> Mapping[str, list[dict[str, Any]]]:
        return self.state.published

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any:
        known, key = self.state.facts.get(path, {}), (place, kind, self.secrets.for_storage(subject))
        if key not in known:
            self.record(run_events.FactFound(path, place, kind, subject, await self.world.first_look(kind, subject)))
        return self.secrets.from_storage(self.state.facts[path][key])

    async def check(self, kind: str, params: Mapping[str, Any]) -> Finding:
        return await verify(kind, params, self.outside.context)

    async def look(self, kind: str, subject: str) -> Any:
        return self.world.look(kind, subject)

    async def publish(self, path: str, made: list[PromisedFile], inputs: list[str]) -> None:
        known = {artifact["path"] for artifact in self.state.published.get(path, ())}
        for item in made if self.outside.publisher is not None else ():
            assert self.outside.publisher is not None
            self.outside.publisher.checked(item)
        for item in made if self.outside.publisher is not None else ():
            assert self.outside.publisher is not None
            if self.outside.publisher.shown(item.path) not in known:
                artifact = self.outside.publisher.publish(item, path, inputs)
                if artifact is not None:
                    self.record(run_events.ArtifactPublished(path, {**artifact, "isNew": item.is_new}))

    async def together(self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str) -> list[Any]:
        return await run_parallel(works, limit, on_failure)

    async def pause(self, path: str, seconds: float, reason: str) -> None:
        if seconds > 0:
            self.record(run_events.Delayed(path, self.clock() + seconds, reason))
            await asyncio.sleep(seconds)

    async def rest(self, path: str) -> None:
        delay = self.state.delays.get(path)
        if delay is not None:
            await asyncio.sleep(delay.left(self.clock()))

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]:
        return self.limits.within(path, seconds)
