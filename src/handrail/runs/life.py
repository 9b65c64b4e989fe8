"""One life of a run: it begins or resumes, runs the flow, and ends. An engine plays it.

`play_to_end` is the loop that plays it in one process. It watches whether a person stops the run or answers a question.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from handrail.contracts import Durable, Exhausted, History, NodeError, Site, Waiting
from handrail.errors import RefusedError
from handrail.flows.account import FlowResult
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan
from handrail.runs import machine
from handrail.runs.aside import remove_unchanged
from handrail.runs.bounds import Meter
from handrail.runs.fold import RunState, fold
from handrail.runs.interpret import FlowFailed, Interpreter
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import Cause, Event, Mode
from handrail.runs.modes import is_partial, phases_to_rewind
from handrail.runs.questions import refuse_unless_waiting
from handrail.runs.request import About
from handrail.runs.worktree import RunTree
from handrail.source.dataclasses import replace
from handrail.source.values import Unresolved

LOOK_AGAIN = 0.1


class FlowLife:
    """A run of a flow while it is driven. `interpreter` makes a new interpreter, which starts at the first phase.

    `news` are recorded if the run is resumed: other agents or other bounds than before. `meter`
    says how long the run may take. `tree` is the worktree in which it works.
    """

    def __init__(
        self,
        run: LoadedRun,
        mode: Cause,
        site: Site,
        interpreter: Callable[[Durable], Interpreter],
        news: Sequence[Event] = (),
        meter: Meter | None = None,
    ) -> None:
        self.run = run
        self.tree: RunTree | None = None
        self.news = news
        self.meter = meter
        self.mode = mode
        self.site = site
        self.interpreter = interpreter
        self.until: str | None = None

    @property
    def needs_preparation(self) -> bool:
        return bool(self.run.about.aside)

    def prepare(self) -> None:
        remove_unchanged(self.run.about.request.folder(self.site.project), self.run.about.aside)

    def begin(self, history: History) -> list[Event]:
        run, state, plan = self.run.id, fold(event for _, event in history.records), self.run.plan
        if self.mode == "answer":
            refuse_unless_waiting(run, state, is_driven=True)
            self.mode = "resume"
        if history.attempt != self.run.attempt:
            raise RefusedError(f"run `{run}` was restarted by another command", "run the command again")
        if not history.records:
            self.until = self.run.about.request.until
            return opening(self.run.about, plan, self.site.by)
        resumed = replace(resuming(run, state, plan, self.mode), by=self.site.by)
        self.until = resumed.until
        return [resumed, *self.news]

    async def play(self, durable: Durable) -> Event:
        interpreter = self.interpreter(durable)
        try:
            async with _within(self.meter):
                if self.tree is not None:
                    await self.tree.make_ready(partial(_notice, durable))
                result = await interpreter.run(interpreter.values.params, interpreter.context, until=self.until)
                if self.tree is not None and not result.is_partial:
                    await self.tree.end(partial(_notice, durable), is_done=result.outcome == "success")
                return _ended(result)
        except Exhausted as error:
            return machine.RunEnded("cancelled", None, str(error), None, "budget")
        except FlowFailed as error:
            return machine.RunEnded("failed", None, f"{error.code} at {error.path}", error.message, error.code)
        except (NodeError, Unresolved) as error:
            return machine.RunEnded("failed", None, error.code, error.message, error.code)


def _notice(durable: Durable, text: str) -> None:
    durable.note(machine.Noticed("", text))


@contextlib.asynccontextmanager
async def _within(meter: Meter | None) -> AsyncIterator[None]:
    """Raises `Exhausted` when the time of the run is used up."""
    begun, left = time.monotonic(), None if meter is None else meter.seconds_left
    scope = asyncio.timeout(left)
    try:
        async with scope:
            yield
    except TimeoutError:
        if meter is None or not scope.expired():
            raise
        raise meter.out_of_time() from None
    finally:
        if meter is not None:  # a life may be played several times
            meter.seconds += time.monotonic() - begun


def opening(about: About, plan: FlowPlan, by: str | None) -> list[Event]:
    """The first events of a run: it starts, and skips the phases before `--from`."""
    events: list[Event] = [machine.RunStarted(plan.id, about.digest, about.request.until, by)]
    ids = [phase.id for phase in plan.phases]
    before = ids[: ids.index(about.request.start)] if about.request.start else []
    skipped = [machine.PhaseSkipped(segment(id_), machine.LEFT_OUT) for id_ in before]
    return [*events, *skipped]


def resuming(run: str, state: RunState, plan: FlowPlan, mode: Mode) -> machine.RunResumed:
    """The event that resumes the run. Raises `RefusedError` if its state does not allow that."""
    if mode == "run":
        raise RefusedError(f"run `{run}` is already {state.status}", f"`handrail resume {run}` resumes it")
    if mode == "continue":
        return machine.RunResumed(mode, phases_to_rewind(run, state, plan), None)
    rest = is_partial(state, plan)
    if state.status in ("completed", "stopped") and not rest:
        how = f"`handrail continue {run}` continues it, " if plan.again else ""
        raise RefusedError(f"run `{run}` is already {state.status}", f"{how}`handrail restart {run}` starts it again")
    return machine.RunResumed(mode, [], None if rest else state.until)


def _ended(ended: FlowResult) -> machine.RunEnded:
    if ended.stopped_by is not None:
        status: machine.RunStatus = "completed" if ended.outcome == "success" else "stopped"
        return machine.RunEnded(status, ended.outcome, f"Stopped by {ended.stopped_by}", None, "stop-flow-if")
    if ended.is_partial:
        return machine.RunEnded("completed", "success", "ended before its last phase, as requested", None, "until")
    return machine.RunEnded("completed", "success", None, None)


def stopped(by: str | None) -> machine.RunEnded:
    """The end of a run that `handrail stop` ended. `by` is who called it, as in every event."""
    kind, _, name = (by or "").partition(":")
    who = {
        "person": " by a person",
        "script": " by a script",
        "agent": f" by the agent {name}",
        "run": f" by run {name}",
    }
    return machine.RunEnded("cancelled", None, f"stopped{who.get(kind, '')}", None, "stopped", by)


STOPPED = stopped(None)
INTERRUPTED = machine.RunEnded("cancelled", None, "interrupted", None, "interrupted")


async def play_to_end(
    play: Callable[[], Awaitable[Event]], is_stop_requested: Callable[[], bool], has_news: Callable[[], bool]
) -> Event:
    """Play until the life ends, and return its last event.

    Stops soon after `is_stop_requested`. If the run waits for a person and `has_news`, such as an answer, it is played
    again.
    """
    while True:
        task = asyncio.ensure_future(play())
        watch = asyncio.ensure_future(_cancel_when(is_stop_requested, task))
        try:
            return await task
        except Waiting as waiting:
            if not has_news():
                return machine.RunParked(waiting.path, waiting.reason)
        except asyncio.CancelledError:
            if is_stop_requested():
                return STOPPED
            raise
        finally:
            watch.cancel()


async def _cancel_when(is_stop_requested: Callable[[], bool], task: asyncio.Future[Any]) -> None:
    while not is_stop_requested():
        await asyncio.sleep(LOOK_AGAIN)
    task.cancel()
