"""What a run's journal tells: events in the past tense, and the state they add up to. Pure.

`path` names a step for good: `phase/step`, inside a nested flow `phase/step/phase/step`. Never a position. The state
is folded in place, so that a fact costs the same after ten steps and after ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, assert_never, get_args

from handrail.flows.paths import top

Mode = Literal["run", "resume", "continue", "restart"]
RunStatus = Literal["running", "waiting", "completed", "stopped", "failed", "cancelled"]
StepStatus = Literal["pending", "running", "done", "skipped", "failed"]
PhaseStatus = Literal["running", "done", "skipped"]


@dataclass(frozen=True)
class RunStarted:
    """`digest` is that of all definitions the run was started with, which it keeps."""

    flow: str
    digest: str
    until: str | None


@dataclass(frozen=True)
class RunResumed:
    """`rewound` are the phases that are gone through once more."""

    mode: Mode
    rewound: list[str]
    until: str | None


@dataclass(frozen=True)
class PhaseStarted:
    path: str


@dataclass(frozen=True)
class PhaseSkipped:
    path: str
    reason: str


@dataclass(frozen=True)
class PhaseDone:
    path: str


@dataclass(frozen=True)
class StepStarted:
    path: str


@dataclass(frozen=True)
class StepSkipped:
    path: str


@dataclass(frozen=True)
class NodeStarted:
    """A node is being run. `input` is the digest of all it was given; the same input is the same work."""

    path: str
    input: str
    attempt: int


@dataclass(frozen=True)
class NodeFinished:
    """`value` is what it made; a large one lies in a file that `payload` names by its digest."""

    path: str
    input: str
    attempt: int
    value: Any
    payload: str | None = None


@dataclass(frozen=True)
class NodeFailed:
    path: str
    input: str
    attempt: int
    code: str
    message: str


@dataclass(frozen=True)
class FactFound:
    """Something about the world that a decision was built on, so that it is built on the same again."""

    path: str
    place: str
    kind: str
    subject: str
    value: Any


@dataclass(frozen=True)
class Asked:
    """A person has to say something. `input` is the digest of the question."""

    path: str
    input: str
    question: dict[str, Any]


@dataclass(frozen=True)
class Answered:
    path: str
    input: str
    values: dict[str, Any]


@dataclass(frozen=True)
class ArtifactPublished:
    path: str
    artifact: dict[str, Any]


@dataclass(frozen=True)
class SessionOpened:
    """An agent began a conversation; after a crash it can be taken up again."""

    path: str
    agent: str
    session: str


@dataclass(frozen=True)
class AgentActed:
    """Something that an agent did: `kind` is tool, denied or retry."""

    path: str
    kind: str
    text: str


@dataclass(frozen=True)
class UsageReported:
    """What an agent used for a piece of work: inputTokens, outputTokens, cachedTokens, usd; null is not known."""

    path: str
    usage: dict[str, Any]


@dataclass(frozen=True)
class Delayed:
    """Nothing can be done before a moment in time, such as the reset of a limit."""

    path: str
    until: float
    reason: str


@dataclass(frozen=True)
class Noticed:
    """Something that people should know, and that changes nothing."""

    path: str
    text: str


@dataclass(frozen=True)
class StepDone:
    path: str
    stop: bool


@dataclass(frozen=True)
class StepFailed:
    path: str
    code: str
    message: str


@dataclass(frozen=True)
class SummarySet:
    text: str


@dataclass(frozen=True)
class RunParked:
    """The run waits for a person."""

    path: str
    reason: str


@dataclass(frozen=True)
class RunEnded:
    """How a run ended. `outcome` is what the flow itself said.

    `code` is why, as data: the code of the step's failure, `stopped` by a person, `interrupted`, `stop-flow-if`,
    `until` as asked; None if the flow came to its end. `reason` and `error` are words for people.
    """

    status: RunStatus
    outcome: str | None
    reason: str | None
    error: str | None
    code: str | None = None


OfStep = (
    PhaseStarted | PhaseSkipped | PhaseDone | StepStarted | StepSkipped | NodeStarted | NodeFinished | NodeFailed
    | StepDone | StepFailed
)  # fmt: skip
OfRun = (
    RunStarted | RunResumed | FactFound | Asked | Answered | ArtifactPublished | SummarySet | SessionOpened
    | AgentActed | UsageReported | Delayed | Noticed | RunParked | RunEnded
)  # fmt: skip
Event = OfStep | OfRun
EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


@dataclass(slots=True)
class StepState:
    """Where a step stands. `value` is what its node made; `payload` names a large one, which is kept elsewhere."""

    status: StepStatus = "pending"
    value: Any = None
    payload: str | None = None
    has_value: bool = False
    attempts: int = 0
    stop: bool = False
    error: str | None = None


class RunState:
    """Where a run stands: every phase and step that was reached, by path."""

    def __init__(self) -> None:
        self.phases: dict[str, PhaseStatus] = {}
        self.steps: dict[str, StepState] = {}
        self.questions: dict[str, Asked] = {}
        self.artifacts: list[dict[str, Any]] = []
        self.usage: dict[str, list[dict[str, Any]]] = {}
        self.delays: dict[str, Delayed] = {}
        self.status: RunStatus = "running"
        self.outcome = "success"
        self.code: str | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.summary: str | None = None
        self.until: str | None = None
        self.rewinds = 0

    def apply(self, event: Event) -> None:
        """Take in a fact. Touches the one phase or step that the fact is about."""
        match event:
            case StepStarted():
                step = self._step(event.path)
                step.status, step.error = "running", None
            case NodeFinished():
                step = self._step(event.path)
                step.value, step.payload, step.has_value = event.value, event.payload, True
                step.attempts = event.attempt
                self.delays.pop(event.path, None)
            case StepDone():
                step = self._step(event.path)
                step.status, step.stop, step.error = "done", event.stop, None
            case PhaseStarted() | PhaseDone() | PhaseSkipped():
                self.phases[event.path] = _PHASE_STATUS[type(event).__name__]
            case StepSkipped():
                self._step(event.path).status = "skipped"
            case NodeStarted():
                self._step(event.path).attempts = event.attempt
            case NodeFailed():
                step = self._step(event.path)
                step.error, step.attempts = event.message, event.attempt
                self.delays.pop(event.path, None)
            case StepFailed():
                step = self._step(event.path)
                step.status, step.error = "failed", event.message
            case _:
                self._of_run(event)

    def _of_run(self, event: OfRun) -> None:
        match event:
            case Asked():
                self.questions[event.path] = event
            case Answered():
                self.questions.pop(event.path, None)
            case ArtifactPublished():
                if all(known["id"] != event.artifact["id"] for known in self.artifacts[-100:]):
                    self.artifacts.append(event.artifact)
            case SummarySet():
                self.summary = event.text
            case RunStarted() | RunResumed() | RunParked() | RunEnded():
                self._life(event)
            case UsageReported():
                self.usage.setdefault(event.path, []).append(event.usage)
            case Delayed():
                self.delays[event.path] = event
            case SessionOpened():
                self.delays.pop(event.path, None)
            case FactFound() | Noticed() | AgentActed():
                pass
            case _:
                assert_never(event)

    def _life(self, event: RunStarted | RunResumed | RunParked | RunEnded) -> None:
        match event:
            case RunStarted():
                self.until = event.until
            case RunResumed():
                self._resume(event)
            case RunParked():
                self.status, self.reason, self.error, self.code = "waiting", event.reason, None, None
            case RunEnded():
                self.status, self.outcome = event.status, event.outcome or "success"
                self.reason, self.error, self.code = event.reason, event.error, _code(event)
            case _:
                assert_never(event)

    def _resume(self, event: RunResumed) -> None:
        self.status, self.outcome, self.reason, self.error, self.code = "running", "success", None, None, None
        self.until = event.until
        self.rewinds += bool(event.rewound)
        gone = set(event.rewound)
        if not gone:
            return
        for path in [path for path in self.phases if top(path) in gone]:
            del self.phases[path]
        for path in [path for path in self.steps if top(path) in gone]:
            del self.steps[path]
        for path in [path for path in self.questions if top(path) in gone]:
            del self.questions[path]

    def _step(self, path: str) -> StepState:
        found = self.steps.get(path)
        if found is None:
            found = self.steps[path] = StepState()
        return found


_PHASE_STATUS: dict[str, PhaseStatus] = {"PhaseStarted": "running", "PhaseDone": "done", "PhaseSkipped": "skipped"}


def _code(event: RunEnded) -> str | None:
    """Journals of 0.1.0 have no code; there the reason of a failure is `CODE at PATH`, or the code alone."""
    if event.code is None and event.status == "failed" and event.reason is not None:
        return event.reason.partition(" at ")[0]
    return event.code


def fold(events: Iterable[Event]) -> RunState:
    """The state that a journal tells."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def event_to_json(event: Event) -> dict[str, Any]:
    return {**vars(event), "type": type(event).__name__}


def event_from_json(data: dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote, whenever it was (`t`); `ValueError` for anything else."""
    fields = dict(data)
    fields.pop("t", None)
    kind = EVENT_TYPES.get(str(fields.pop("type", "")))
    if kind is None:
        raise ValueError(f"not an event: {data.get('type')!r}")
    try:
        event: Event = kind(**fields)
    except TypeError as error:
        raise ValueError(f"not a {kind.__name__} event: {error}") from error
    return event
