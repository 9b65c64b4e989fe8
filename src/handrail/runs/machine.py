"""The events of a run, named in the past tense. `fold` makes the state of the run from them. Pure.

`path` identifies a step by names, never by a position: `phase/step`, or `phase/step/phase/step` inside a nested flow.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from handrail.runs.bounds import Bounded as Bounded
from handrail.runs.permits import Permitted as Permitted
from handrail.runs.routing import Routed as Routed
from handrail.runs.tries import AttemptFailed as AttemptFailed
from handrail.runs.tries import AttemptStarted as AttemptStarted
from handrail.runs.tries import TimeSpent as TimeSpent
from handrail.source.dataclasses import dataclass
from handrail.source.written import restore, texts_in

Mode = Literal["run", "resume", "continue", "restart"]
Cause = Literal[Mode, "answer"]
"""Why a run is driven. `answer`: to use an answer. Then it is not driven if somebody has stopped it since."""
RunStatus = Literal["running", "waiting", "completed", "stopped", "failed", "cancelled"]
StepStatus = Literal["pending", "running", "done", "skipped", "failed"]
PhaseStatus = Literal["running", "done", "skipped"]


@dataclass(frozen=True)
class RunStarted:
    """`digest` is the digest of all definitions that the run was started with. The run keeps these.

    Here and below, `by` says who caused the event: `person`, `script`, `agent:NAME` or `run:ID`. None if not known.
    """

    flow: str
    digest: str
    until: str | None
    by: str | None = None


@dataclass(frozen=True)
class RunResumed:
    """`rewound` are the finished phases that run again."""

    mode: Mode
    rewound: list[str]
    until: str | None
    by: str | None = None


@dataclass(frozen=True)
class PhaseStarted:
    path: str


LEFT_OUT = "the run starts with a later phase"


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
    """A node was started. `input` is the digest of its name, params and prompt; the same input is the same work.

    `given` has its `prompt` and `params`. If they are long, they are in a file, and `payload` is its digest. Journals
    of 0.1.0 have neither.
    """

    path: str
    input: str
    attempt: int
    given: dict[str, Any] | None = None
    payload: str | None = None


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
    """A person has to answer a form. `input` is its digest. Another form or attempt is another question (`id`)."""

    path: str
    input: str
    question: dict[str, Any]
    id: str = ""


@dataclass(frozen=True)
class Answered:
    """A person answered a form. `at` is when, in seconds since 1970; 0 if it is not known.

    `surface` is where: `cli`, `tui` or `web`; None if it is not known.
    """

    path: str
    input: str
    values: dict[str, Any]
    id: str = ""
    by: str | None = None
    at: float = 0.0
    surface: str | None = None


@dataclass(frozen=True)
class Checked:
    """The `expect` of a step was looked at: name, kind, held, detail and seconds of each check.

    `held` is None if a check did not run: its condition did not hold, or what it needs is missing.
    """

    path: str
    results: list[dict[str, Any]]


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
    """Something that an agent did: `kind` is tool, allowed, plan, denied, retry or again (it was called again)."""

    path: str
    kind: str
    text: str

    @property
    def is_usual(self) -> bool:
        """True for the usual work of an agent, to which people need not pay attention."""
        return self.kind in ("tool", "allowed", "plan")


@dataclass(frozen=True)
class Guided:
    """Something happened in the workflow that an agent is driven through. See `contracts.GuideNews`.

    `session` and `number` identify it, so it is recorded once. `time` is when it happened.
    """

    path: str
    session: str
    number: int
    time: float
    kind: str
    phase: str
    place: str
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

    `code` is the reason as data: the error code of the step that failed, `stopped` (by `handrail stop`), `interrupted`,
    `stop-flow-if` or `until`; None if the flow reached its end. `reason` and `error` are texts for people. `driven` is
    false if no process drove the run any more when its end was recorded.
    """

    status: RunStatus
    outcome: str | None
    reason: str | None
    error: str | None
    code: str | None = None
    by: str | None = None
    driven: bool = True


OfStep = (
    PhaseStarted | PhaseSkipped | PhaseDone | StepStarted | StepSkipped | NodeStarted | NodeFinished | NodeFailed
    | StepDone | StepFailed | AttemptStarted | AttemptFailed
)  # fmt: skip
OfRun = (
    RunStarted | RunResumed | FactFound | Asked | Answered | Checked | ArtifactPublished | SummarySet | SessionOpened
    | AgentActed | Guided | UsageReported | Delayed | Noticed | TimeSpent | Routed | Bounded | Permitted
    | RunParked | RunEnded
)  # fmt: skip
Event = OfStep | OfRun
EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


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
