"""One life of a run: it begins or resumes, runs the flow, and ends. An engine plays it.

`play_to_end` is the loop that plays it in one process. It watches whether a person stops the run or answers a question.
The worktree of the run is made before its first step, and kept, merged or removed when it is completed. Files that an
earlier attempt published are removed before the first step of a new one; their content stays on the shelf.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from handrail.base.dataclasses import replace
from handrail.base.errors import RefusedError
from handrail.driven.artifacts.shelf import digest_of_file
from handrail.driven.flows.plan import FlowPlan, path_segment
from handrail.driven.flows.results import FlowResult
from handrail.driven.runs import run_events
from handrail.driven.runs.choices import Meter
from handrail.driven.runs.interpreter import FlowFailed, Interpreter
from handrail.driven.runs.loaded_run import LoadedRun
from handrail.driven.runs.request import StoredRequest
from handrail.driven.runs.run_events import Cause, Event, Mode
from handrail.driven.runs.run_rules import paths_of, phases_to_rewind, refuse_unless_waiting
from handrail.driven.runs.state import RunState, fold, is_partial
from handrail.driven.worktrees.git import Git
from handrail.driven.worktrees.lifecycle import Tell, make_ready, merge_worktree, remove_worktree, standing
from handrail.driven.worktrees.records import Worktree, WorktreeRecords
from handrail.extensions.contracts import Durable, Exhausted, History, NodeError, Site, Waiting
from handrail.settings.folders import UserFolders
from handrail.settings.secrets import without_secrets
from handrail.source.values import Unresolved


def remove_unchanged(project: str, files: Sequence[Sequence[str]]) -> None:
    """Remove the files, given as (path, digest), that have not changed since they were published."""
    for path, digest in files:
        file = os.path.join(project, path)
        if digest_of_file(file) == digest:
            with contextlib.suppress(OSError):
                os.unlink(file)


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
                raise NodeError(
                    WORKTREE_CODE, f"the worktree `{self.tree.path}` does not exist any more", transient=False
                )
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
            elif (is_done and tree.end == "remove") or await self._is_unused(tree):
                await remove_worktree(self.trees, tree, self.env)
                tell(f"the worktree `{tree.path}` is removed")
            else:
                tell(kept_words(tree))
        except RefusedError as error:
            raise _worktree_failure(error) from error

    async def _is_unused(self, tree: Worktree) -> bool:
        if tree.end is not None:
            return False
        return not (await standing(tree, Git(folder=tree.top, env=self.env))).has_work


def tree_of(run: LoadedRun, site: Site, pass_env: Sequence[str]) -> RunWorktree | None:
    """The worktree in which a run works; None if it works in the project itself. Its programs get no secrets."""
    tree = run.about.request.worktree
    if tree is None:
        return None
    env = without_secrets(site.env, pass_env, site.secrets)
    return RunWorktree(WorktreeRecords(UserFolders(site.env)), tree, {**env, "HANDRAIL_RUN": run.id})


def kept_words(tree: Worktree) -> str:
    """Where a worktree is, and what a person can do with it."""
    how = "merges it" if tree.base is None else f"merges it into `{tree.base}`"
    commands = f"`handrail worktree merge {tree.run}` {how}, `handrail worktree remove {tree.run}` removes it"
    return f"the work is on branch `{tree.branch}` in `{tree.path}`; {commands}"


def _worktree_failure(error: RefusedError) -> NodeError:
    return NodeError(WORKTREE_CODE, error.message + (f"; {error.hint}" if error.hint else ""), transient=False)


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
        self.tree: RunWorktree | None = None
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
        run, state, plan = self.run.id, history.state or fold(history.records), self.run.plan
        if self.mode == "answer":
            refuse_unless_waiting(run, state, is_driven=True)
            self.mode = "resume"
        if history.attempt != self.run.attempt:
            raise RefusedError(f"run `{run}` was restarted by another command", "run the command again")
        if not history.records:
            self.until = self.run.about.request.until
            return opening_events(self.run.about, plan, self.site.by)
        resumed = replace(resume_event(run, state, plan, self.mode), by=self.site.by)
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
            return run_events.RunEnded("cancelled", None, str(error), None, "budget")
        except FlowFailed as error:
            return run_events.RunEnded("failed", None, f"{error.code} at {error.path}", error.message, error.code)
        except (NodeError, Unresolved) as error:
            return run_events.RunEnded("failed", None, error.code, error.message, error.code)


def _notice(durable: Durable, text: str) -> None:
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


def opening_events(about: StoredRequest, plan: FlowPlan, by: str | None) -> list[Event]:
    """The first events of a run: it starts, and skips the phases before `--from`."""
    events: list[Event] = [run_events.RunStarted(plan.id, about.digest, about.request.until, by)]
    ids = [phase.id for phase in plan.phases]
    before = ids[: ids.index(about.request.start)] if about.request.start else []
    skipped = [run_events.PhaseSkipped(path_segment(id_), run_events.LEFT_OUT) for id_ in before]
    return [*events, *skipped]


def resume_event(run: str, state: RunState, plan: FlowPlan, mode: Mode) -> run_events.RunResumed:
    """The event that resumes the run. Raises `RefusedError` if its state does not allow that."""
    if mode == "run":
        raise RefusedError(f"run `{run}` is already {state.status}", f"`handrail resume {run}` resumes it")
    if mode == "continue":
        return run_events.RunResumed(mode, phases_to_rewind(run, state, plan), None)
    rest = is_partial(state, paths_of(plan))
    if state.status in ("completed", "stopped") and not rest:
        how = f"`handrail continue {run}` continues it, " if plan.again else ""
        raise RefusedError(f"run `{run}` is already {state.status}", f"{how}`handrail restart {run}` starts it again")
    return run_events.RunResumed(mode, [], None if rest else state.until)


def _ended(ended: FlowResult) -> run_events.RunEnded:
    if ended.stopped_by is not None:
        status: run_events.RunStatus = "completed" if ended.outcome == "success" else "stopped"
        return run_events.RunEnded(status, ended.outcome, f"Stopped by {ended.stopped_by}", None, "stop-flow-if")
    if ended.is_partial:
        return run_events.RunEnded("completed", "success", "ended before its last phase, as requested", None, "until")
    return run_events.RunEnded("completed", "success", None, None)


def stop_event(by: str | None) -> run_events.RunEnded:
    """The end of a run that `handrail stop` ended. `by` is who called it, as in every event."""
    kind, _, name = (by or "").partition(":")
    who = {
        "person": " by a person",
        "script": " by a script",
        "agent": f" by the agent {name}",
        "run": f" by run {name}",
    }
    return run_events.RunEnded("cancelled", None, f"stopped{who.get(kind, '')}", None, "stopped", by)


STOPPED = stop_event(None)
INTERRUPTED = run_events.RunEnded("cancelled", None, "interrupted", None, "interrupted")


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
