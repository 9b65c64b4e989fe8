"""The guided state machine: its state, events and commands, and `apply` (state + event → state).

`decisions.decide` says which events a command causes. Pure: time, ids and check results are part of the commands; the
shell fills in who caused an event (`by`). A session is resumed by folding its journal. Events that cannot have been
decided are damage, because a checksum protects a journal against accidents only. The names of the event classes are
stored in journals. Standard library only.
"""

from __future__ import annotations

from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, assert_never

    from handrail.extensions.contracts.messages import StateData
    from handrail.guided.workflows.plan import Plan

    Status = Literal["none", "active", "waiting", "done", "cancelled"]
    Summaries = tuple[tuple[str, str], ...]
    Fields = dict[str, Any]


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


def shorten_summary(summary: str) -> str:
    """The summary, cut to at most `SUMMARY_LENGTH` characters. A cut summary ends with a mark."""
    if len(summary) <= SUMMARY_LENGTH:
        return summary
    note = _CUT_SUMMARY.format(f"{len(summary):,}")
    return summary[: SUMMARY_LENGTH - len(note)] + note


def is_cut_summary(summary: str) -> bool:
    start, _, end = _CUT_SUMMARY.partition("{}")
    return summary.endswith(end) and start in summary[-80:]


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

    `cancel_asked`: a second call confirms a cancel. The status is `waiting` if the agent said that it is blocked.
    `question` is what it asks a person, and `reason` why; in an active session, that is to cancel the workflow. `note`
    is what a person told the agent in this phase; `exchanges` counts questions and notes. `cancel` is the policy of the
    settings, empty if they have none. `ended_by` is who cancelled the workflow. `folder` is where exit checks ran last.
    `skipped` are the stops that a person's moves passed.
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
    summaries: Summaries = ()
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
    reason: str = ""
    question: str = ""
    note: str = ""
    exchanges: int = 0
    cancel: str = ""
    ended_by: str = ""
    folder: str = ""
    skipped: tuple[int, ...] = ()

    @property
    def is_active(self) -> bool:
        """True if the workflow has not ended, also while it waits for a person."""
        return self.status in ("active", "waiting")

    @property
    def asks_to_cancel(self) -> bool:
        """True if the agent asked a person to cancel the workflow."""
        return self.status == "active" and bool(self.question)

    @property
    def is_going_in_circles(self) -> bool:
        """True if the exit checks failed in the same way too often in a row. A limit of 0 means never."""
        return 0 < self.same_limit <= self.same_failures


class Started(Record):
    """`plan` is the digest of the pinned plan."""

    plan: str
    task: str
    task_id: str
    time: float
    idle_limit: int = IDLE_STOPS
    reminder_limit: int = REMINDERS
    same_limit: int = SAME_FAILURES
    guidance: str = ""
    cancel: str = ""


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
    by: str = ""


class WentTo(Record):
    """A person moved the session. `kept` is how many summaries are about phases before the new one."""

    origin: int
    to: int
    reason: str
    kept: int
    guidance: str = ""
    by: str = ""


class Blocked(Record):
    """The agent cannot go on. The session waits for a person."""

    at: int
    reason: str
    question: str
    by: str = ""


class Answered(Record):
    """A person answered, or keeps a workflow that the agent asked to cancel. `in_prompt`: the agent has read it."""

    at: int
    note: str = ""
    in_prompt: bool = False
    by: str = ""


class CancelAsked(Record):
    """`question` is what a person is asked; it is empty if whoever asked has to confirm it."""

    at: int
    reason: str = ""
    question: str = ""
    by: str = ""


class CancelWithdrawn(Record):
    at: int


class Cancelled(Record):
    at: int
    reason: str
    by: str = ""


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
    """An agent tried a command that only a person may run."""

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
    | Reloaded | CommandRefused | Rewound | Adopted | WentTo | Blocked | Answered
)  # fmt: skip
EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in Event.__args__}


def event_to_json(event: Event) -> dict[str, Any]:
    data = event._asdict()
    if isinstance(event, Checked):
        data["results"] = [result._asdict() for result in event.results]
    if isinstance(event, Rewound | Adopted):
        data["state"] = state_to_json(event.state)
    return {"type": type(event).__name__} | _without_empty_guidance(data)


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


def state_to_json(state: State) -> StateData:
    return _without_empty_guidance(state._asdict())  # type: ignore[return-value]  # tuples become lists in JSON


def _without_empty_guidance(data: dict[str, Any]) -> dict[str, Any]:
    if not data.get("guidance", True):
        del data["guidance"]
    return data


def state_from_json(data: StateData) -> State:
    """The state that `state_to_json` wrote. Raises `ValueError` for any other data."""
    try:
        fields: dict[str, Any] = {**data}
        fields["summaries"] = tuple((phase, text) for phase, text in fields.get("summaries", ()))
        fields["refused"] = tuple(fields.get("refused", ()))
        fields["skipped"] = tuple(fields.get("skipped", ()))
        return State(**fields)
    except (TypeError, ValueError) as error:
        raise ValueError(f"not a state: {error}") from error


class StopGuidance(Record):
    """The practices of the project's playbook for the stop `at`. They are used only if that stop is entered."""

    at: int
    text: str

    def text_at(self, stop: int) -> str:
        return self.text if self.at == stop else ""


NO_GUIDANCE = StopGuidance(-1, "")


class Start(Record):
    """Start a workflow. `replace`: an active one is cancelled."""

    started: Started
    replace: bool = False


class Next(Record):
    """Leave the phase. `results` are the results of its exit checks, which the caller has just run for this stop."""

    summary: str = ""
    results: tuple[CheckResult, ...] = ()
    place: WorkFolders = WorkFolders()
    guidance: StopGuidance = NO_GUIDANCE


class Loop(Record):
    """Restart the innermost workflow."""

    guidance: StopGuidance = NO_GUIDANCE


class Cancel(Record):
    """Cancel the workflow: `confirmed`, or at the second call in a row. For an agent, the policy decides."""

    confirmed: bool = False
    reason: str = ""
    by_agent: bool = False


class Block(Record):
    """The agent cannot go on: wait for a person."""

    reason: str
    question: str = ""


class Answer(Record):
    """A person's answer: go on. `in_prompt`: the person wrote it in the conversation."""

    note: str = ""
    in_prompt: bool = False


class GoTo(Record):
    """A person moves the session to any phase."""

    to: int
    reason: str
    guidance: StopGuidance = NO_GUIDANCE


class AgentStopped(Record):
    """The agent wants to end its turn. `aborted`: a person stopped it. `progress`: it did work since the last stop."""

    aborted: bool = False
    progress: bool = False


class Resumed(Record):
    """The conversation was reopened. This withdraws a pending cancel request."""


class Tell(Record):
    """The person is told how the workflow ended."""


class Reload(Record):
    """Continue with an edited definition."""

    plan: str
    new: Plan
    guidance: StopGuidance = NO_GUIDANCE


ActiveCommand = Next | Loop | Cancel | Block | Answer | GoTo | AgentStopped | Resumed | Reload | CommandRefused
"""These commands need an active workflow."""
Command = Start | Tell | Rewound | Adopted | ActiveCommand
"""An event among the commands happened outside; it is recorded as it is, if the state allows it."""


class Refusal(Record):
    """Why a command was refused. `code` is stable; `reason` is a sentence for the agent."""

    code: str
    reason: str


class Decision(Record):
    """The events that a command causes, and the refusal, if it was refused."""

    events: tuple[Event, ...] = ()
    refusal: Refusal | None = None


def apply(state: State, event: Event) -> State:
    """The state after an event. Every move, check or end withdraws a pending cancel request."""
    match event:
        case Started():
            fields = event._asdict()
            return State("active", started=fields.pop("time"), **fields)
        case Moved() | Looped() | WentTo():
            return _after_move(state, event)
        case Finished():
            summaries, steps = _summaries(state, event), state.steps + 1
            return state._replace(status="done", steps=steps, idle_stops=0, summaries=summaries, **_NOT_ASKING)
        case Checked():
            return _after_checks(state, event)
        case CancelWithdrawn():
            return state._replace(cancel_asked=False)
        case CancelAsked() | Blocked() | Answered():
            return _after_question(state, event)
        case Cancelled():
            return state._replace(status="cancelled", ended_by=event.by, **{**_NOT_ASKING, "reason": event.reason})
        case SentOn():
            return state._replace(idle_stops=event.idle, reminders=state.reminders + 1, sent_on=state.sent_on + 1)
        case LetGo():
            return state._replace(idle_stops=0, reminders=0)
        case Told():
            return state._replace(told=True, cancel_asked=False)
        case Reloaded():
            return state._replace(plan=event.plan, at=event.to, guidance=event.guidance, cancel_asked=False)
        case CommandRefused():
            return state._replace(refused=(*state.refused, event.command)[-REFUSED:], cancel_asked=False)
        case Rewound() | Adopted():
            return event.state
        case _:
            assert_never(event)


_NOT_ASKING: Fields = {"cancel_asked": False, "reason": "", "question": "", "note": ""}


def _after_question(state: State, event: CancelAsked | Blocked | Answered) -> State:
    """The state after a question to a person, and after its answer, which is for the agent if it did not read it."""
    if isinstance(event, CancelAsked | Blocked):
        if not event.question:
            return state._replace(cancel_asked=True)
        asking: Fields = {**_NOT_ASKING, "reason": event.reason, "question": event.question}
        status: Status = "waiting" if isinstance(event, Blocked) else "active"
        return state._replace(status=status, idle_stops=0, exchanges=state.exchanges + 1, **asking)
    if event.in_prompt:
        return state._replace(**{**_NOT_ASKING, "status": "active", "note": state.note})
    note = "A person does not cancel the workflow" if state.asks_to_cancel else "A person answered"
    going_on: Fields = {**_NOT_ASKING, "status": "active", "idle_stops": 0, "reminders": 0}
    going_on["note"] = f"{note}: {event.note}" if event.note else f"{note}. Go on."
    return state._replace(**going_on, exchanges=state.exchanges + 1)


def _after_move(state: State, event: Moved | Looped | WentTo) -> State:
    """The state after a move to another stop, or to the same one again. A person's move makes check results void."""
    summaries = _summaries(state, event) if isinstance(event, Moved) else state.summaries
    moved = state._replace(
        status="active",
        at=event.to,
        steps=state.steps + 1,
        idle_stops=0,
        reminders=0,
        same_failures=0,
        summaries=summaries,
        guidance=event.guidance,
        skipped=tuple(stop for stop in state.skipped if stop != event.to),
        **_NOT_ASKING,
    )
    if not isinstance(event, WentTo):
        return moved
    note = f"A person moved the workflow here: {event.reason}"
    skipped = tuple(sorted({*moved.skipped, *range(event.origin, event.to)}))
    return moved._replace(checked="", failure="", note=note, summaries=summaries[: event.kept], skipped=skipped)


def _summaries(state: State, event: Moved | Finished) -> Summaries:
    """The last summaries after one more phase. A phase without a summary adds none."""
    if not event.summary:
        return state.summaries
    return (*state.summaries, (event.phase, shorten_summary(event.summary)))[-MOST_SUMMARIES:]


def _after_checks(state: State, event: Checked) -> State:
    """New check results count as progress. The same failure again is counted."""
    outcome = "\n".join(f"{r.name} {r.held} {r.detail.partition(chr(10))[0]}" for r in event.results)
    failure = "\n".join(f"{r.name} {r.mark or r.detail[:200]}" for r in event.results if not r.held)
    repeats = state.same_failures if failure == state.failure else 0
    return state._replace(
        cancel_asked=False,
        reason="",
        question="",
        failure=failure,
        same_failures=repeats + 1 if failure else 0,
        checked=outcome,
        idle_stops=state.idle_stops if outcome == state.checked else 0,
        folder=event.folder,
    )


def fold(events: Iterable[Event], state: State | None = None) -> State:
    current = State() if state is None else state
    for event in events:
        current = apply(current, event)
    return current


def why_impossible(
    plan_of: Callable[[str], Plan | None], state: State, event: Event, before: Iterable[Event]
) -> str | None:
    """Why an event that leaves a phase cannot have been decided; None if it can, and for all other events.

    `plan_of` returns the pinned plan with a digest. `before` are the events before it in the same record: the checks of
    a phase and its end are one record.
    """
    if isinstance(event, Adopted):
        return "it takes over a workflow while another one is active" if state.is_active else None
    if not isinstance(event, Moved | Finished | Looped | WentTo):
        return None
    plan = plan_of(state.plan)
    if plan is None or not state.is_active:
        return "it leaves a phase, but no workflow is active"
    if event.origin != state.at or not 0 <= state.at < len(plan.stops):
        return f"it leaves phase {event.origin + 1}, but the session is in phase {state.at + 1}"
    stop = plan.stops[state.at]
    if isinstance(event, WentTo):
        return None if 0 <= event.to < len(plan.stops) else "it leads to a phase that does not exist"
    if isinstance(event, Looped):
        ok = stop.scope_loopable and event.to == stop.scope_first
        return None if ok else f"it restarts at a phase that does not begin {stop.levels[-1].name}"
    is_last = state.at + 1 == len(plan.stops)
    if isinstance(event, Finished) != is_last or (isinstance(event, Moved) and event.to != state.at + 1):
        return f"it does not lead to the phase after {stop.name}"
    checks = [check.results for check in before if isinstance(check, Checked) and check.at == state.at]
    number = len(stop.checks)
    if number and not any(len(results) == number and all(result.held for result in results) for results in checks):
        return f"it leaves {stop.name} without its exit checks"
    return None
