"""What engines share: what a run remembers, parallel branches, time limits, waits and checks in one event loop.

Limits and waits continue over the lives of a run. How much of a limit is used up is recorded now and then, so a kill
loses little of it: a fiftieth of the limit, but at least a second and at most ten minutes. Time in which nobody drives
the run does not count. What a node remembers while it works is recorded once, and found again by its name after a
crash. An error inside a check fails the step.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from handrail.base.dataclasses import replace
from handrail.driven.runs.run_events import FactFound, TimeSpent
from handrail.driven.runs.state import OWN, WAIT, RunState
from handrail.extensions.contracts import CheckContext, Done, Finding, NodeContext, NodeError, StepAttempts, Waiting
from handrail.settings.secrets import Secrets, without_secrets
from handrail.source.field_checks import usable
from handrail.source.plain_text import counted

_NONE = StepAttempts()


def done(state: RunState, path: str) -> Done | None:
    """The phase or step at this path if it is finished. Its value is in its stored form."""
    step = state.steps.get(path)
    status = state.phases.get(path) if step is None else step.status
    if status != "done" and status != "skipped":
        return None
    if step is None:
        return Done(status, is_left_out=path in state.left_out)
    return Done(status, step.value, step.has_value, step.stop)


def attempts(state: RunState, path: str) -> StepAttempts:
    """The attempts of a step so far."""
    step = state.steps.get(path)
    if step is None or not (step.total or step.is_under_way):
        return _NONE
    return StepAttempts(
        failures=step.failures,
        total=step.total,
        failure=step.failure,
        is_refuted=step.is_refuted,
        is_over=step.is_over,
        is_interrupted=step.is_under_way and not step.is_asking,
    )


def recall(state: RunState, secrets: Secrets, path: str, name: str) -> Any:
    """The value that the work at this path recorded under a name. None if it recorded none."""
    known = state.facts.get(path, {}).get((OWN, "value", name))
    return None if known is None else secrets.from_storage(known)


def remember(
    state: RunState, record: Callable[[FactFound], None], secrets: Secrets, path: str, name: str, value: Any
) -> Any:
    """The value that the work at this path recorded under a name. If it recorded none, it records this one."""
    known, key = state.facts.get(path, {}), (OWN, "value", name)
    if key in known:
        return secrets.from_storage(known[key])
    record(FactFound(path, *key, value))
    return value


async def run_parallel(works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str) -> list[Any]:
    """Run all branches, at most `limit` at a time. A branch that waits for a person does not stop the others.

    A branch that is cancelled because another one failed gets the path of the failed step with its `CancelledError`.
    """
    room = asyncio.Semaphore(limit)

    async def one(work: Callable[[], Awaitable[Any]]) -> Any:
        async with room:
            return await work()

    tasks = [asyncio.ensure_future(one(work)) for work in works]
    left, failed = set(tasks), None
    try:
        while left:
            ready, left = await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION)
            failure = next(filter(None, map(_failure_of, ready)), None)
            if on_failure == "stop" and failure is not None:
                failed = getattr(failure, "path", None)
                break
    except asyncio.CancelledError as error:
        failed = next(iter(error.args), None)
        raise
    finally:
        for task in tasks:
            task.cancel(failed)
        await asyncio.gather(*tasks, return_exceptions=True)
    for failure in filter(None, map(_failure_of, tasks)):
        raise failure
    return [task.result() for task in tasks]


def _failure_of(task: asyncio.Future[Any]) -> BaseException | None:
    """The error of a branch that failed; None if the branch is running, done or waits for a person."""
    if not task.done() or task.cancelled():
        return None
    error = task.exception()
    return None if isinstance(error, Waiting) else error


PARTS = 50
LEAST_BEAT, MOST_BEAT = 1.0, 600.0
SMALL = 100


async def resumable_wait(
    state: RunState, record: Callable[[FactFound], None], clock: Callable[[], float], path: str, seconds: float
) -> None:
    """The wait of a node. When it ends is recorded, so a resumed run only waits for what is left."""
    key = (WAIT, "until", f"{seconds:g}")
    until = state.facts.get(path, {}).get(key)
    if until is None and seconds > 0:
        until = clock() + seconds
        record(FactFound(path, *key, until))
    await asyncio.sleep(min(max((until or 0.0) - clock(), 0.0), seconds))


class TimeLimits:
    """The time limits of one run. `spent` returns the seconds that earlier lives used of the limit at a path."""

    def __init__(self, spent: Callable[[str], float], record: Callable[[TimeSpent], None]) -> None:
        self.spent = spent
        self.record = record

    def left(self, path: str, seconds: float | None) -> float | None:
        return None if seconds is None else max(0.0, seconds - self.spent(path))

    @contextlib.asynccontextmanager
    async def within(self, path: str, seconds: float | None) -> AsyncIterator[None]:
        """Raises `NodeError` with the code `timeout` if the body takes longer, together with earlier lives."""
        if seconds is None:
            yield
            return
        before, begun = self.spent(path), time.monotonic()

        def used() -> float:
            return before + time.monotonic() - begun

        beat = asyncio.ensure_future(self._beat(path, seconds, used))
        scope = asyncio.timeout(max(0.0, seconds - before))
        try:
            async with scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            self.record(TimeSpent(path, seconds, is_over=True))
            what = f"`{path}`" if path else "the run"
            told = f", {before:.0f} of them before the run was resumed" if before >= 1 else ""
            raise NodeError("timeout", f"{what} was not done after {counted(seconds, 'second')}{told}") from error
        except BaseException:
            if used() - self.spent(path) >= seconds / SMALL:
                self.record(TimeSpent(path, round(used(), 3)))
            raise
        finally:
            beat.cancel()

    async def _beat(self, path: str, seconds: float, used: Callable[[], float]) -> Any:
        while True:
            await asyncio.sleep(min(max(LEAST_BEAT, seconds / PARTS), MOST_BEAT))
            self.record(TimeSpent(path, round(used(), 3)))


async def verify(kind: str, params: Mapping[str, Any], context: NodeContext) -> Finding:
    """Run the check and return what it found. It gets the environment without secrets, as a command does."""
    env = without_secrets(context.env, context.pass_env, context.secrets)
    check = context.registry.check_kind(kind)
    try:
        params = usable(check.CHECK.params, params)
    except ValueError as error:
        raise NodeError("expectation", f"`{kind}` cannot be checked: {error}", transient=False) from error

    def mask(text: str) -> str:
        return Secrets(context.env, context.secrets).mask(text)

    try:
        begin = time.monotonic()
        inside = CheckContext(context.project, env, mask, context.definitions, context.registry)
        finding = await check.verify(params, inside)
        return replace(finding, seconds=round(time.monotonic() - begin, 3))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"`{kind}` could not be checked: {type(error).__name__}: {error}"
        raise NodeError("expectation", message, transient=False) from error
