"""The state of a session and the events that change it, and their form as JSON in a journal. Pure.

Standard library only. `machine` decides which events happen. The names of the event classes are stored in journals.
"""

from __future__ import annotations

from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from handrail.extensions.contracts.messages import StateData


class WorkFolders(Record):
    """Where the agent works, and the folder in which the checks of its phase ran; empty texts if it is not known."""

    cwd: str = ""
    folder: str = ""


class CheckResult(Record):
    """The result of a check. `held` is None if the check could not run; it then counts as failed.

    `mark` is the digest of a failure without what differs each time, such as times; two failures with the same mark
    are the same. It is empty if the check held, and in journals of 0.1.0.
    """

    name: str
    kind: str
    held: bool | None
    detail: str
    seconds: float
    mark: str = ""


MOST_SUMMARIES = 3
SUMMARY_LENGTH = 2_000
"""How many characters of a summary are kept."""
_CUT_SUMMARY = "… [cut by Handrail: {} characters are too many]"

Summaries = tuple[tuple[str, str], ...]


def shorten_summary(summary: str) -> str:
    """The summary, cut to at most `SUMMARY_LENGTH` characters. A cut summary ends with a mark."""
    if len(summary) <= SUMMARY_LENGTH:
        return summary
    note = _CUT_SUMMARY.format(f"{len(summary):,}")
    return summary[: SUMMARY_LENGTH - len(note)] + note


def is_cut_summary(summary: str) -> bool:
    start, _, end = _CUT_SUMMARY.partition("{}")
    return summary.endswith(end) and start in summary[-80:]


def last_summaries(known: Summaries, phase: str, summary: str) -> Summaries:
    """The last summaries after one more phase. A phase without a summary adds none."""
    return (*known, (phase, shorten_summary(summary)))[-MOST_SUMMARIES:] if summary else known


if TYPE_CHECKING:
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
    results: tuple[CheckResult, ...]
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
            fields["results"] = tuple(CheckResult(**result) for result in fields["results"])
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
