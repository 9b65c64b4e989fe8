"""Starts a run again, from its first phase or from a given one, with the current definitions.

The previous attempt is kept. Files that it made and that have not changed since are removed from the project, so
that they are not taken for the work of the new attempt. Their content stays on the shelf.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import RefusedError, UsageError
from handrail.driven.artifacts.shelf import Shelf, digest_of_file
from handrail.driven.expressions.tree import ABSENT
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.flows.plan import FlowPlan, Phase, path_segment, top_phase
from handrail.driven.flows.results import Results, without_copies
from handrail.driven.runs import run_events
from handrail.driven.runs.interpreter import FlowFailed
from handrail.driven.runs.life import lost_usage, started_event
from handrail.driven.runs.request import LoadedRun, StoredRequest
from handrail.driven.runs.run_events import Event, RunChoice
from handrail.driven.runs.run_rules import refuse_missing_env
from handrail.driven.runs.runs import Plans, Runs
from handrail.driven.runs.state import BEFORE, LEFT_OUT, RunState, fold
from handrail.driven.runs.summary import Glance
from handrail.extensions.contracts import Attempt, Durable, EventRecord, History, NodeError
from handrail.settings.secrets import refuse_lost
from handrail.source.values import Unresolved

Find = Callable[[str], FoundFlow]
Published = dict[str, list[dict[str, object]]]


@dataclass(frozen=True)
class Restarted:
    """What a restart did: the new run, the changes in its definitions, the kept phases, the files to remove.

    `left` are files that the run published and that stay, with the reason.
    """

    run: LoadedRun
    changes: list[str]
    kept_phases: list[str]
    removed: list[str]
    left: dict[str, str]


async def restart(
    runs: Runs, catalog: FlowCatalog, find: Find, old: LoadedRun, start: str | None, choice: RunChoice | None = None
) -> Restarted:
    """Make the next attempt of a run, with the current settings and definitions. The caller has to drive it."""
    plan, about, plans = _prepare(runs, catalog, find, old, start, choice or RunChoice())
    job = _RestartJob(runs, old, _phases_before(plan, start))
    history = await runs.engine.restart(old.id, partial(job.attempt, about), runs.outside(old))
    changes = differences(old.plan, plan) if about.digest != old.about.digest else []
    run = replace(old, about=replace(about, aside=job.aside, earlier=job.earlier), plans=plans, history=history)
    return Restarted(run, changes, [phase.id for phase in job.phases], [path for path, _ in job.aside], job.left)


def refuse_restart(runs: Runs, catalog: FlowCatalog, find: Find, old: LoadedRun, start: str | None) -> None:
    """Raise what `restart` would raise, as far as that is known before the work. Changes nothing."""
    plan, _, _ = _prepare(runs, catalog, find, old, start, RunChoice())
    _refuse_unfinished(old.id, old.state, _phases_before(plan, start))


def _prepare(
    runs: Runs, catalog: FlowCatalog, find: Find, old: LoadedRun, start: str | None, choice: RunChoice
) -> tuple[FlowPlan, StoredRequest, Plans]:
    """The current plan of a run, and what its next attempt is about. Raises if it cannot begin."""
    flow = find(old.about.flow)
    assert flow.plan is not None
    routing = {**vars(runs.routing_for(old, choice)), "limits": old.bounds.with_later(choice.bounds).named}
    routing["approve"] = old.permits.with_more(choice.approve).effects
    params, task = runs.secrets.from_storage([old.params, old.about.request.task])
    try:
        refuse_lost([params, task])
    except Unresolved as error:
        raise UsageError(error.message, "set it, then run the command again") from error
    request = replace(old.about.request, params=params, task=task, **routing, start=start, until=None)
    about, plans = runs.check_request(catalog, flow, request)
    if start is None:  # phases that are kept do not need their variables any more
        refuse_missing_env(flow.plan, plans, runs.site)
    runs.refuse_without_agent(about, plans, about.request)
    stored_request = replace(old.about.request, params=old.params, **routing, start=None, until=None)
    return flow.plan, replace(about, request=stored_request, created=old.about.created), plans


def _phases_before(plan: FlowPlan, start: str | None) -> list[Phase]:
    if start is None:
        return []
    ids = [phase.id for phase in plan.phases]
    return list(plan.phases[: ids.index(start)])


class _RestartJob:
    """Makes a new attempt from an old one and keeps these phases.

    `aside` are the files to remove, as (path, digest); `left` those that stay, with the reason. `earlier` is what all
    attempts took so far.
    """

    def __init__(self, runs: Runs, old: LoadedRun, phases: list[Phase]) -> None:
        self.runs = runs
        self.old = old
        self.phases = phases
        self.folder = old.about.request.folder(runs.project)
        self.aside: list[list[str]] = []
        self.left: dict[str, str] = {}
        self.earlier: dict[str, Any] = {}

    async def attempt(self, about: StoredRequest, history: History, durable: Durable) -> Attempt:
        if history.attempt != self.old.attempt:
            raise RefusedError(f"run `{self.old.id}` was restarted by another command", "run the command again")
        self.old = self.old.with_history(history)
        self.earlier = taken_so_far(self.runs, self.old)
        published = _artifacts_by_step(history.records)
        events: list[Event] = []
        if self.phases:
            results = await self._results(durable)
            events.append(started_event(replace(about, earlier=self.earlier), self.runs.site.by))
            for phase in self.phases:
                events += _kept_events(phase, results[phase.id], self.old.state, published)
        self.aside = self._aside(published)
        return Attempt(replace(about, aside=self.aside, earlier=self.earlier).to_text(), events)

    async def _results(self, durable: Durable) -> Results:
        """The results of the old attempt's steps. Every phase before the start has to be finished."""
        run = self.old.id
        _refuse_unfinished(run, self.old.state, self.phases)
        interpreter = self.runs.interpreter(self.old, durable)
        ids = {phase.id for phase in self.phases}
        try:
            for phase in self.old.plan.phases:
                if phase.id in ids:
                    await interpreter.phase(phase)
        except (FlowFailed, NodeError, Unresolved) as error:
            wanted = path_segment(self.phases[-1].id)
            raise RefusedError(f"the results up to phase `{wanted}` cannot be read: {error.message}") from error
        results = interpreter.values.steps
        for phase in self.phases:
            for step in phase.steps:
                if step.id not in results.get(phase.id, {}):
                    message = f"step `{phase.id}/{step.id}` is new, so it has no result to keep"
                    raise RefusedError(message, f"run `handrail restart {run} --from {phase.id}`")
        return results

    def _aside(self, published: Published) -> list[list[str]]:
        """The files that the old attempt made and that have not changed since, as (path, digest). Fills `left`."""
        shelf = self.runs.publisher(self.runs.outside(self.old).context).shelf
        kept_paths = {path_segment(phase.id) for phase in self.phases}
        artifacts = [item for path, items in published.items() if top_phase(path) not in kept_paths for item in items]
        events = [event for _, event in self.old.records if isinstance(event, run_events.ArtifactPublished)]
        new = (event for event in events if event.artifact.get("isNew") and top_phase(event.path) not in kept_paths)
        new_files = {str(event.artifact["path"]) for event in new} | self._made_before(shelf, kept_paths)
        digests: dict[str, str] = {}
        for path in dict.fromkeys(str(artifact["path"]) for artifact in artifacts):
            newest, digest = shelf.at(path), digest_of_file(os.path.join(self.folder, path))
            if digest is None:
                continue  # it is gone already
            if path not in new_files:
                self.left[path] = "it was there before"
            elif newest is None or newest.run != self.old.id:
                self.left[path] = "another run published it later"
            elif newest.sha256 != digest:
                self.left[path] = "it was changed since"
            elif top_phase(newest.step) not in kept_paths:
                digests[path] = digest
        return [[path, digest] for path, digest in digests.items()]

    def _made_before(self, shelf: Shelf, kept_paths: set[str]) -> set[str]:
        """Files that did not exist before a step of an earlier attempt, and that no other run published since.

        If that attempt failed, it left them without publishing them.
        """
        runs, old = self.runs, self.old
        earlier = (runs.records(old.id, number) for number in runs.attempts(old.id) if number != old.attempt)
        absent: dict[str, float] = {}
        for moment, event in (record for records in earlier for record in records):
            if not isinstance(event, run_events.FactFound) or top_phase(event.path) in kept_paths:
                continue
            if event.place.startswith(BEFORE) and event.kind == "exists" and event.value is False:
                absent.setdefault(event.subject, moment)
        later_publications = [(record.path, record.created) for record in shelf.records() if record.run != old.id]
        return {
            path for path, moment in absent.items() if not any(p == path and t > moment for p, t in later_publications)
        }


def taken_so_far(runs: Runs, run: LoadedRun) -> dict[str, Any]:
    """What all attempts of a run took so far, as `StoredRequest.earlier`."""
    end = (run.state.at, run_events.RunResumed("resume", [], None))  # then it is known what a killed process lost
    state = fold([*run.records, end]) if run.records else RunState()
    for event in list(lost_usage(state, None, runs.outside(run).context)):
        state.apply(event)
    earlier = {"seconds": state.clock.seconds, "isLeast": state.clock.has_gaps, "usage": Glance(state, None).usage()}
    routings = [*run.about.earlier.get("routings", []), vars(run.about.request.routing)]
    known = [event for _, event in run.records if isinstance(event, run_events.Routed)]
    return {**earlier, "routings": [*routings, *map(vars, known)]}


def _refuse_unfinished(run: str, state: RunState, phases: Sequence[Phase]) -> None:
    """Raise `RefusedError` unless all of these phases are finished."""
    if (unfinished := first_unfinished(state, phases)) is not None:
        message = f"phase `{unfinished}` of run `{run}` is not finished, so no later phase can be the start"
        raise RefusedError(message, f"run `handrail restart {run} --from {unfinished}`")


def first_unfinished(state: RunState, phases: Sequence[Phase]) -> str | None:
    """The id of the first of these phases that is not finished; None if all are."""
    return next((p.id for p in phases if state.phases.get(path_segment(p.id)) not in ("done", "skipped")), None)


def _artifacts_by_step(records: Sequence[EventRecord]) -> Published:
    """What each step published, without phases that were rewound by `continue`."""
    by_step: Published = {}
    for _, event in records:
        if isinstance(event, run_events.ArtifactPublished):
            by_step.setdefault(event.path, []).append(event.artifact)
        elif isinstance(event, run_events.RunResumed) and event.rewound:
            by_step = {path: artifacts for path, artifacts in by_step.items() if top_phase(path) not in event.rewound}
    return by_step


def _kept_events(
    phase: Phase, results: dict[str, dict[str, object]], state: RunState, published: Published
) -> list[Event]:
    """The events of a kept phase, for the new journal."""
    path = path_segment(phase.id)
    if state.phases[path] == "skipped":
        why = LEFT_OUT if path in state.left_out else "kept from the previous attempt"
        return [run_events.PhaseSkipped(path, why)]
    events: list[Event] = [run_events.PhaseStarted(path)]
    for step in phase.steps:
        step_path, result = f"{path}/{path_segment(step.id)}", results[step.id]
        if result["status"] != "done":
            events.append(run_events.StepSkipped(step_path))
            continue
        value = None if result["value"] is ABSENT else without_copies(result["value"])
        events += [run_events.StepStarted(step_path), run_events.NodeFinished(step_path, "", 0, value)]
        for place in (place for place in published if f"{place}/".startswith(f"{step_path}/")):
            events += (run_events.ArtifactPublished(place, artifact) for artifact in published[place])
        events.append(run_events.StepDone(step_path, False))
    return [*events, run_events.PhaseDone(path)]


def differences(old: FlowPlan, new: FlowPlan) -> list[str]:
    """The differences between two plans of a flow, as sentences for people."""
    old_phases, new_phases = ({phase.id: phase for phase in plan.phases} for plan in (old, new))
    changes = [f"phase `{id_}` was removed" for id_ in old_phases if id_ not in new_phases]
    for id_, phase in new_phases.items():
        if id_ not in old_phases:
            changes.append(f"phase `{id_}` was added")
        elif repr(phase) != repr(old_phases[id_]):
            changes.extend(_steps_changed(old_phases[id_], phase) or [f"phase `{id_}` was changed"])
    if repr(old.constants) != repr(new.constants):
        changes.append("the constants were changed")
    if repr(old.params) != repr(new.params):
        changes.append("the parameters were changed")
    return changes or ["a nested flow was changed, or only the text of a file"]


def _steps_changed(old: Phase, new: Phase) -> list[str]:
    old_steps, new_steps = ({step.id: step for step in phase.steps} for phase in (old, new))
    changes = [f"step `{new.id}/{id_}` was removed" for id_ in old_steps if id_ not in new_steps]
    changes += [f"step `{new.id}/{id_}` was added" for id_ in new_steps if id_ not in old_steps]
    changed = (id_ for id_, step in new_steps.items() if id_ in old_steps and repr(old_steps[id_]) != repr(step))
    return changes + [f"step `{new.id}/{id_}` was changed" for id_ in changed]
