"""The runs of a scope, and which of their steps did the work of a stage that leaves no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from handrail.errors import HandrailError
from handrail.flows.outline import child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Step
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import StepDone
from handrail.runs.request import About, about_from_text
from handrail.runs.runs import Runs
from handrail.runs.summary import Summary
from handrail.source.dataclasses import dataclass


@dataclass(frozen=True)
class Worked:
    """A step with a prompt that was done: in which run and flow, and when."""

    prompt: str
    run: str
    flow: str
    time: float


@dataclass(frozen=True)
class ScopeRun:
    """A run of a scope. `blocking` are the severities that block in it, as they were given; None if none were."""

    scope: str
    summary: Summary
    worked: tuple[Worked, ...] = ()
    blocking: Any = None


def runs_by_scope(runs: Runs, prompts: Iterable[str]) -> dict[str, list[ScopeRun]]:
    """All runs that can be read, by scope, the oldest first. `prompts` are the names of the prompts to look for."""
    found: dict[str, list[ScopeRun]] = {}
    for summary in runs.summaries():
        try:
            about = about_from_text(summary.id, runs.engine.load(summary.id)[0])
            worked = tuple(_worked(runs.load(summary.id), set(prompts))) if _may_use(about, prompts) else ()
        except (HandrailError, LookupError):  # it is damaged, or was removed just now
            continue
        blocking = about.request.params.get("reviewBlockingSeverities")
        found.setdefault(about.request.scope, []).append(ScopeRun(about.request.scope, summary, worked, blocking))
    return found


def _may_use(about: About, prompts: Iterable[str]) -> bool:
    """True if one of the prompts may be used. Compiling the flows takes long, so this looks at the names only."""
    return any(prompt in about.prompts for prompt in prompts)


def _worked(run: LoadedRun, prompts: set[str]) -> Iterator[Worked]:
    for time, event in run.records:
        step = _step_at(run, event.path) if isinstance(event, StepDone) else None
        if step is not None and step.prompt is not None and step.prompt.name in prompts:
            yield Worked(step.prompt.name, run.id, run.about.flow, time)


def _step_at(run: LoadedRun, path: str) -> Step | None:
    """The step at a path, also in nested flows. None if only the run knows which flow was nested."""
    plan: FlowPlan | None = run.plan
    step: Step | None = None
    names = path.split("/")
    for phase_name, step_name in zip(names[::2], names[1::2], strict=False):
        if plan is None:
            return None
        phases = [phase for phase in plan.phases if segment(phase.id) == phase_name]
        step = next((one for phase in phases for one in phase.steps if segment(one.id) == step_name), None)
        plan = child_of(step, run.find) if step is not None else None
    return step
