"""What can be done with a run as it stands: resume, continue, restart. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.errors import RefusedError
from handrail.flows.paths import segment, top
from handrail.flows.plan import FlowPlan
from handrail.runs.machine import RunState


@dataclass(frozen=True)
class Modes:
    """`resume`: it has begun and not ended. `again`: it ended, and its flow says that it may go on."""

    resume: bool
    again: bool
    restart: bool = True

    def names(self) -> list[str]:
        known = (("resume", self.resume), ("continue", self.again), ("restart", self.restart))
        return [name for name, possible in known if possible]


def is_partial(state: RunState, plan: FlowPlan) -> bool:
    """True if the run was asked to end before its last phase, so that there is more to do."""
    return state.status == "completed" and any(segment(phase.id) not in state.phases for phase in plan.phases)


def available(state: RunState, plan: FlowPlan) -> Modes:
    ended = state.status in ("completed", "stopped")
    begun = bool(state.phases or state.steps)
    rest = is_partial(state, plan)
    can_go_on = ended and plan.again is not None and (plan.again == "again" or bool(_stops(state)))
    return Modes(begun and (not ended or rest), can_go_on)


def _stops(state: RunState) -> list[str]:
    """Steps of the outermost flow that stopped it, the last one last."""
    return [path for path, step in state.steps.items() if step.stop and path.count("/") == 1]


def rewound(run: str, state: RunState, plan: FlowPlan) -> list[str]:
    """The phases that a run which ended goes through once more."""
    if state.status not in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` has not ended", f"`handrail resume {run}` goes on with it")
    if plan.again is None:
        message = f"flow `{plan.id}` does not say that it may be continued"
        raise RefusedError(message, f"add `continue: again` or `continue: from-stop`, or `handrail restart {run}`")
    ids = [segment(phase.id) for phase in plan.phases]
    if plan.again == "again":
        return ids
    stops = _stops(state)
    if not stops:
        raise RefusedError(f"run `{run}` was not stopped anywhere", f"`handrail restart {run}` begins anew")
    return ids[ids.index(top(stops[-1])) :]
