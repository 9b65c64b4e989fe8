"""What a run's journal tells: events in the past tense, and the state they add up to. Pure.

`path` names a step for good: `phase/step`, inside a nested flow `phase/step/phase/step`. Never a position.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, assert_never, get_args


class RunStarted(NamedTuple):
    flow: str
    params: dict[str, Any]
    digest: str


class PhaseStarted(NamedTuple):
    path: str


class PhaseSkipped(NamedTuple):
    path: str
    reason: str


class PhaseDone(NamedTuple):
    path: str


class StepStarted(NamedTuple):
    path: str


class StepSkipped(NamedTuple):
    path: str


class NodeStarted(NamedTuple):
    """A node is being run. `input` is the digest of all it was given; the same input is the same work."""

    path: str
    input: str
    attempt: int


class NodeFinished(NamedTuple):
    path: str
    input: str
    attempt: int
    value: Any


class NodeFailed(NamedTuple):
    path: str
    input: str
    attempt: int
    code: str
    message: str


class FactFound(NamedTuple):
    """Something about the world that a decision was built on, so that it is built on the same again."""

    path: str
    kind: str
    subject: str
    value: Any


class StepDone(NamedTuple):
    path: str
    stop: bool


class StepFailed(NamedTuple):
    path: str
    code: str
    message: str


class SummarySet(NamedTuple):
    text: str


class RunEnded(NamedTuple):
    """`status` is completed, stopped, failed or cancelled; `outcome` is what the flow itself said."""

    status: str
    outcome: str
    reason: str | None
    error: str | None


Event = (
    RunStarted | PhaseStarted | PhaseSkipped | PhaseDone | StepStarted | StepSkipped | NodeStarted | NodeFinished
    | NodeFailed | FactFound | StepDone | StepFailed | SummarySet | RunEnded
)  # fmt: skip
EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


class StepState(NamedTuple):
    """Where a step stands. `value` is what its node made."""

    status: str = "pending"
    value: Any = None
    has_value: bool = False
    attempts: int = 0
    stop: bool = False
    error: str | None = None


class RunState(NamedTuple):
    """Where a run stands: every phase and step that was reached, by path."""

    phases: dict[str, str]
    steps: dict[str, StepState]
    status: str = "running"
    outcome: str = "success"
    reason: str | None = None
    error: str | None = None
    summary: str | None = None


def apply(state: RunState, event: Event) -> RunState:
    """The state after a fact. Touches the one phase or step that the fact is about."""
    match event:
        case PhaseStarted():
            return _phase(state, event.path, "running")
        case PhaseSkipped():
            return _phase(state, event.path, "skipped")
        case PhaseDone():
            return _phase(state, event.path, "done")
        case StepStarted():
            return _step(state, event.path, status="running")
        case StepSkipped():
            return _step(state, event.path, status="skipped")
        case NodeStarted():
            return _step(state, event.path, attempts=event.attempt)
        case NodeFinished():
            return _step(state, event.path, value=event.value, has_value=True, attempts=event.attempt)
        case NodeFailed():
            return _step(state, event.path, error=event.message, attempts=event.attempt)
        case StepDone():
            return _step(state, event.path, status="done", stop=event.stop, error=None)
        case StepFailed():
            return _step(state, event.path, status="failed", error=event.message)
        case SummarySet():
            return state._replace(summary=event.text)
        case RunEnded():
            return state._replace(status=event.status, outcome=event.outcome, reason=event.reason, error=event.error)
        case RunStarted() | FactFound():
            return state
        case _:
            assert_never(event)


def _phase(state: RunState, path: str, status: str) -> RunState:
    state.phases[path] = status
    return state


def _step(state: RunState, path: str, **changes: Any) -> RunState:
    state.steps[path] = state.steps.get(path, StepState())._replace(**changes)
    return state


def fold(events: Iterable[Event], state: RunState | None = None) -> RunState:
    """The state that a journal tells. The dictionaries of a fresh state are its own."""
    current = RunState({}, {}) if state is None else state
    for event in events:
        current = apply(current, event)
    return current


def event_to_json(event: Event) -> dict[str, Any]:
    return {"type": type(event).__name__, **event._asdict()}


def event_from_json(data: dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote; `ValueError` for anything else."""
    fields = dict(data)
    kind = EVENT_TYPES.get(str(fields.pop("type", "")))
    if kind is None:
        raise ValueError(f"not an event: {data.get('type')!r}")
    try:
        event: Event = kind(**fields)
    except TypeError as error:
        raise ValueError(f"not a {kind.__name__} event: {error}") from error
    return event
