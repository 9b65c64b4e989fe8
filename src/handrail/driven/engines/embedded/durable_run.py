"""One run on disk while it is driven: one folder, one journal, one process. Implements `Durable`.

A finished node never runs again, unless the proof of its step does not hold: its result is found by its path, whatever
its input is now. If a node was running when the process died, `rerun` of its step or its node decides: run it again,
ask a person, or fail. What is recorded has no secrets in it; what is returned to the interpreter has the real values
again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from handrail.base import jsonlite
from handrail.base.dataclasses import replace
from handrail.base.errors import HandrailError, StateError, system_error
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.engines.embedded import process_locks, run_journal
from handrail.driven.engines.embedded.activity import Activity, AgentEvents, ProgramOutput
from handrail.driven.engines.embedded.inbox import Inbox, RunQuestions
from handrail.driven.runs import life, run_events
from handrail.driven.runs.run_events import Bounded
from handrail.driven.runs.run_rules import assumed_result, interrupted_form
from handrail.driven.runs.state import RERUN, StepState
from handrail.extensions import contracts
from handrail.settings.secrets import refuse_lost
from handrail.source.values import MAX_NESTING, is_too_deep, restore, shown, texts_in

LOOK_AGAIN = 0.2
BREATH = 0.02
PATIENCE = 20
LONGEST_MESSAGE = 2_000
LONGEST = 7 * 24 * 3600.0
INPUT_CHANGED = "the input of this step is not the same as when it was started before"
_T = TypeVar("_T")


class DurableRun:
    """One attempt of a run while it is driven. `ledger` is its journal; only this process writes it."""

    def __init__(self, ledger: run_journal.Ledger, clock: Callable[[], float], outside: contracts.Outside) -> None:
        self.ledger = ledger
        self.clock = clock
        self.outside = outside
        self.context = outside.context
        self.record, self.note = ledger.record, ledger.note
        self.payloads = run_journal.Payloads(ledger.attempt)
        self.programs = process_locks.Programs(ledger.attempt)
        self.state = ledger.state
        self.secrets = ledger.secrets
        self.inbox = Inbox(ledger.attempt, self.secrets)
        self.activity = Activity(ledger.attempt, clock, self.secrets)
        ledger.listener = self.activity.take
        self.asking = RunQuestions(ledger, self.inbox, clock, outside)
        self.files = ProjectFiles(self.context.project, self.context.definitions, self.context.registry)
        self.limits = life.TimeLimits(
            lambda path: self.state.spent.get(path, 0.0), partial(ledger.record, durable=False)
        )
        self.limit, self.together = self.limits.within, life.run_parallel
        self.tried, self.check = partial(life.attempts, self.state), partial(life.verify, context=self.context)
        self.meter = outside.meter or life.Meter(Bounded())
        self._publishing = asyncio.Lock()
        self._yielded = 0.0

    def done(self, path: str) -> contracts.Done | None:
        known = life.done(self.state, path)
        if known is None or not known.has_value:
            return known
        return replace(known, value=self._result(self.state.steps[path]))

    def _result(self, step: StepState) -> Any:
        """The recorded result of a step, with the secrets that it refers to."""
        value = step.value if step.payload is None else self.payloads.read(step.payload)
        return self.secrets.from_storage(value)

    def _input(self, work: contracts.Work) -> tuple[str, dict[str, Any]]:
        """What a node gets, in its stored form, and its digest: a secret that changed does not change it."""
        value = [work.node, work.params, work.prompt]
        text = run_journal.as_json(value)
        stored = self.secrets.for_storage(value, text)
        digest = run_journal.digest_of_text(text if stored is value else jsonlite.dumps(stored))
        return digest, {"prompt": stored[2], "params": stored[1]}

    async def node(self, work: contracts.Work, *, again: bool = False) -> Any:
        kind = self.outside.nodes.get(work.node)
        if kind is None:
            raise contracts.LastingError("node-unknown", f"there is no node `{work.node}`")
        if kind.NODE.instant:
            return await self._run_instant(kind, work, again=again)
        step = self.state.steps.get(work.path) or StepState()
        if not again and step.is_finished:
            return self._result(step)
        digest, input_ = self._input(work)
        if step.input not in (None, digest):
            self.note(run_events.Noticed(work.path, INPUT_CHANGED))
        rerun, unknown = work.rerun or kind.NODE.rerun, None if work.rerun else kind.NODE.unknown
        if step.is_under_way or self.programs.is_held(work.path):
            await self._wait_for_program(work.path)
        self._count_lost(work.path)
        self.meter.refuse()
        is_parked = step.is_under_way and step.is_asking
        if step.is_under_way and not is_parked:
            assumed = await self._assumed_result(work, rerun) if unknown is None else dict(unknown)
            if assumed is not None:
                return await self._finish(work.path, digest, assumed)
        number = step.starts + (0 if is_parked else 1)
        if not is_parked:
            started = run_events.NodeStarted(
                work.path, digest, number, *self.payloads.keep(input_, least=run_journal.SHORT)
            )
            self.ledger.start(started, durable=rerun != "safe")
        try:
            return await self._finish(work.path, digest, await self._run_within_limits(kind, work))
        except contracts.NodeError as error:
            message = shown(self.secrets.mask(error.message), LONGEST_MESSAGE)
            output = self.secrets.mask(error.output)
            kept = self.payloads.keep(output) if output else (None, None)
            self.record(run_events.NodeFailed(work.path, digest, number, error.code, message, *kept))
            raise contracts.NodeError(error.code, message, transient=error.transient, output=output) from error

    async def _run_instant(self, kind: contracts.NodeKind, work: contracts.Work, *, again: bool) -> Any:
        """Run a node that has no side effects and takes no time. Only its result is recorded."""
        step = self.state.steps.get(work.path)
        if step is not None and step.has_value and not again:
            return self._result(step)
        value = await kind.run(work, self.context)
        _refuse_deep(value)
        return await self._finish(work.path, "", value, is_plain=True)

    async def _finish(self, path: str, digest: str, made: Any, *, is_plain: bool = False) -> Any:
        """Record the result of a node, as JSON without secrets. Yields to the event loop every `BREATH` seconds."""
        try:
            text = jsonlite.dumps(made)
            value = made if is_plain else restore(jsonlite.loads(text), texts_in(made))
            stored = self.secrets.for_storage(value, text)
        except (ValueError, TypeError) as error:
            raise contracts.LastingError(
                "result", f"its result cannot be stored: {run_journal.not_json(error)}"
            ) from error
        text = text if stored is value else jsonlite.dumps(stored)
        stored_value = (stored, None) if len(text) <= run_journal.LARGE else self.payloads.keep(stored, text)
        step = self.state.steps.get(path)
        number = step.starts if step is not None and step.starts else 1
        self.ledger.record_stored(run_events.NodeFinished(path, digest, number, *stored_value))
        now = time.monotonic()
        if now - self._yielded > BREATH:
            self._yielded = now
            await asyncio.sleep(0)
        return value

    async def _wait_for_program(self, path: str) -> None:
        """Wait until the program that an earlier driver started for this step has ended."""
        is_noticed = False
        while self.programs.is_running(path, self._key(path)):
            if not is_noticed:
                who = ", ".join(map(str, sorted(self.programs.pids(path, self._key(path))))) or "unknown"
                text = f"a program that this step started earlier is still running (process {who})"
                way_out = f"`handrail stop {self.context.run}` kills it"
                self.note(run_events.Noticed(path, f"{text}; Handrail waits until it ends, {way_out}"))
                is_noticed = True
            await asyncio.sleep(LOOK_AGAIN)

    def _count_lost(self, path: str) -> None:
        """Count what the agent of a step used before a kill, or say that it is not known."""
        for event in list(life.lost_usage(self.state, path, self.context)):
            self.record(event)
            self._warn(path, self.meter.blind_to(event.usage))
            with contextlib.suppress(contracts.Exhausted):  # the next look at the meter raises it
                self.meter.took(path, event.usage)
            self.meter.settle(path)
        for agent in [agent for (lost, _), (agent, _) in self.state.lost.items() if lost == path]:
            self._warn(path, self.meter.blind_to_lost(agent))

    def _warn(self, path: str, warning: str | None) -> None:
        if warning:
            self.note(run_events.Noticed(path, warning))

    async def _assumed_result(self, work: contracts.Work, rerun: str) -> Any:
        """The result of an interrupted node that had finished, as a person says; None if it has to run again."""
        if rerun == "safe":
            return None
        message = f"`{work.path}` was running when the run was interrupted, and may have finished"
        if rerun == "never":
            raise contracts.LastingError("rerun", f"{message}; it must not run twice")
        form = interrupted_form(work.path, self.state.steps[work.path].starts, work.reads)
        answer = await self.ask(work.path, form)
        refuse_lost(answer)
        if answer.get(RERUN) == "fail":
            raise contracts.LastingError("rerun", f"{message}; a person chose to fail the run")
        return assumed_result(answer) if answer.get(RERUN) == "done" else None

    async def _run_within_limits(self, kind: contracts.NodeKind, work: contracts.Work) -> Any:
        """Run a node, and wait for a rate limit to reset. Such a wait does not count as an attempt of the step."""
        for tried in range(self.state.steps[work.path].pauses, PATIENCE):
            try:
                return await self._run(kind, work)
            except contracts.NodeError as error:
                left = _until_reset(error, self.clock(), tried)
                if left is None or left > LONGEST:
                    raise
                left = max(left, min(60.0, 0.1 * 2**tried))  # `resets_at` may be in the past
                until = self.clock() + left
                self.record(run_events.Delayed(work.path, until, error.message))
                await asyncio.sleep(left)
        return await self._run(kind, work)

    async def _run(self, kind: contracts.NodeKind, work: contracts.Work) -> Any:
        handles: list[int] = []

        def hold() -> int | None:
            handle = self.programs.hold(work.path)
            if handle is not None:
                handles.append(handle)
            return handle

        def tell(item: contracts.AgentSaid) -> None:
            self.activity.hear(work.path, item)
            for event in telling.events(work.path, item, self.secrets):
                if isinstance(event, run_events.Guided):
                    self.note(event)  # once, even if the run was resumed
                else:
                    self.record(event, durable=isinstance(event, run_events.SessionOpened))
            if item.kind == "usage":
                self.meter.took(work.path, item.data)
            elif item.kind == "finished":
                self.meter.settle(work.path)

        telling, output = AgentEvents(), ProgramOutput(self.activity, work.path)
        context = replace(
            self._context_of(work), hold=hold, tell=tell, show=output, usd_left=lambda: self.meter.usd_left
        )
        try:
            with output:
                async with self.limits.within(work.path, work.timeout):
                    with _as_node_errors(work.node):
                        left = self.limits.left(work.path, work.timeout)
                        value = await kind.run(replace(work, timeout=left), context)
                    _refuse_deep(value)
        finally:
            for usage in telling.settle():
                self.record(run_events.UsageReported(work.path, usage), durable=False)
                self._warn(work.path, self.meter.blind_to(usage))
            self.meter.settle(work.path)
            for handle in handles:
                self.programs.release(work.path, handle)
        return value

    def _context_of(self, work: contracts.Work) -> contracts.NodeContext:
        """The context of a step: with its key, its conversation, its failed attempts, its wait and its questions."""
        path, tried = work.path, self.tried(work.path)
        return replace(
            self.context,
            key=self._key(path),
            session=self.state.sessions.get(path),
            rest=partial(life.resumable_wait, self.state, self.record, self.clock, path),
            remember=partial(life.remember, self.state, self.record, self.secrets, path),
            recall=partial(life.recall, self.state, self.secrets, path),
            failure=tried.failure,
            failures=tried.total,
            ask=partial(self.asking.answer, path, fallback=work.fallback),
            notice=lambda text: self.note(run_events.Noticed(path, text)),
        )

    def _key(self, path: str) -> str:
        again = f"#{self.state.rewinds}" if self.state.rewinds else ""
        return f"{self.context.run}/{path}{again}"

    async def ask(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        return (await self.asking.answer(path, question)).values

    @property
    def published(self) -> Mapping[str, list[dict[str, Any]]]:
        return self.state.published

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any:
        known = self.state.facts.get(path, {})
        key = (place, kind, self.secrets.for_storage(subject))
        if key not in known:
            found = run_events.FactFound(path, place, kind, subject, await self.files.first_look(kind, subject))
            self.record(found)
            return found.value
        return self.secrets.from_storage(known[key])

    async def look(self, kind: str, subject: str) -> Any:
        return self.files.look(kind, subject)

    async def publish(self, path: str, made: list[contracts.PromisedFile], inputs: list[str]) -> None:
        """Publish the files that a step made. Each file is published once, even if the run was resumed."""
        publisher = self.outside.publisher
        if publisher is None:
            return
        for item in made if len(made) > 1 else ():
            await _in_thread(partial(publisher.checked, item))  # all of them or none
        for item in made:
            async with self._publishing:
                known = {artifact["path"] for artifact in self.state.published.get(path, ())}
                if publisher.shown(item.path) in known:
                    continue
                artifact = await _in_thread(partial(publisher.publish, item, path, inputs))
                if artifact is not None:
                    self.record(run_events.ArtifactPublished(path, {**artifact, "isNew": item.is_new}))

    async def pause(self, path: str, seconds: float, reason: str) -> None:
        if seconds > 0:
            self.record(run_events.Delayed(path, self.clock() + seconds, reason))
            await asyncio.sleep(seconds)

    async def rest(self, path: str) -> None:
        if (delay := self.state.delays.get(path)) is not None:
            await asyncio.sleep(delay.left(self.clock()))


@contextlib.contextmanager
def _as_node_errors(node: str) -> Iterator[None]:
    """Any error of a node becomes a `NodeError`, so that it fails its step and not the run's process."""
    try:
        yield
    except OSError as error:
        raise contracts.NodeError("failed", system_error(error).message) from error
    except StateError:
        raise
    except HandrailError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise contracts.LastingError(error.code, f"{error.message}{hint}") from error
    except UnicodeEncodeError as error:
        message = "a text contains half of a surrogate pair, which files and programs do not take"
        raise contracts.LastingError("text", message) from error
    except (ArithmeticError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"`{node}` failed with an error of its own: {type(error).__name__}: {error}"
        raise contracts.LastingError("failed", message) from error


def _refuse_deep(value: Any) -> None:
    if is_too_deep(value):
        raise contracts.LastingError("result", f"its result is nested deeper than {MAX_NESTING} levels")


def _until_reset(error: contracts.NodeError, now: float, tried: int) -> float | None:
    """How many seconds to wait for a limit to reset; None if the error is not a limit.

    If the error does not say when the limit resets, the wait doubles with each try.
    """
    if error.resets_at is not None:
        return error.resets_at - now
    return min(1800.0, 30.0 * 2**tried) if error.code in ("rate-limit", "quota") else None


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Run blocking work in a thread. If the caller is cancelled, the work still runs to its end first."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
