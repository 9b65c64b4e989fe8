"""What the state of a run allows: resume, continue, restart. Pure."""

from __future__ import annotations

from handrail.errors import RefusedError
from handrail.flows.paths import segment, top
from handrail.flows.plan import FlowPlan
from handrail.runs.fold import RunState
from handrail.source.dataclasses import dataclass


@dataclass(frozen=True)
class Modes:
    """`resume`: the run has started and not ended. `continue_`: it ended, and its flow allows `continue`."""

    resume: bool
    continue_: bool
    restart: bool = True

    def names(self) -> list[str]:
        known = (("resume", self.resume), ("continue", self.continue_), ("restart", self.restart))
        return [name for name, possible in known if possible]


def is_partial(state: RunState, plan: FlowPlan) -> bool:
    """True if the run was started with `--until` and has phases left."""
    return state.status == "completed" and any(segment(phase.id) not in state.phases for phase in plan.phases)


def available(state: RunState, plan: FlowPlan) -> Modes:
    ended = state.status in ("completed", "stopped")
    begun = bool(state.phases or state.steps)
    rest = is_partial(state, plan)
    can_continue = ended and plan.again is not None and (plan.again == "again" or bool(_stops(state)))
    return Modes(begun and (not ended or rest), can_continue)


def _stops(state: RunState) -> list[str]:
    """The steps of the outermost flow that stopped it, in order."""
    return [path for path, step in state.steps.items() if step.stop and path.count("/") == 1]


def phases_to_rewind(run: str, state: RunState, plan: FlowPlan) -> list[str]:
    """The phases that run again when a run that ended is continued."""
    if state.status not in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` has not ended", f"`handrail resume {run}` resumes it")
    if plan.again is None:
        message = f"flow `{plan.id}` does not allow `handrail continue`"
        raise RefusedError(message, f"add `continue: again` or `continue: from-stop`, or run `handrail restart {run}`")
    ids = [segment(phase.id) for phase in plan.phases]
    if plan.again == "again":
        return ids
    stops = _stops(state)
    if not stops:
        raise RefusedError(f"run `{run}` was not stopped by any step", f"`handrail restart {run}` starts it again")
    return ids[ids.index(top(stops[-1])) :]
