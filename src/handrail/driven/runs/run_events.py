"""The events of a run, named in the past tense, and how they are stored without secrets. Pure.

`state` folds them. `path` identifies a step by names, never by a position: `phase/step`, or `phase/step/phase/step`
inside a nested flow. An attempt of a step is its node, its expectations, its `after` and its `makes`.
Data that later steps use keeps references to secrets; texts for people are masked. Journals hold the names of the
event classes, so these names never change. What a person chooses for a run is an event, too: its agents (`Routed`),
what it may use at most (`Bounded`), which effects are approved (`Permitted`) and other params (`ParamsChanged`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, dataclass_transform

from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import StateError
from handrail.extensions.contracts import EventRecord, LastingError
from handrail.settings.routes import OwnRoute, Route, RouteOverrides, choose
from handrail.settings.secrets import Secrets, masked
from handrail.settings.sections import ApprovalRule
from handrail.source.values import restore, texts_in


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Event:
    """An event of a run. Each subclass is a frozen dataclass."""

    __init_subclass__: Any = classmethod(dataclass(frozen=True))  # gets the subclass


class AttemptStarted(Event):
    """A nested flow is tried again. With `again` it had ended, so all of its steps run again."""

    path: str
    attempt: int
    again: bool


class AttemptFailed(Event):
    """An attempt failed, and no `NodeFailed` says so. `refuted`: its work was finished, but its proof does not hold."""

    path: str
    code: str
    message: str
    refuted: bool


class TimeSpent(Event):
    """How many seconds of a time limit are used up, over all lives of the run. `is_over`: the limit was reached.

    Only time in which the run was driven counts. The path of the whole run is empty.
    """

    path: str
    seconds: float
    is_over: bool = False


Mode = Literal["run", "resume", "continue", "restart"]
Cause = Literal[Mode, "answer"]
"""Why a run is driven. `answer`: to use an answer. Then it is not driven if somebody has stopped it since."""
RunStatus = Literal["running", "waiting", "completed", "stopped", "failed", "cancelled"]
StepStatus = Literal["pending", "running", "done", "skipped", "failed"]
PhaseStatus = Literal["running", "done", "skipped"]


class RunStarted(Event):
    """`digest` is the digest of all definitions that the run was started with. The run keeps these.

    `earlier` is what the attempts before this one took: `seconds`, `isLeast` (it may be more) and `usage`; empty in the
    first one.

    Here and below, `by` says who caused the event: `person`, `script`, `agent:NAME` or `run:ID`. None if not known.
    """

    flow: str
    digest: str
    until: str | None
    by: str | None = None
    earlier: dict[str, Any] = field(default_factory=dict)


class RunResumed(Event):
    """`rewound` are the finished phases that run again.

    `heard` is when a program of the run printed something last, if the process that drove it was killed.
    """

    mode: Mode
    rewound: list[str]
    until: str | None
    by: str | None = None
    heard: float | None = None


class PhaseStarted(Event):
    path: str


class PhaseSkipped(Event):
    path: str
    reason: str


class PhaseDone(Event):
    path: str


class StepStarted(Event):
    path: str


class StepSkipped(Event):
    path: str


class NodeStarted(Event):
    """A node was started. `input` is the digest of its name, params and prompt; the same input is the same work.

    `given` has its `prompt` and `params`. If they are long, they are in a file, and `payload` is its digest. Journals
    of 0.1.0 have neither.
    """

    path: str
    input: str
    attempt: int
    given: dict[str, Any] | None = None
    payload: str | None = None


class NodeFinished(Event):
    """`value` is the result. If it is large, it is in a file, and `payload` is its digest."""

    path: str
    input: str
    attempt: int
    value: Any
    payload: str | None = None


class NodeFailed(Event):
    """`output` is what its program printed. If it is large, it is in a file, and `payload` is its digest."""

    path: str
    input: str
    attempt: int
    code: str
    message: str
    output: str | None = None
    payload: str | None = None


class FactFound(Event):
    """Something about the world that an expression used. A resumed run uses the recorded value again."""

    path: str
    place: str
    kind: str
    subject: str
    value: Any


class Asked(Event):
    """A person has to answer a form. `input` is its digest. Another form or attempt is another question (`id`)."""

    path: str
    input: str
    question: dict[str, Any]
    id: str = ""


class Answered(Event):
    """A person answered a form. `at` is when, in seconds since 1970; 0 if it is not known.

    `surface` is where: `cli`, `tui` or `web`; None if it is not known. If nobody answered before the deadline of the
    question, its default was taken, and `by` is `BY_DEADLINE`.
    """

    path: str
    input: str
    values: dict[str, Any]
    id: str = ""
    by: str | None = None
    at: float = 0.0
    surface: str | None = None


BY_DEADLINE = "deadline"


class Checked(Event):
    """The `expect` of a step was looked at: name, kind, held, detail and seconds of each check.

    `held` is None if a check did not run: its condition did not hold, or what it needs is missing.
    """

    path: str
    results: list[dict[str, Any]]


class ArtifactPublished(Event):
    path: str
    artifact: dict[str, Any]


class SessionOpened(Event):
    """An agent began a conversation. After a crash it can be continued."""

    path: str
    agent: str
    session: str


class AgentActed(Event):
    """Something that an agent did: `kind` is tool, allowed, plan, denied, retry or again (it was called again)."""

    path: str
    kind: str
    text: str

    @property
    def is_usual(self) -> bool:
        """True for the usual work of an agent, to which people need not pay attention."""
        return self.kind in ("tool", "allowed", "plan")


class Guided(Event):
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
    by: str = ""


class UsageReported(Event):
    """What an agent used for a step: inputTokens, outputTokens, cachedTokens, usd; None if it is not known.

    `session`: the process that drove the run was killed before it could report this. It was read from the agent's own
    record of this conversation.
    """

    path: str
    usage: dict[str, Any]
    session: str = ""


class Delayed(Event):
    """The step waits until a point in time, such as the reset of a rate limit."""

    path: str
    until: float
    reason: str


class Noticed(Event):
    """Something that people should know. It does not change the state."""

    path: str
    text: str


class StepDone(Event):
    path: str
    stop: bool


class StepFailed(Event):
    """`output` are the last lines that the step or its check printed."""

    path: str
    code: str
    message: str
    output: str | None = None


class SummarySet(Event):
    text: str


class RunParked(Event):
    """The run waits for a person."""

    path: str
    reason: str


class RunEnded(Event):
    """How a run ended. `outcome` comes from the flow itself.

    `code` is the reason as data: the error code of the step that failed, `stopped` (by `handrail stop`), `interrupted`,
    `stop-flow-if` or `until`; None if the flow reached its end. `reason` and `error` are texts for people. `driven` is
    false if no process drove the run any more when its end was recorded. `heard` is as in `RunResumed`.
    """

    status: RunStatus
    outcome: str | None
    reason: str | None
    error: str | None
    code: str | None = None
    by: str | None = None
    driven: bool = True
    heard: float | None = None


BOUND_NAMES = ("usd", "minutes", "tokens")
BOUND_OPTIONS = {"usd": "--max-usd", "minutes": "--max-minutes", "tokens": "--max-tokens"}
BUDGET_CODE = "budget"
DENIED = "denied"
"""The code and the outcome of a run if every attempt of an agent at its work was denied."""


class Bounded(Event):
    """From here on, a run may use at most this. None: as much as it needs.

    `places` says for bounds of the settings where they are: `FILE:LINE`, by name. Others come from the command line.
    """

    usd: float | None = None
    minutes: float | None = None
    tokens: float | None = None
    places: dict[str, str] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Any]:
        return {name: most for name in BOUND_NAMES if (most := getattr(self, name)) is not None}

    def with_later(self, later: Bounded) -> Bounded:
        """A later bound wins over an earlier one of its kind."""
        known = {name: place for name, place in self.places.items() if name not in later.named}
        return Bounded(**{**self.named, **later.named}, places={**known, **later.places})

    def source(self, name: str) -> str:
        """Where a bound comes from: `--max-usd`, or `limits.usd` and the place in the settings."""
        place = self.places.get(name)
        return f"`{BOUND_OPTIONS[name]}`" if place is None else f"`limits.{name}`, {place}"


def option_named_in(reason: str) -> str | None:
    """The option that raises the bound which ended a run; None if no bound did."""
    names = (name for name, option in BOUND_OPTIONS.items() if option in reason or f"`limits.{name}`" in reason)
    return BOUND_OPTIONS.get(next(names, ""))


class ParamsChanged(Event):
    """From here on, these params have other values than at the beginning. Finished steps keep what they got."""

    params: dict[str, Any] = field(default_factory=dict)


class Permitted(Event):
    """From here on, these effects are approved without a question."""

    effects: list[str] = field(default_factory=list)

    def with_more(self, effects: Sequence[str]) -> Permitted:
        return Permitted([*self.effects, *(name for name in effects if name not in self.effects)])

    @property
    def rules(self) -> tuple[ApprovalRule, ...]:
        return tuple(map(ApprovalRule, self.effects))


@dataclass(frozen=True)
class RunChoice:
    """What a person chose on the command line: `--agent`, `--model`, `--route`, `--preset`, bounds, `--approve`.

    `params` replace those of the run from here on. `is_attended`: a person at the terminal is asked what the run asks.
    `ended_by` says who ended the driver by a signal.
    """

    agent: str | None = None
    model: str | None = None
    routes: dict[str, str] = field(default_factory=dict)
    preset: str | None = None
    bounds: Bounded = field(default_factory=Bounded)
    approve: tuple[str, ...] = ()
    is_attended: bool = False
    params: dict[str, Any] = field(default_factory=dict)
    ended_by: Callable[[], str] = str


class Routed(Event):
    """From here on, steps get their agents by this. `routes` come from `--route`, `table` from the settings.

    `preset` is empty if there is none, and None in runs of 0.1.0, which did not record it.
    """

    agent: str | None
    model: str | None
    routes: dict[str, str]
    preset: str | None
    table: dict[str, str]

    def with_choice(self, choice: RunChoice) -> Routed:
        """A later choice wins. A new agent is for every step, so earlier routes and the model of another agent end."""
        now = self
        if choice.agent is not None:
            now = replace(now, agent=choice.agent, model=None, routes={})
        if choice.model is not None:
            now = replace(now, model=choice.model)
        preset = now.preset if choice.preset is None else choice.preset
        return replace(now, routes={**now.routes, **choice.routes}, preset=preset)


def agent_of(routing: Routed, group: str | None, own: OwnRoute) -> Route | None:
    """The agent for a step, by the recorded routes. `own` are the agent and the model that the step names."""
    return choose(RouteOverrides(routing.agent, routing.model, routing.routes), routing.table, group, own)


def number_of_copied(records: Sequence[EventRecord]) -> int:
    """How many events a restart copied from the attempt before. It begins with them, and then resumes."""
    resumes = ((number, event) for number, (_, event) in enumerate(records, 1) if isinstance(event, RunResumed))
    return next((number if event.mode == "restart" else 0 for number, event in resumes), 0)


EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in Event.__subclasses__()}


def event_to_json(event: Event) -> dict[str, Any]:
    """The event as JSON. If its value holds numbers like `1.10`, `written` has their texts."""
    data = {**vars(event), "type": type(event).__name__}
    if isinstance(event, NodeFinished) and (texts := texts_in(event.value)):
        data["written"] = texts
    return data


def newer_error(what: str) -> StateError:
    hint = "use the version of Handrail that wrote it, or a later one"
    return StateError(f"the run was written by a newer Handrail: this version does not know {what}", hint)


def event_from_json(data: dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote; its time `t` is left out. Raises `ValueError` for anything else.

    Raises `StateError` for an event, or a field of one, that this version does not know.
    """
    fields = dict(data)
    fields.pop("t", None)
    texts = fields.pop("written", None)
    if isinstance(texts, dict):
        fields["value"] = restore(fields.get("value"), texts)
    name = fields.pop("type", None)
    kind = EVENT_TYPES.get(str(name))
    if kind is None:
        raise newer_error(f"the event `{name}`") if isinstance(name, str) else ValueError(f"not an event: {name!r}")
    try:
        event: Event = kind(**fields)
    except TypeError as error:
        if "unexpected keyword" in str(error):
            raise newer_error(f"`{name}` with other fields") from error
        raise ValueError(f"not a {kind.__name__} event: {error}") from error
    return event


DATA = ("value", "values", "subject", "given")
"""Fields with data of steps and people. A resumed run uses them again."""
TEXTS = ("message", "text", "reason", "error", "question", "results", "output")
"""Fields that only people read. All other fields are paths, kinds and digests, and never contain secrets."""


_STORED = {*DATA, *TEXTS}


def stored_event(event: Event, secrets: Secrets) -> Event:
    """The event as it is stored; the same object if it contains no secret."""
    if _STORED.isdisjoint(vars(event)):  # most events
        return event
    event = _changed(event, DATA, secrets.for_storage)
    return _changed(event, TEXTS, secrets.for_people)


def _changed(event: Event, names: tuple[str, ...], change: Callable[[Any], Any]) -> Event:
    """The event with these fields changed, as far as it has them; the same object if `change` changes none."""
    before, kind = vars(event), EVENT_TYPES[type(event).__name__]
    after = {name: change(before[name]) for name in names if before.get(name) is not None}
    is_changed = any(value is not before[name] for name, value in after.items())
    return kind(**{**before, **after}) if is_changed else event


def masked_json(event: Event) -> dict[str, Any]:
    data = event_to_json(event)
    return data | {name: masked(data[name]) for name in (*DATA, "written") if name in data}


def masked_event(event: Event) -> Event:
    """A stored event as people see it; the same object if it contains no secret."""
    return _changed(event, DATA, masked)


def masked_records(records: Iterable[EventRecord]) -> list[EventRecord]:
    return [(at, masked_event(event)) for at, event in records]


def question_for_people(question: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """A form as people see it. Raises `NodeError` if a person would choose or accept a value that contains a secret."""
    for row in (*(question.get("fields") or ()), {"id": "default", "default": question.get("default")}):
        offered = [row.get("default"), *(option.get("value") for option in row.get("options") or ())]
        if secrets.for_people(offered) != offered:
            message = f"the field `{row.get('id')}` offers a value that contains a secret, and people must not see it"
            raise LastingError("form-secret", message)
    masked_: dict[str, Any] = secrets.for_people(question)
    return masked_
