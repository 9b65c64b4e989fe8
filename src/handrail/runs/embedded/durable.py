"""One run on disk while it is driven: one folder, one journal, one process at a time. Implements `Durable`.

A finished node never runs again: its result is found by its path and the digest of its input. If a node was running
when the process died, `rerun` of its step or its node decides: run it again, ask a person, or fail.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from handrail.artifacts.world import World
from handrail.contracts import AgentSaid, Done, Finding, Made, NodeError, NodeKind, Outside, Waiting, Work
from handrail.errors import HandrailError, StateError
from handrail.flows.plan import Retry
from handrail.runs import machine
from handrail.runs.embedded import lease
from handrail.runs.embedded.inbox import Inbox
from handrail.runs.embedded.ledger import Ledger
from handrail.runs.embedded.payloads import LARGE, Payloads
from handrail.runs.embedded.telling import Telling
from handrail.runs.machine import Event, RunState
from handrail.runs.memory import RERUN, Kept, Memory
from handrail.runs.together import limited, together
from handrail.runs.verify import verify
from handrail.source.given import unusable
from handrail.source.values import shown
from handrail.source.written import restore, texts_in
from handrail.state import jsonlite

LOOK_AGAIN = 0.2
BREATH = 0.02
PATIENCE = 20
LONGEST_MESSAGE = 2_000
LONGEST = 7 * 24 * 3600.0
_T = TypeVar("_T")


class DurableRun:
    """One attempt of a run while it is driven. `ledger` is its journal; only this process writes it."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float], outside: Outside) -> None:
        self.ledger = ledger
        self.clock = clock
        self.outside = outside
        self.context = outside.context
        self.payloads = Payloads(ledger.attempt)
        self.programs = lease.Programs(ledger.attempt)
        self.inbox = Inbox(ledger.attempt)
        self.world = World(outside.context.project)
        self.redact = ledger.recorder.redact
        self._publishing = asyncio.Lock()
        self._yielded = 0.0

    @property
    def memory(self) -> Memory:
        return self.ledger.memory

    @property
    def state(self) -> RunState:
        return self.ledger.memory.state

    def record(self, event: Event, *, durable: bool = True) -> None:
        self.ledger.record(event, durable=durable)

    def note(self, event: Event) -> None:
        self.ledger.note(event)

    def done(self, path: str) -> Done | None:
        known = self.memory.done(path)
        if known is None or not known.has_value:
            return known
        step = self.state.steps[path]
        return replace(known, value=self.payloads.value(Kept(step.value, step.payload)))

    async def node(self, work: Work, retry: Retry) -> Any:
        kind = self.outside.nodes.get(work.node)
        if kind is None:
            raise NodeError("node-unknown", f"there is no node `{work.node}`", transient=False)
        if kind.NODE.instant:
            return await self._run_instant(kind, work)
        digest = digest_of([work.node, work.params, work.prompt])
        if (work.path, digest) in self.memory.finished:
            return self.payloads.value(self.memory.finished[work.path, digest])
        rerun = work.rerun or kind.NODE.rerun
        if work.path in self.memory.under_way or self.programs.is_held(work.path):
            await self._wait_for_program(work.path)
        wait, is_parked = retry.wait, self.memory.is_parked(work.path)
        if work.path in self.memory.under_way and not is_parked and not await self._may_rerun(work, rerun):
            return await self._finish(work.path, digest, {"assumedDone": True})
        for attempt in range(1, retry.attempts + 1):
            number = self.memory.starts.get(work.path, 0) + (0 if is_parked else 1)
            if not is_parked:
                self.ledger.start(machine.NodeStarted(work.path, digest, number), durable=rerun != "safe")
            is_parked = False
            try:
                return await self._finish(work.path, digest, await self._run_within_limits(kind, work))
            except NodeError as error:
                message = shown(self.redact.text(error.message), LONGEST_MESSAGE)
                self.record(machine.NodeFailed(work.path, digest, number, error.code, message))
                if attempt == retry.attempts or not error.transient:
                    raise NodeError(error.code, message, transient=error.transient) from error
                await asyncio.sleep(wait)
                wait *= retry.factor
        raise AssertionError("the last attempt returns or raises")

    async def _run_instant(self, kind: NodeKind, work: Work) -> Any:
        """Run a node that has no side effects and takes no time. Only its result is recorded."""
        known = self.state.steps.get(work.path)
        if known is not None and known.has_value:
            return self.payloads.value(Kept(known.value, known.payload))
        return await self._finish(work.path, "", await kind.run(work, self.context), is_plain=True)

    async def _finish(self, path: str, digest: str, made: Any, *, is_plain: bool = False) -> Any:
        """Record the result of a node, as JSON without secrets. Yields to the event loop every `BREATH` seconds."""
        try:
            text = jsonlite.dumps(made)
        except (ValueError, TypeError) as error:
            raise NodeError("result", f"its result cannot be stored: {_not_json(error)}", transient=False) from error
        value = made if is_plain else restore(jsonlite.loads(text), texts_in(made))
        if self.redact.values:
            value = self.redact.value(value)
            text = jsonlite.dumps(value)
        kept = Kept(value, None) if len(text) <= LARGE else self.payloads.keep(value, text)
        number = self.memory.starts.get(path, 1)
        self.record(machine.NodeFinished(path, digest, number, kept.value, kept.payload))
        now = time.monotonic()
        if now - self._yielded > BREATH:
            self._yielded = now
            await asyncio.sleep(0)
        return value

    async def _wait_for_program(self, path: str) -> None:
        """Wait until the program that an earlier driver started for this step has ended."""
        told = False
        while self.programs.is_running(path, self._key(path)):
            if not told:
                who = ", ".join(map(str, sorted(self.programs.pids(path, self._key(path))))) or "unknown"
                text = f"a program that this step started earlier is still running (process {who})"
                self.note(machine.Noticed(path, f"{text}; `handrail stop {self.context.run}` kills it"))
                told = True
            await asyncio.sleep(LOOK_AGAIN)

    async def _may_rerun(self, work: Work, rerun: str) -> bool:
        """True if an interrupted node has to run again; False if a person says that it had finished."""
        if rerun == "safe":
            return True
        message = f"`{work.path}` was running when the run was interrupted, and may have finished"
        if rerun == "never":
            raise NodeError("rerun", f"{message}; it must not run twice", transient=False)
        options = [
            {"value": "again", "label": "run it again"},
            {"value": "done", "label": "it had finished: continue"},
            {"value": "fail", "label": "neither: fail the run"},
        ]
        field = {"id": "rerun", "type": "single-select", "label": message, "required": True, "options": options}
        start = self.memory.starts.get(work.path, 0)
        form = {"formId": RERUN, "title": message, "description": f"attempt {start}", "fields": [field]}
        answer = (await self.ask(work.path, form)).get("rerun")
        if answer == "fail":
            raise NodeError("rerun", f"{message}; a person chose to fail the run", transient=False)
        return answer != "done"

    async def _run_within_limits(self, kind: NodeKind, work: Work) -> Any:
        """Run a node, and wait for a rate limit to reset. Such a wait does not count as an attempt of the step."""
        known = self.state.delays.get(work.path)
        if known is not None:
            await asyncio.sleep(max(known.until - self.clock(), 0.0))
        for tried in range(PATIENCE):
            try:
                return await self._run(kind, work)
            except NodeError as error:
                left = _until_reset(error, self.clock(), tried)
                if left is None or left > LONGEST:
                    raise
                left = max(left, min(60.0, 0.1 * 2**tried))  # `resets_at` may be in the past
                until = self.clock() + left
                self.record(machine.Delayed(work.path, until, self.redact.text(error.message)))
                await asyncio.sleep(left)
        return await self._run(kind, work)

    async def _run(self, kind: NodeKind, work: Work) -> Any:
        handles: list[int] = []

        def hold() -> int | None:
            handle = self.programs.hold(work.path)
            if handle is not None:
                handles.append(handle)
            return handle

        async def ask(question: dict[str, Any]) -> dict[str, Any]:
            return await self.ask(work.path, question)

        def tell(said: AgentSaid) -> None:
            for event in telling.events(work.path, said, self.redact):
                self.record(event, durable=isinstance(event, machine.SessionOpened))

        telling = Telling()
        session = self.memory.sessions.get(work.path)
        context = replace(self.context, key=self._key(work.path), hold=hold, ask=ask, session=session, tell=tell)
        try:
            async with asyncio.timeout(work.timeout):
                if wrong := unusable(kind.NODE.params, work.params):
                    raise NodeError("params", f"`{work.node}`: {wrong}", transient=False)
                value = await kind.run(work, context)
        except TimeoutError as error:
            raise NodeError("timeout", f"not done after {work.timeout or 0:g} seconds") from error
        except OSError as error:
            raise NodeError("failed", str(error)) from error
        except StateError:
            raise
        except HandrailError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise NodeError(error.code, f"{error.message}{hint}", transient=False) from error
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            message = f"`{work.node}` failed with an error of its own: {type(error).__name__}: {error}"
            raise NodeError("failed", message, transient=False) from error
        finally:
            for usage in telling.settle():
                self.record(machine.UsageReported(work.path, usage), durable=False)
            for handle in handles:
                self.programs.release(work.path, handle)
        return value

    def _key(self, path: str) -> str:
        again = f"#{self.state.rewinds}" if self.state.rewinds else ""
        return f"{self.context.run}/{path}{again}"

    async def ask(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        """A person's answer. Raises `Waiting` if the person has not answered yet."""
        digest = digest_of(question)
        if (path, digest) in self.memory.answers:
            self.inbox.clear(path)  # left there if the process was killed before it was cleared
            return self.memory.answers[path, digest]
        asked = self.state.questions.get(path)
        if asked is None or asked.input != digest:
            self.record(machine.Asked(path, digest, question))
        values = self.inbox.take(path, question)
        if values is None and self.outside.asker is not None:
            values = await self.outside.asker(path, question)
        if values is None:
            raise Waiting(path, str(question.get("title") or "a question"))
        self.record(machine.Answered(path, digest, values))
        self.inbox.clear(path)
        return values

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any:
        known = self.memory.facts.get(path, {})
        key = (place, kind, subject)
        if key not in known:
            found = machine.FactFound(path, place, kind, subject, self.world.look(kind, subject))
            self.record(found)
            return found.value
        return known[key]

    async def check(self, kind: str, params: Mapping[str, Any]) -> Finding:
        return await verify(kind, params, self.context)

    async def look(self, kind: str, subject: str) -> Any:
        return self.world.look(kind, subject)

    async def publish(self, path: str, made: list[Made], inputs: list[str]) -> None:
        """Publish the files that a step made. Each file is published once, even if the run was resumed."""
        publisher = self.outside.publisher
        if publisher is None:
            return
        for item in made:
            async with self._publishing:
                known = {artifact["path"] for artifact in self.memory.published.get(path, ())}
                if publisher.shown(item.path) in known:
                    continue
                artifact = await _in_thread(partial(publisher.publish, item, path, inputs))
                if artifact is not None:
                    self.record(machine.ArtifactPublished(path, {**artifact, "isNew": item.is_new}))

    async def together(self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str) -> list[Any]:
        return await together(works, limit, on_failure)

    async def pause(self, path: str, seconds: float) -> None:
        del path
        await asyncio.sleep(seconds)

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]:
        return limited(path, seconds)


def _until_reset(error: NodeError, now: float, tried: int) -> float | None:
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


def _not_json(error: Exception) -> str:
    """Why a value is not JSON, in plain words."""
    if isinstance(error, ValueError) and "float" in str(error):
        return "it holds a number that JSON does not have, such as infinity"
    return str(error)


def digest_of(value: Any) -> str:
    """A digest of a JSON value. Raises `NodeError` for a value that is not JSON, such as infinity."""
    try:
        text = jsonlite.dumps(value)
    except (ValueError, TypeError) as error:
        raise NodeError("params", f"its params cannot be stored: {_not_json(error)}", transient=False) from error
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
