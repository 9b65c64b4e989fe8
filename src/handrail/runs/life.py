"""One life of a run: it begins or resumes, runs the flow, and ends. An engine plays it.

`play_to_end` is the loop that plays it in one process. It watches whether a person stops the run or answers a question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from handrail.contracts import Durable, History, NodeError, Waiting
from handrail.errors import RefusedError
from handrail.flows.account import FlowResult
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan
from handrail.runs import machine
from handrail.runs.aside import remove_unchanged
from handrail.runs.fold import RunState, fold
from handrail.runs.interpret import FlowFailed, Interpreter
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import Event, Mode
from handrail.runs.modes import is_partial, phases_to_rewind
from handrail.runs.request import About
from handrail.runs.routing import Routed
from handrail.source.values import Unresolved

LOOK_AGAIN = 0.1


class FlowLife:
    """A run of a flow while it is driven. `interpreter` makes a new interpreter, which starts at the first phase.

    `routed` is recorded if the run is resumed: other agents than before. `by` is who drives it.
    """

    def __init__(
        self,
        run: LoadedRun,
        mode: Mode,
        project: str,
        interpreter: Callable[[Durable], Interpreter],
        routed: Routed | None = None,
        by: str | None = None,
    ) -> None:
        self.run = run
        self.routed = routed
        self.mode = mode
        self.project = project
        self.interpreter = interpreter
        self.by = by
        self.until: str | None = None

    @property
    def needs_preparation(self) -> bool:
        return bool(self.run.about.aside)

    def prepare(self) -> None:
        remove_unchanged(self.project, self.run.about.aside)

    def begin(self, history: History) -> list[Event]:
        run, state, plan = self.run.id, fold(event for _, event in history.records), self.run.plan
        if history.attempt != self.run.attempt:
            raise RefusedError(f"run `{run}` was restarted by another command", "run the command again")
        if not history.records:
            self.until = self.run.about.request.until
            return opening(self.run.about, plan, self.by)
        resumed = replace(_resumed(run, state, plan, self.mode), by=self.by)
        self.until = resumed.until
        return [resumed] if self.routed is None else [resumed, self.routed]

    async def play(self, durable: Durable) -> Event:
        interpreter = self.interpreter(durable)
        try:
            return _ended(await interpreter.run(interpreter.values.params, interpreter.context, until=self.until))
        except FlowFailed as error:
            return machine.RunEnded("failed", None, f"{error.code} at {error.path}", error.message, error.code)
        except (NodeError, Unresolved) as error:
            return machine.RunEnded("failed", None, error.code, error.message, error.code)


def opening(about: About, plan: FlowPlan, by: str | None) -> list[Event]:
    """The first events of a run: it starts, and skips the phases before `--from`."""
    events: list[Event] = [machine.RunStarted(plan.id, about.digest, about.request.until, by)]
    ids = [phase.id for phase in plan.phases]
    before = ids[: ids.index(about.request.start)] if about.request.start else []
    skipped = [machine.PhaseSkipped(segment(id_), machine.LEFT_OUT) for id_ in before]
    return [*events, *skipped]


def _resumed(run: str, state: RunState, plan: FlowPlan, mode: Mode) -> machine.RunResumed:
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
    play: Callable[[], Awaitable[Event]], is_stop_requested: Callable[[], bool], has_answer: Callable[[], bool]
) -> Event:
    """Play until the life ends, and return its last event.

    Stops soon after `is_stop_requested`. If the run waits for a person and `has_answer`, it is played again.
    """
    while True:
        task = asyncio.ensure_future(play())
        watch = asyncio.ensure_future(_cancel_when(is_stop_requested, task))
        try:
            return await task
        except Waiting as waiting:
            if not has_answer():
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
