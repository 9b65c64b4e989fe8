"""A run, loaded once per command: its request, its compiled flows and its history."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.flows.files import SHIPPED_PREFIX
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.runs.choices import Bounded, Meter, Permitted, Routed
from handrail.driven.runs.request import StoredRequest
from handrail.driven.runs.run_events import CANCELLED, RunResumed, StepFailed
from handrail.driven.runs.state import RunState, StepState, fold
from handrail.driven.runs.summary import Summary, summarize
from handrail.extensions.contracts import EventRecord, History
from handrail.settings.secrets import masked


@dataclass(frozen=True, kw_only=True)
class LoadedRun:
    """A run at one moment. `payload` reads a large value by its digest."""

    id: str
    about: StoredRequest
    plans: Mapping[str, FlowPlan]
    history: History
    payload: Callable[[str], Any]

    def __repr__(self) -> str:
        return f"<run {self.id}: {self.state.status}>"  # the whole plan is too long for a message

    @property
    def plan(self) -> FlowPlan:
        return self.plans[self.about.flow]

    @property
    def records(self) -> list[EventRecord]:
        return self.history.records

    @property
    def attempt(self) -> int:
        return self.history.attempt

    @property
    def driver(self) -> int | None:
        return self.history.driver

    @cached_property
    def state(self) -> RunState:
        return self.history.state or fold(self.records)

    @property
    def summary(self) -> Summary:
        """The run in one line."""
        return summarize(self.id, self.about.to_text(), self.state, self.attempt, self.driver)

    @property
    def failed_step(self) -> StepFailed | None:
        """The step that made the run fail, the innermost one of nested flows; None if no step did."""
        found: StepFailed | None = None
        for _, event in self.records:
            if isinstance(event, RunResumed):
                found = None
            elif isinstance(event, StepFailed) and event.code != CANCELLED:
                is_around = found is not None and found.path.startswith(f"{event.path}/")
                found = found if is_around else event
        return found if found is not None and found.code == self.state.code else None

    @property
    def routing(self) -> Routed:
        """Which agent gets which step now."""
        return Routed(**self.state.routing) if self.state.routing else self.about.request.routing

    @property
    def bounds(self) -> Bounded:
        """What this run may use at most."""
        return Bounded(**self.state.bounds) if self.state.bounds else self.about.request.bounds

    @property
    def permits(self) -> Permitted:
        """The effects that are approved for this run."""
        return Permitted(**self.state.permits) if self.state.permits else self.about.request.permits

    def meter(self, bounds: Bounded) -> Meter:
        """A meter that knows what this attempt has used so far."""
        usages = (usage for many in self.state.usage.values() for usage in many)
        return Meter(bounds, usages, self.state.clock.seconds)

    def find(self, name: str) -> FlowPlan | None:
        """A flow that this run may run, by its id or by a file name that only one flow has; None if there is none."""
        return plan_named(self.plans, name)

    def value(self, step: StepState) -> Any:
        """The result of the node of a step, as people see it: without secrets."""
        return masked(step.value if step.payload is None else self.payload(step.payload))

    def with_history(self, history: History) -> LoadedRun:
        """The same run with a newer history."""
        return replace(self, history=history)


def plan_named(plans: Mapping[str, FlowPlan], name: str) -> FlowPlan | None:
    """The flow with this id or other id, or the only flow with this file name; None if there is none."""
    if name in plans:
        return plans[name]
    outer = {id_: plan for id_, plan in plans.items() if not id_.startswith(SHIPPED_PREFIX)}
    other = [plan for plan in outer.values() if name in plan.also]
    base = os.path.splitext(os.path.basename(name))[0]
    same = other[:1] or [plan for id_, plan in outer.items() if base in map(_last, (id_, *plan.also))]
    return same[0] if len(same) == 1 else None


def _last(id_: str) -> str:
    return id_.rpartition("/")[2]
