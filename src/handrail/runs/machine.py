"""The events of a run, named in the past tense, and the state that they fold to. Pure.

`path` identifies a step by names, never by a position: `phase/step`, or `phase/step/phase/step` inside a nested flow.
The state is changed in place, so an event costs the same after ten steps and after ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, assert_never, get_args

from handrail.flows.paths import top
from handrail.source.written import restore, texts_in

Mode = Literal["run", "resume", "continue", "restart"]
RunStatus = Literal["running", "waiting", "completed", "stopped", "failed", "cancelled"]
StepStatus = Literal["pending", "running", "done", "skipped", "failed"]
PhaseStatus = Literal["running", "done", "skipped"]


@dataclass(frozen=True)
class RunStarted:
    """`digest` is the digest of all definitions that the run was started with. The run keeps these."""

    flow: str
    digest: str
    until: str | None


@dataclass(frozen=True)
class RunResumed:
    """`rewound` are the finished phases that run again."""

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
    """A node was started. `input` is the digest of its name, params and prompt; the same input is the same work."""

    path: str
    input: str
    attempt: int


@dataclass(frozen=True)
class NodeFinished:
    """`value` is the result. If it is large, it is in a file, and `payload` is its digest."""

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
    """Something about the world that an expression used. A resumed run uses the recorded value again."""

    path: str
    place: str
    kind: str
    subject: str
    value: Any


@dataclass(frozen=True)
class Asked:
    """A person has to answer a form. `input` is the digest of the question."""

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
    """An agent began a conversation. After a crash it can be continued."""

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
    """What an agent used for a step: inputTokens, outputTokens, cachedTokens, usd; None if it is not known."""

    path: str
    usage: dict[str, Any]


@dataclass(frozen=True)
class Delayed:
    """The step waits until a point in time, such as the reset of a rate limit."""

    path: str
    until: float
    reason: str


@dataclass(frozen=True)
class Noticed:
    """Something that people should know. It does not change the state."""

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
    """How a run ended. `outcome` comes from the flow itself.

    `code` is the reason as data: the error code of the step that failed, `stopped` (by a person), `interrupted`,
    `stop-flow-if` or `until`; None if the flow reached its end. `reason` and `error` are texts for people.
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
    """The state of a step. `value` is its result; if it is large, `payload` is its digest instead."""

    status: StepStatus = "pending"
    value: Any = None
    payload: str | None = None
    has_value: bool = False
    attempts: int = 0
    stop: bool = False
    error: str | None = None


class RunState:
    """The state of a run: every phase and step that was reached, by path."""

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
        """Change the state by one event. Touches only the phase or step that the event is about."""
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
                self._apply_to_run(event)

    def _apply_to_run(self, event: OfRun) -> None:
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
                self._apply_to_life(event)
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

    def _apply_to_life(self, event: RunStarted | RunResumed | RunParked | RunEnded) -> None:
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
    """The code of the event. In journals of 0.1.0 it is missing, and `reason` is `CODE at PATH` or only the code."""
    if event.code is None and event.status == "failed" and event.reason is not None:
        return event.reason.partition(" at ")[0]
    return event.code


def fold(events: Iterable[Event]) -> RunState:
    """The state after these events."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def event_to_json(event: Event) -> dict[str, Any]:
    """The event as JSON. If its value holds numbers like `1.10`, `written` has their texts."""
    data = {**vars(event), "type": type(event).__name__}
    if isinstance(event, NodeFinished) and (texts := texts_in(event.value)):
        data["written"] = texts
    return data


def event_from_json(data: dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote; its time `t` is left out. Raises `ValueError` for anything else."""
    fields = dict(data)
    fields.pop("t", None)
    texts = fields.pop("written", None)
    if isinstance(texts, dict):
        fields["value"] = restore(fields.get("value"), texts)
    kind = EVENT_TYPES.get(str(fields.pop("type", "")))
    if kind is None:
        raise ValueError(f"not an event: {data.get('type')!r}")
    try:
        event: Event = kind(**fields)
    except TypeError as error:
        raise ValueError(f"not a {kind.__name__} event: {error}") from error
    return event
