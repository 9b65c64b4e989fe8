"""The embedded engine of flows: one folder a run, one journal, one process at a time. Implements `Durable`.

A node that finished is never run again: its result is found by its path and the digest of all it was given. One
that was under way when the process died is run again if it says that is safe, else a person is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from handrail import jsonlite
from handrail.contracts import NodeContext, NodeError, NodeKind, Work
from handrail.driven import machine
from handrail.driven.machine import Event, RunState
from handrail.driven.plan import Retry
from handrail.engine import journal
from handrail.engine.session import make_private
from handrail.errors import RefusedError, StateError

JOURNAL = "journal"


class Run:
    """One execution of a flow, on disk. `nodes` are the kinds of work it knows."""

    def __init__(
        self,
        folder: str,
        nodes: Mapping[str, NodeKind],
        context: NodeContext,
        clock: Callable[[], float],
        observer: Callable[[Event], None] | None = None,
    ) -> None:
        self.folder = folder
        self.nodes = nodes
        self.context = context
        self.clock = clock
        self.observer = observer
        self.journal = os.path.join(folder, JOURNAL)
        self.state = RunState({}, {})
        self.finished: dict[tuple[str, str], Any] = {}
        self.under_way: dict[str, str] = {}
        self.facts: dict[tuple[str, str, str], Any] = {}
        self.said: set[tuple[str, ...]] = set()
        self.number = self.end = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """This process drives the run, and no other does. The lock dies with its holder."""
        make_private(self.folder)
        path = os.path.join(self.folder, "lock")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
                message = f"run `{os.path.basename(self.folder)}` is driven by process {holder or 'unknown'}"
                raise RefusedError(message, "wait for it, or `handrail stop` it") from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            self._recall()
            yield
        finally:
            os.close(handle)

    def _recall(self) -> None:
        """Everything that the journal tells."""
        scan = journal.read(self.journal)
        try:
            for record in scan.records:
                for data in record["events"]:
                    self._take(machine.event_from_json(data))
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"the journal `{self.journal}` cannot be read: {error}") from error
        self.number, self.end = len(scan.records), scan.end

    def _take(self, event: Event) -> None:
        self.state = machine.apply(self.state, event)
        match event:
            case machine.NodeStarted():
                self.under_way[event.path] = event.input
            case machine.NodeFinished():
                self.finished[event.path, event.input] = event.value
                self.under_way.pop(event.path, None)
            case machine.NodeFailed():
                self.under_way.pop(event.path, None)
            case machine.FactFound():
                self.facts[event.path, event.kind, event.subject] = event.value
            case machine.RunStarted() | machine.RunEnded() | machine.StepFailed() | machine.SummarySet():
                pass
            case _:
                self.said.add(_key(event))

    def record(self, event: Event, *, durable: bool = True) -> None:
        record = {"n": self.number, "t": self.clock(), "events": [machine.event_to_json(event)]}
        self.end = journal.append(self.journal, self.end, record, durable=durable)
        self.number += 1
        self._take(event)
        if self.observer is not None:
            self.observer(event)

    def note(self, event: Event) -> None:
        """Something to be seen; said once, also over several lives of the run."""
        if isinstance(event, machine.StepFailed | machine.SummarySet) or _key(event) not in self.said:
            self.record(event, durable=False)

    async def node(self, work: Work, retry: Retry) -> Any:
        digest = _digest(work)
        if (work.path, digest) in self.finished:
            return self.finished[work.path, digest]
        kind = self.nodes.get(work.node)
        if kind is None:
            raise NodeError("node-unknown", f"there is no node `{work.node}`", transient=False)
        if self.under_way.get(work.path) == digest and kind.RERUN != "safe":
            message = f"`{work.path}` was under way when the run was interrupted and may have done its work"
            raise NodeError("rerun", message, transient=False)
        wait = retry.wait
        for attempt in range(1, retry.attempts + 1):
            self.record(machine.NodeStarted(work.path, digest, attempt), durable=kind.RERUN != "safe")
            try:
                value = await self._run(kind, work)
            except NodeError as error:
                failed = machine.NodeFailed(work.path, digest, attempt, error.code, error.message)
                self.record(failed)
                if attempt == retry.attempts or not error.transient:
                    raise
                await asyncio.sleep(wait)
                wait *= retry.factor
            else:
                self.record(machine.NodeFinished(work.path, digest, attempt, value))
                return value
        raise AssertionError("the last attempt returns or raises")

    async def _run(self, kind: NodeKind, work: Work) -> Any:
        try:
            async with asyncio.timeout(work.timeout):
                value = await kind.run(work, self.context)
        except TimeoutError as error:
            raise NodeError("timeout", f"not done after {work.timeout or 0:g} seconds") from error
        except OSError as error:
            raise NodeError("failed", str(error)) from error
        return jsonlite.loads(jsonlite.dumps(value))

    async def fact(self, path: str, kind: str, subject: str) -> Any:
        key = (path, kind, subject)
        if key not in self.facts:
            self.record(machine.FactFound(path, kind, subject, await self.look(kind, subject)))
        return self.facts[key]

    async def look(self, kind: str, subject: str) -> Any:
        path = os.path.realpath(os.path.join(self.context.project, subject))
        if kind != "exists" and not path.startswith(self.context.project.rstrip("/") + "/"):
            raise NodeError("path-escape", f"`{subject}` leads out of the project", transient=False)
        if kind == "exists":
            return os.path.exists(path)
        if kind == "file":
            return os.path.isfile(path)
        if kind == "text":
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read()
            except OSError:
                return None
        raise NodeError("fact-unknown", f"nothing is known of `{kind}`", transient=False)

    async def together(self, works: list[Any]) -> list[Any]:
        """All at once; the first failure ends the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(work) for work in works]
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from several
        return [task.result() for task in tasks]

    @contextlib.asynccontextmanager
    async def limit(self, path: str, seconds: float | None) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise NodeError("timeout", f"`{path}` was not done after {seconds or 0:g} seconds") from error


def _key(event: Event) -> tuple[str, ...]:
    return type(event).__name__, *map(str, event)


def _digest(work: Work) -> str:
    body = jsonlite.dumps([work.node, work.params, work.prompt])
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
