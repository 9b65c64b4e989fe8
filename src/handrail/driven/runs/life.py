"""One life of a run, and what engines share that play it in one event loop.

A life begins or resumes, runs the flow, and ends. The worktree of the run is made before its first step, and kept,
merged or removed when it is completed. Files that an earlier attempt published are removed before the first step of a
new one; their content stays on the shelf. `play_to_end` plays a life in one process. It watches whether a person stops
the run or answers a question.

Limits and waits continue over the lives of a run. How much of a limit is used up is recorded now and then, so a kill
loses little of it: a fiftieth of the limit, but at least a second and at most ten minutes. Time in which nobody drives
the run does not count. What a node remembers while it works is recorded once, and found again by its name after a
crash. An error inside a check fails the step.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from handrail.base import files
from handrail.base.dataclasses import replace
from handrail.base.errors import HandrailError, RefusedError
from handrail.driven.artifacts.shelf import digest_of_file
from handrail.driven.flows.plan import FlowPlan, path_segment
from handrail.driven.flows.results import FlowResult
from handrail.driven.runs import run_events
from handrail.driven.runs.interpreter import FlowFailed, Interpreter
from handrail.driven.runs.request import LoadedRun, StoredRequest
from handrail.driven.runs.run_events import BOUND_OPTIONS, Bounded, Cause, Event, FactFound, Mode, TimeSpent
from handrail.driven.runs.run_rules import available_modes, paths_of, phases_to_rewind, refuse_unless_waiting
from handrail.driven.runs.state import LEFT_OUT, OWN, WAIT, RunState, fold, is_partial
from handrail.driven.worktrees.create import Tell, make_ready
from handrail.driven.worktrees.git import Git
from handrail.driven.worktrees.merge_and_remove import merge_worktree, remove_worktree, worktree_state
from handrail.driven.worktrees.records import Worktree, WorktreeRecords
from handrail.extensions import contracts
from handrail.settings.folders import UserFolders
from handrail.settings.secrets import Secrets, without_secrets
from handrail.source.field_checks import usable
from handrail.source.plain_text import caller_words, counted
from handrail.source.values import Unresolved

WORKTREE_CODE = "worktree"


class RunWorktree:
    """The worktree in which a run works. A failure is a `NodeError`, so the run fails and can be resumed."""

    def __init__(self, trees: WorktreeRecords, tree: Worktree, env: Mapping[str, str]) -> None:
        self.trees = trees
        self.tree = tree
        self.env = env

    async def make_ready(self, tell: Tell) -> None:
        """Make the worktree if it does not exist."""
        if self.tree.is_shared:
            if not os.path.isdir(self.tree.folder):
                message = f"the worktree `{self.tree.path}` does not exist any more"
                raise contracts.LastingError(WORKTREE_CODE, message)
            return
        try:
            self.tree = await make_ready(self.trees, self.tree, self.env, tell)
        except RefusedError as error:
            raise _worktree_failure(error) from error

    async def end(self, tell: Tell, *, is_done: bool) -> None:
        """Do what the person chose for the end. Without a choice, a worktree without any work is removed."""
        tree = self.trees.at(self.tree.path)
        if self.tree.is_shared or tree is None:
            return
        try:
            if is_done and tree.end == "merge":
                commit = await merge_worktree(self.trees, tree, self.env)
                await remove_worktree(self.trees, tree, self.env)
                tell(f"merged into `{tree.base}` ({commit[:10]}); the worktree is removed")
            elif (is_done and tree.end == "remove") or (
                tree.end is None and not (await worktree_state(tree, Git(folder=tree.top, env=self.env))).has_work
            ):
                await remove_worktree(self.trees, tree, self.env)
                tell(f"the worktree `{tree.path}` is removed")
            else:
                tell(kept_words(tree))
        except RefusedError as error:
            raise _worktree_failure(error) from error


def tree_of(run: LoadedRun, site: contracts.Site, pass_env: Sequence[str]) -> RunWorktree | None:
    """The worktree in which a run works; None if it works in the project itself. Its programs get no secrets."""
    tree = run.about.request.worktree
    if tree is None:
        return None
    env = without_secrets(site.env, pass_env, site.secrets)
    return RunWorktree(WorktreeRecords(UserFolders(site.env)), tree, {**env, "HANDRAIL_RUN": run.id})


def kept_words(tree: Worktree) -> str:
    """Where a worktree is, and what a person can do with it."""
    how = "merges it" if tree.base is None else f"merges it into `{tree.base}`"
    commands = f"`handrail worktrees merge {tree.run}` {how}, `handrail worktrees remove {tree.run}` removes it"
    return f"the work is on branch `{tree.branch}` in `{tree.path}`; {commands}"


def _worktree_failure(error: RefusedError) -> contracts.NodeError:
    hint = f"; {error.hint}" if error.hint else ""
    return contracts.LastingError(WORKTREE_CODE, f"{error.message}{hint}")


class Meter:
    """What a run used so far, beside its bounds. `usages` and `seconds` are those of earlier lives.

    A run that reaches a bound ends and can be resumed with a higher one.
    """

    def __init__(self, bounds: Bounded, usages: Iterable[Mapping[str, Any]] = (), seconds: float = 0.0) -> None:
        self.bounds = bounds
        self.seconds = seconds
        self.usd, self.tokens = 0.0, 0
        self._now: dict[str, Mapping[str, Any]] = {}
        for usage in usages:
            self._add(usage)

    def _add(self, usage: Mapping[str, Any]) -> None:
        self.usd += _usd(usage)
        self.tokens += _tokens(usage)

    @property
    def seconds_left(self) -> float | None:
        return None if self.bounds.minutes is None else max(0.0, self.bounds.minutes * 60 - self.seconds)

    @property
    def usd_left(self) -> float | None:
        if self.bounds.usd is None:
            return None
        return max(0.0, self.bounds.usd - self.usd - sum(map(_usd, self._now.values())))

    def refuse(self) -> None:
        """Raise `Exhausted` if a bound is reached."""
        now = self._now.values()
        used = {"usd": self.usd + sum(map(_usd, now)), "tokens": self.tokens + sum(map(_tokens, now))}
        for name, amount in used.items():
            most = getattr(self.bounds, name)
            if most is not None and amount >= most:
                raise contracts.Exhausted(self._words(name, amount, most))

    def took(self, path: str, usage: Mapping[str, Any]) -> None:
        """Count what the current call of an agent used so far. Raises `Exhausted` if that reaches a bound."""
        self._now[path] = usage
        self.refuse()

    def blind_to(self, usage: Mapping[str, Any]) -> str | None:
        """Says which bound cannot hold because the agent did not report what it used; None if all can."""
        if self.bounds.usd is not None and usage.get("usd") is None:
            effect = f"so it cannot be counted for {self.bounds.source('usd')}"
            return f"the agent did not report what it cost, {effect}; `--max-tokens` may hold instead"
        if self.bounds.tokens is not None and not _tokens(usage):
            effect = f"so they cannot be counted for {self.bounds.source('tokens')}"
            return f"the agent did not report its tokens, {effect}; `--max-minutes` holds"
        return None

    def blind_to_lost(self, agent: str) -> str:
        """Says that what an agent used before a kill is not known, and which bounds cannot hold because of that."""
        names = [f"`{BOUND_OPTIONS[name]}`" for name in ("usd", "tokens") if getattr(self.bounds, name) is not None]
        effect = f", so {' and '.join(names)} cannot hold" if names else ""
        return f"cost unknown: {agent} left no record of what it used before the run was interrupted{effect}"

    def settle(self, path: str) -> None:
        """The current call of the agent of a step has ended."""
        self._add(self._now.pop(path, {}))

    def out_of_time(self) -> contracts.Exhausted:
        assert self.bounds.minutes is not None
        return contracts.Exhausted(self._words("minutes", self.bounds.minutes, self.bounds.minutes))

    def _words(self, name: str, used: float, most: float) -> str:
        source = f"({self.bounds.source(name)})"
        match name:
            case "usd":
                return f"it used ${used:.4g} of at most ${most:.4g} {source}"
            case "tokens":
                return f"it used {int(used)} of at most {counted(int(most), 'token')} {source}"
            case _:
                return f"it ran for {counted(most, 'minute')}, which is the most it may {source}"


def _usd(usage: Mapping[str, Any]) -> float:
    found = usage.get("usd")
    return float(found) if isinstance(found, int | float) else 0.0


def _tokens(usage: Mapping[str, Any]) -> int:
    found = (usage.get("inputTokens"), usage.get("outputTokens"))
    return sum(int(count) for count in found if isinstance(count, int | float))


LOOK_AGAIN = 0.2


class FlowLife:
    """A run of a flow while it is driven. `interpreter` makes a new interpreter, which starts at the first phase.

    `news` are recorded if the run is resumed: other agents or other bounds than before. `meter`
    says how long the run may take. `tree` is the worktree in which it works.
    """

    def __init__(
        self,
        run: LoadedRun,
        mode: Cause,
        site: contracts.Site,
        interpreter: Callable[[contracts.Durable], Interpreter],
        news: Sequence[Event] = (),
        meter: Meter | None = None,
    ) -> None:
        self.run = run
        self.tree: RunWorktree | None = None
        self.news = news
        self.meter = meter
        self.mode = mode
        self.site = site
        self.interpreter = interpreter
        self.until: str | None = None

    def prepare(self) -> None:
        """Remove the files of the previous attempt that have not changed since they were published."""
        folder = self.run.about.request.folder(self.site.project)
        for path, digest in self.run.about.aside:
            if digest_of_file(file := os.path.join(folder, path)) == digest:
                files.remove(file)

    def begin(self, history: contracts.History) -> list[Event]:
        run, state, plan = self.run.id, history.state or fold(history.records), self.run.plan
        if self.mode == "answer":
            refuse_unless_waiting(run, state, is_driven=True)
        mode, self.mode = "resume" if self.mode == "answer" else self.mode, "resume"  # if it begins again
        if history.attempt != self.run.attempt:
            raise RefusedError(f"run `{run}` was restarted by another command", "run the command again")
        if not history.records:
            self.until = self.run.about.request.until
            return opening_events(self.run.about, plan, self.site.by)
        resumed = replace(resume_event(run, state, plan, mode), by=self.site.by)
        self.until, news, self.news = resumed.until, self.news, ()
        return [resumed, *news]

    async def play(self, durable: contracts.Durable) -> Event:
        interpreter = self.interpreter(durable)
        try:
            async with _within(self.meter):
                if self.tree is not None:
                    await self.tree.make_ready(partial(_notice, durable))
                result = await interpreter.run(self.until)
                if self.tree is not None and not result.is_partial:
                    await self.tree.end(partial(_notice, durable), is_done=result.outcome == "success")
                return _ended(result)
        except contracts.Exhausted as error:
            return run_events.RunEnded("cancelled", None, str(error), None, "budget")
        except FlowFailed as error:
            outcome = error.code if error.code == run_events.DENIED else None
            return run_events.RunEnded("failed", outcome, f"{error.code} at {error.path}", error.message, error.code)
        except (contracts.NodeError, Unresolved) as error:
            return run_events.RunEnded("failed", None, error.code, error.message, error.code)


def _notice(durable: contracts.Durable, text: str) -> None:
    durable.note(run_events.Noticed("", text))


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


def started_event(about: StoredRequest, by: str | None) -> run_events.RunStarted:
    earlier = {name: value for name, value in about.earlier.items() if name != "routings"}
    return run_events.RunStarted(about.flow, about.digest, about.request.until, by, earlier)


def opening_events(about: StoredRequest, plan: FlowPlan, by: str | None) -> list[Event]:
    """The first events of a run: it starts, and skips the phases before `--from`."""
    events: list[Event] = [started_event(about, by)]
    ids = [phase.id for phase in plan.phases]
    before = ids[: ids.index(about.request.start)] if about.request.start else []
    skipped = [run_events.PhaseSkipped(path_segment(id_), LEFT_OUT) for id_ in before]
    return [*events, *skipped]


def resume_event(run: str, state: RunState, plan: FlowPlan, mode: Mode) -> run_events.RunResumed:
    """The event that resumes the run. Raises `RefusedError` if its state does not allow that."""
    if mode == "run":
        raise RefusedError(f"run `{run}` is already {state.status}", f"`handrail resume {run}` resumes it")
    if mode == "continue":
        return run_events.RunResumed(mode, phases_to_rewind(run, state, plan), None)
    rest = is_partial(state, paths_of(plan))
    if state.status in ("completed", "stopped") and not rest:
        how = f"`handrail continue {run}` continues it, " if "continue" in available_modes(state, plan) else ""
        raise RefusedError(f"run `{run}` is already {state.status}", f"{how}`handrail restart {run}` starts it again")
    return run_events.RunResumed(mode, [], None if rest else state.until)


def _ended(ended: FlowResult) -> run_events.RunEnded:
    if ended.stopped_by is not None:
        status: run_events.RunStatus = "completed" if ended.outcome == "success" else "stopped"
        return run_events.RunEnded(status, ended.outcome, f"Stopped by {ended.stopped_by}", None, "stop-flow-if")
    if ended.is_partial:
        return run_events.RunEnded("completed", "success", "ended before its last phase, as requested", None, "until")
    return run_events.RunEnded("completed", "success", None, None)


def stop_event(by: str | None, code: str = "stopped") -> run_events.RunEnded:
    """The end of a run that `handrail stop` or a signal ended. `by` is who did it, as in every event."""
    who = f" by {words}" if (words := caller_words(by)) else ""
    return run_events.RunEnded("cancelled", None, f"cancelled{who}", None, code, by)


STOPPED = stop_event(None)


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
        except contracts.Waiting as waiting:
            if not has_news():
                return run_events.RunParked(waiting.path, waiting.reason)
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


def lost_usage(state: RunState, path: str | None, context: contracts.NodeContext) -> Iterator[run_events.UsageReported]:
    """What the agent of a step, or of all steps, used before a kill, if its own record of the conversation says it."""
    for (lost_path, session), (agent, since) in state.lost.items():
        if path in (lost_path, None):
            with contextlib.suppress(HandrailError, contracts.NodeError, LookupError, OSError):
                spent = getattr(context.registry.executor(agent), "spent", None)
                usage = None if spent is None else spent(session, context.env, since)
                if usage is not None:
                    yield run_events.UsageReported(lost_path, usage, session)


_NONE = contracts.StepAttempts()


def done(state: RunState, path: str) -> contracts.Done | None:
    """The phase or step at this path if it is finished. Its value is in its stored form."""
    step = state.steps.get(path)
    status = state.phases.get(path) if step is None else step.status
    if status != "done" and status != "skipped":
        return None
    if step is None:
        return contracts.Done(status, is_left_out=path in state.left_out)
    return contracts.Done(status, step.value, step.has_value, step.stop)


def attempts(state: RunState, path: str) -> contracts.StepAttempts:
    step = state.steps.get(path)
    if step is None or not (step.total or step.is_under_way):
        return _NONE
    return contracts.StepAttempts(
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
    return None if isinstance(error, contracts.Waiting) else error


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
            earlier = f", {before:.0f} of them before the run was resumed" if before >= 1 else ""
            raise contracts.NodeError(
                "timeout", f"{what} was not done after {counted(seconds, 'second')}{earlier}"
            ) from error
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


async def verify(kind: str, params: Mapping[str, Any], context: contracts.NodeContext) -> contracts.Finding:
    """Run the check and return what it found. It gets the environment without secrets, as a command does."""
    env = without_secrets(context.env, context.pass_env, context.secrets)
    check = context.registry.check_kind(kind)
    try:
        params = usable(check.CHECK.params, params)
    except ValueError as error:
        raise contracts.LastingError("expectation", f"`{kind}` cannot be checked: {error}") from error

    def mask(text: str) -> str:
        return Secrets(context.env, context.secrets).mask(text)

    try:
        begin = time.monotonic()
        inside = contracts.CheckContext(context.project, env, mask, context.definitions, context.registry)
        finding = await check.verify(params, inside)
        return replace(finding, seconds=round(time.monotonic() - begin, 3))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"`{kind}` could not be checked: {type(error).__name__}: {error}"
        raise contracts.LastingError("expectation", message) from error
