"""The guided state machine: `decide` (plan + state + command → events) and `apply` (state + event → state).

Pure: time, ids and check results are part of the commands. A session is resumed by folding its journal. Events that
`decide` cannot have decided are damage, because a checksum protects a journal against accidents only. The names of the
event classes are stored in journals. Standard library only.
"""

from __future__ import annotations

from handrail.base.record import Record
from handrail.guided.workflows.plan import Plan, relocate
from handrail.source.plain_text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, assert_never

    from handrail.extensions.contracts.messages import StateData

    Status = Literal["none", "active", "done", "cancelled"]
    Summaries = tuple[tuple[str, str], ...]


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

    @property
    def is_active(self) -> bool:
        return self.status == "active"

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
    | Reloaded | CommandRefused | Rewound | Adopted
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
    """Cancel the workflow. A person confirms it, or an agent asks twice in a row."""

    confirmed: bool = False
    reason: str = ""


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


ActiveCommand = Next | Loop | Cancel | AgentStopped | Resumed | Reload | CommandRefused
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


def decide(plan: Plan | None, state: State, command: Command, refusal: Refusal | None = None) -> Decision:
    """Decide a command in this state. `plan` is the pinned plan of the session, or None before the first start.

    `refusal` is given if the command is refused for a reason outside of the state.
    """
    decision = _decide(plan, state, command) if refusal is None else Decision((), refusal)
    if state.cancel_asked and not decision.events and not isinstance(command, AgentStopped | Tell):
        return decision._replace(events=(CancelWithdrawn(state.at),))
    return decision


def _decide(plan: Plan | None, state: State, command: Command) -> Decision:
    if isinstance(command, Start):
        if state.is_active and not command.replace:
            return Decision((), Refusal("active", "A workflow is already active in this session."))
        ended = (Cancelled(state.at, "replaced by another workflow"),) if state.is_active else ()
        return Decision((*ended, command.started))
    if isinstance(command, Tell):
        is_news = state.status in ("done", "cancelled") and not state.told
        return Decision((Told(state.status),)) if is_news else Decision()
    if isinstance(command, Rewound):
        return Decision((command,)) if command.state != state else Decision()
    if isinstance(command, Adopted):
        return Decision() if state.is_active else Decision((command,))
    if not state.is_active or plan is None:
        return Decision((), Refusal("not-active", "No workflow is active in this session."))
    return _decide_active(plan, state, command)


def _decide_active(plan: Plan, state: State, command: ActiveCommand) -> Decision:
    match command:
        case Next():
            return _next(plan, state, command)
        case Loop():
            stop = plan.stops[state.at]
            if not stop.scope_loopable:
                return Decision((), Refusal("not-loopable", f"{stop.levels[-1].name} cannot be restarted."))
            first = stop.scope_first
            return Decision((Looped(state.at, first, command.guidance.text_at(first)),))
        case Cancel():
            is_sure = command.confirmed or state.cancel_asked
            return Decision((Cancelled(state.at, command.reason) if is_sure else CancelAsked(state.at),))
        case AgentStopped():
            return _agent_stopped(state, command)
        case Resumed():
            return Decision()
        case Reload():
            to = relocate(plan, state.at, command.new)
            if isinstance(to, str):
                message = f"The session cannot continue with the edited files: {to}."
                return Decision((), Refusal("not-found", message))
            return Decision((Reloaded(command.plan, to, command.guidance.text_at(to)),))
        case CommandRefused():
            return Decision((command,))
        case _:
            assert_never(command)


def _next(plan: Plan, state: State, command: Next) -> Decision:
    stop = plan.stops[state.at]
    checked: tuple[Event, ...] = ()
    to = state.at + 1
    if stop.checks:
        if len(command.results) != len(stop.checks):
            return Decision((), Refusal("unchecked", f"The exit checks of {stop.name} were not run."))
        checked = (Checked(state.at, command.results, command.place.folder),)
        if not all(result.held for result in command.results):
            return Decision(checked, Refusal("check-failed", f"{stop.name} cannot be left yet."))
    summary, cwd = shorten_summary(command.summary), command.place.cwd
    if to == len(plan.stops):
        return Decision((*checked, Finished(state.at, stop.name, summary, cwd)))
    return Decision((*checked, Moved(state.at, to, stop.name, summary, cwd, command.guidance.text_at(to))))


def _agent_stopped(state: State, command: AgentStopped) -> Decision:
    if command.aborted:
        return Decision()
    idle = 1 if command.progress and not state.is_going_in_circles else state.idle_stops + 1
    if idle > state.idle_limit:
        reason = f" after {counted(state.idle_limit, 'reminder')}" if state.idle_limit else ""
        if state.is_going_in_circles:
            reason += f"; its exit checks failed in the same way {state.same_failures} times in a row"
        return Decision((LetGo(state.at, f"no progress{reason}"),))
    if state.reminders >= state.reminder_limit:
        times = counted(state.reminders, "reminder")
        return Decision((LetGo(state.at, f"it is still in the same phase after {times}"),))
    return Decision((SentOn(state.at, idle),))


def apply(state: State, event: Event) -> State:
    """The state after an event. Every move, check or end withdraws a pending cancel request."""
    match event:
        case Started():
            fields = event._asdict()
            return State("active", started=fields.pop("time"), **fields)
        case Moved():
            return _state_at_stop(state, event.to, event.guidance, _summaries(state, event))
        case Finished():
            summaries, steps = _summaries(state, event), state.steps + 1
            return state._replace(status="done", steps=steps, cancel_asked=False, idle_stops=0, summaries=summaries)
        case Looped():
            return _state_at_stop(state, event.to, event.guidance, state.summaries)
        case Checked():
            return _after_checks(state, event)
        case CancelWithdrawn() | CancelAsked():
            return state._replace(cancel_asked=isinstance(event, CancelAsked))
        case Cancelled():
            return state._replace(status="cancelled", cancel_asked=False)
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


def _state_at_stop(state: State, to: int, guidance: str, summaries: Summaries) -> State:
    """The state after a move to another stop, or to the same one again."""
    return state._replace(
        at=to,
        steps=state.steps + 1,
        cancel_asked=False,
        idle_stops=0,
        reminders=0,
        same_failures=0,
        summaries=summaries,
        guidance=guidance,
    )


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
        failure=failure,
        same_failures=repeats + 1 if failure else 0,
        checked=outcome,
        idle_stops=state.idle_stops if outcome == state.checked else 0,
    )


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after these events."""
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
    if not isinstance(event, Moved | Finished | Looped):
        return None
    plan = plan_of(state.plan)
    if plan is None or not state.is_active:
        return "it leaves a phase, but no workflow is active"
    if event.origin != state.at or not 0 <= state.at < len(plan.stops):
        return f"it leaves phase {event.origin + 1}, but the session is in phase {state.at + 1}"
    stop = plan.stops[state.at]
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
