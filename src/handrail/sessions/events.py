"""The state of a session and the events that change it: what a journal contains, and how it is written as JSON. Pure.

Standard library only. `machine` decides which events happen.
"""

from __future__ import annotations

from handrail.sessions.results import Result
from handrail.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from handrail.contracts.messages import StateData

    Status = Literal["none", "active", "done", "cancelled"]

IDLE_STOPS = 3
"""How often an agent without progress is sent on, if the settings do not say."""
REMINDERS = 12
"""How often an agent is sent on in one phase, even if it makes progress, if the settings do not say."""
SAME_FAILURES = 3
"""How often in a row the exit checks fail in the same way until the agent is told, if the settings do not say."""
REFUSED = 3
"""How many refused commands a state remembers."""


class State(Record):
    """The state of a session. Everything else is derived from the plan.

    `sent_on` counts how often the agent tried to stop and was told to continue; `reminders` counts since the last move.
    `refused` are the last commands that an agent tried and may not run. `failure` identifies how the exit checks failed
    last, and `same_failures` counts how often in a row they failed like this in the current phase. `guidance` are the
    practices of the project's playbook for the current phase.
    """

    status: Status = "none"
    at: int = 0
    steps: int = 0
    plan: str = ""
    task: str = ""
    task_id: str = ""
    started: float = 0.0
    cancel_asked: bool = False
    idle_stops: int = 0
    told: bool = False
    summaries: tuple[tuple[str, str], ...] = ()
    idle_limit: int = IDLE_STOPS
    reminders: int = 0
    sent_on: int = 0
    checked: str = ""
    refused: tuple[str, ...] = ()
    reminder_limit: int = REMINDERS
    failure: str = ""
    same_failures: int = 0
    same_limit: int = SAME_FAILURES
    guidance: str = ""

    @property
    def is_active(self) -> bool:
        return self.status == "active"

    @property
    def is_going_in_circles(self) -> bool:
        """True if the exit checks failed in the same way too often in a row. A limit of 0 means never."""
        return 0 < self.same_limit <= self.same_failures


class Started(Record):
    plan: str
    task: str
    task_id: str
    time: float
    idle_limit: int = IDLE_STOPS
    reminder_limit: int = REMINDERS
    same_limit: int = SAME_FAILURES
    guidance: str = ""


class Checked(Record):
    """`folder` is where the checks ran; empty in journals of 0.1.0."""

    at: int
    results: tuple[Result, ...]
    folder: str = ""


class Moved(Record):
    """`guidance` are the practices for the phase that is entered; so they are in `Started`, `Looped` and `Reloaded`."""

    origin: int
    to: int
    phase: str
    summary: str
    cwd: str = ""
    guidance: str = ""


class Finished(Record):
    origin: int
    phase: str
    summary: str
    cwd: str = ""


class Looped(Record):
    origin: int
    to: int
    guidance: str = ""


class CancelAsked(Record):
    at: int


class CancelWithdrawn(Record):
    at: int


class Cancelled(Record):
    at: int
    reason: str


class SentOn(Record):
    at: int
    idle: int


class LetGo(Record):
    at: int
    reason: str


class Told(Record):
    status: str


class Reloaded(Record):
    plan: str
    to: int
    guidance: str = ""


class CommandRefused(Record):
    command: str


class Rewound(Record):
    """The person went to another place in the conversation's history. `state` is the one after the first `to` records.

    Before the first record no workflow was active: then `status` is `none`, and the plan is the one of the first start.
    """

    to: int
    state: State


class Adopted(Record):
    """A workflow that another program began continues here. `origin` is what it calls itself."""

    state: State
    origin: str


Event = (
    Started | Checked | Moved | Finished | Looped | CancelAsked | CancelWithdrawn | Cancelled | SentOn | LetGo | Told
    | Reloaded | CommandRefused | Rewound | Adopted
)  # fmt: skip
EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in Event.__args__}


def event_to_json(event: Event) -> dict[str, Any]:
    data = event._asdict()
    if isinstance(event, Checked):
        data["results"] = [result._asdict() for result in event.results]
    if isinstance(event, Rewound | Adopted):
        data["state"] = state_to_json(event.state)
    return {"type": type(event).__name__, **_without_empty_guidance(data)}


def event_from_json(data: dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote. Raises `ValueError` for any other data."""
    fields = dict(data)
    kind = EVENT_TYPES.get(str(fields.pop("type", "")))
    if kind is None:
        raise ValueError(f"not an event: {data.get('type')!r}")
    try:
        if kind is Checked:
            fields["results"] = tuple(Result(**result) for result in fields["results"])
        if kind in (Rewound, Adopted):
            fields["state"] = state_from_json(fields["state"])
        event: Event = kind(**fields)
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a {kind.__name__} event: {error}") from error
    return event


def _without_empty_guidance(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "guidance" or value}


def state_to_json(state: State) -> StateData:
    return _without_empty_guidance(state._asdict())  # type: ignore[return-value]  # tuples become lists in JSON


def state_from_json(data: StateData) -> State:
    """The state that `state_to_json` wrote. Raises `ValueError` for any other data."""
    try:
        fields: dict[str, Any] = {**data}
        state = State(**fields)
        summaries = tuple((phase, text) for phase, text in state.summaries)
        return state._replace(summaries=summaries, refused=tuple(state.refused))
    except (TypeError, ValueError) as error:
        raise ValueError(f"not a state: {error}") from error
