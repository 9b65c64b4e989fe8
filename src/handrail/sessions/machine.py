"""The guided state machine: `decide` (plan + state + command → events) and `apply` (state + event → state).

Pure: time, ids and check results are part of the commands. A session is resumed by folding its journal.
Standard library only.
"""

from __future__ import annotations

from handrail.sessions.results import Place, Result
from handrail.sessions.summaries import remembered, shortened
from handrail.source.plain import counted
from handrail.source.record import Record
from handrail.workflows.plan import Plan, relocate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal, assert_never

    from handrail.contracts.messages import StateData

    Status = Literal["none", "active", "done", "cancelled"]

IDLE_STOPS = 3
"""How often an agent without progress is sent on, if the settings do not say."""
REMINDERS = 12
"""How often an agent is sent on in one phase, even if it makes progress, if the settings do not say."""
REFUSED = 3
"""How many refused commands a state remembers."""


class State(Record):
    """The state of a session. Everything else is derived from the plan.

    `sent_on` counts how often the agent tried to stop and was told to continue; `reminders` counts since the last move.
    `refused` are the last commands that an agent tried and may not run.
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

    @property
    def is_active(self) -> bool:
        return self.status == "active"


class Start(Record):
    """Start a workflow. `plan` is the digest of the pinned plan."""

    plan: str
    task: str
    task_id: str
    time: float
    replace: bool = False
    idle_limit: int = IDLE_STOPS
    reminder_limit: int = REMINDERS


class Next(Record):
    """Leave the phase. `results` are the results of its exit checks, which the caller has just run for this stop."""

    summary: str = ""
    results: tuple[Result, ...] = ()
    place: Place = Place()


class Loop(Record):
    """Restart the innermost workflow."""


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


class NoteRefused(Record):
    """An agent tried a command that only a person may run."""

    command: str


Command = Start | Next | Loop | Cancel | AgentStopped | Resumed | Tell | Reload | NoteRefused


class Started(Record):
    plan: str
    task: str
    task_id: str
    time: float
    idle_limit: int = IDLE_STOPS
    reminder_limit: int = REMINDERS


class Checked(Record):
    """`folder` is where the checks ran; empty in journals of 0.1.0."""

    at: int
    results: tuple[Result, ...]
    folder: str = ""


class Moved(Record):
    origin: int
    to: int
    phase: str
    summary: str
    cwd: str = ""


class Finished(Record):
    origin: int
    phase: str
    summary: str
    cwd: str = ""


class Looped(Record):
    origin: int
    to: int


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


class CommandRefused(Record):
    command: str


Event = (
    Started | Checked | Moved | Finished | Looped | CancelAsked | CancelWithdrawn | Cancelled | SentOn | LetGo | Told
    | Reloaded | CommandRefused
)  # fmt: skip
EVENT_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in Event.__args__}


class Refusal(Record):
    """Why a command was refused. `code` is stable; `reason` is a sentence for the agent."""

    code: str
    reason: str


class Decision(Record):
    """The events that a command causes, and the refusal, if it was refused."""

    events: tuple[Event, ...] = ()
    refusal: Refusal | None = None


def decide(plan: Plan | None, state: State, command: Command) -> Decision:
    """Decide a command in this state. `plan` is the pinned plan of the session, or None before the first start."""
    decision = _decide(plan, state, command)
    if state.cancel_asked and not decision.events and not isinstance(command, AgentStopped | Tell):
        return decision._replace(events=(CancelWithdrawn(state.at),))
    return decision


def _decide(plan: Plan | None, state: State, command: Command) -> Decision:
    if isinstance(command, Start):
        return _start(state, command)
    if isinstance(command, Tell):
        ended = state.status in ("done", "cancelled") and not state.told
        return Decision((Told(state.status),)) if ended else Decision()
    if not state.is_active or plan is None:
        return Decision((), Refusal("not-active", "No workflow is active in this session."))
    return _decide_active(plan, state, command)


def _start(state: State, command: Start) -> Decision:
    limits = command.idle_limit, command.reminder_limit
    started = Started(command.plan, command.task, command.task_id, command.time, *limits)
    if not state.is_active:
        return Decision((started,))
    if command.replace:
        return Decision((Cancelled(state.at, "replaced by another workflow"), started))
    return Decision((), Refusal("active", "A workflow is already active in this session."))


def _decide_active(plan: Plan, state: State, command: Command) -> Decision:
    match command:
        case Next():
            return _next(plan, state, command)
        case Loop():
            return _loop(plan, state)
        case Cancel():
            if command.confirmed or state.cancel_asked:
                return Decision((Cancelled(state.at, command.reason),))
            return Decision((CancelAsked(state.at),))
        case AgentStopped():
            return _agent_stopped(state, command)
        case Resumed():
            return Decision()
        case Reload():
            return _reload(plan, state, command)
        case NoteRefused():
            return Decision((CommandRefused(command.command),))
        case Start() | Tell():
            raise AssertionError("`_decide` handles these")
        case _:
            assert_never(command)


def _next(plan: Plan, state: State, command: Next) -> Decision:
    stop = plan.stops[state.at]
    checked: tuple[Event, ...] = ()
    if stop.checks:
        if len(command.results) != len(stop.checks):
            return Decision((), Refusal("unchecked", f"The exit checks of {stop.name} were not run."))
        checked = (Checked(state.at, command.results, command.place.folder),)
        if not all(result.held for result in command.results):
            return Decision(checked, Refusal("check-failed", f"{stop.name} cannot be left yet."))
    summary, cwd = shortened(command.summary), command.place.cwd
    if state.at + 1 == len(plan.stops):
        return Decision((*checked, Finished(state.at, stop.name, summary, cwd)))
    return Decision((*checked, Moved(state.at, state.at + 1, stop.name, summary, cwd)))


def _loop(plan: Plan, state: State) -> Decision:
    stop = plan.stops[state.at]
    if not stop.scope_loopable:
        return Decision((), Refusal("not-loopable", f"{stop.levels[-1].name} cannot be restarted."))
    return Decision((Looped(state.at, stop.scope_first),))


def _agent_stopped(state: State, command: AgentStopped) -> Decision:
    if command.aborted:
        return Decision()
    idle = 1 if command.progress else state.idle_stops + 1
    if idle > state.idle_limit:
        told = f" after {counted(state.idle_limit, 'reminder')}" if state.idle_limit else ""
        return Decision((LetGo(state.at, f"no progress{told}"),))
    if state.reminders >= state.reminder_limit:
        times = counted(state.reminders, "reminder")
        return Decision((LetGo(state.at, f"it is still in the same phase after {times}"),))
    return Decision((SentOn(state.at, idle),))


def _reload(plan: Plan, state: State, command: Reload) -> Decision:
    to = relocate(plan, state.at, command.new)
    if isinstance(to, str):
        return Decision((), Refusal("not-found", f"The session cannot continue with the edited files: {to}."))
    return Decision((Reloaded(command.plan, to),))


def apply(state: State, event: Event) -> State:
    """The state after an event. Every move, check or end withdraws a pending cancel request."""
    quiet = state._replace(cancel_asked=False)
    match event:
        case Started():
            fresh = State("active", plan=event.plan, task=event.task, task_id=event.task_id)
            timed = fresh._replace(started=event.time)
            return timed._replace(idle_limit=event.idle_limit, reminder_limit=event.reminder_limit)
        case Moved():
            moved = quiet._replace(at=event.to, steps=state.steps + 1, idle_stops=0, reminders=0)
            return moved._replace(summaries=remembered(state.summaries, event.phase, event.summary))
        case Finished():
            done = quiet._replace(status="done", steps=state.steps + 1, idle_stops=0)
            return done._replace(summaries=remembered(state.summaries, event.phase, event.summary))
        case Looped():
            return quiet._replace(at=event.to, steps=state.steps + 1, idle_stops=0, reminders=0)
        case Checked():
            return _after_checks(quiet, event)
        case CancelWithdrawn():
            return quiet
        case CancelAsked():
            return state._replace(cancel_asked=True)
        case Cancelled():
            return quiet._replace(status="cancelled")
        case SentOn():
            return state._replace(idle_stops=event.idle, reminders=state.reminders + 1, sent_on=state.sent_on + 1)
        case LetGo():
            return state._replace(idle_stops=0, reminders=0)
        case Told():
            return quiet._replace(told=True)
        case Reloaded():
            return quiet._replace(plan=event.plan, at=event.to)
        case CommandRefused():
            return quiet._replace(refused=(*state.refused, event.command)[-REFUSED:])
        case _:
            assert_never(event)


def _after_checks(state: State, event: Checked) -> State:
    """New check results count as progress."""
    found = "\n".join(f"{r.name} {r.held} {r.detail.partition(chr(10))[0]}" for r in event.results)
    return state._replace(checked=found, idle_stops=state.idle_stops if found == state.checked else 0)


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after these events."""
    current = State() if state is None else state
    for event in events:
        current = apply(current, event)
    return current


def event_to_json(event: Event) -> dict[str, Any]:
    data = event._asdict()
    if isinstance(event, Checked):
        data["results"] = [result._asdict() for result in event.results]
    return {"type": type(event).__name__, **data}


def event_from_json(data: dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote. Raises `ValueError` for any other data."""
    fields = dict(data)
    kind = EVENT_TYPES.get(str(fields.pop("type", "")))
    if kind is None:
        raise ValueError(f"not an event: {data.get('type')!r}")
    try:
        if kind is Checked:
            fields["results"] = tuple(Result(**result) for result in fields["results"])
        event: Event = kind(**fields)
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a {kind.__name__} event: {error}") from error
    return event


def state_to_json(state: State) -> StateData:
    return state._asdict()  # type: ignore[return-value]  # tuples become lists in JSON


def state_from_json(data: StateData) -> State:
    """The state that `state_to_json` wrote. Raises `ValueError` for any other data."""
    try:
        fields: dict[str, Any] = {**data}
        state = State(**fields)
        summaries = tuple((phase, text) for phase, text in state.summaries)
        return state._replace(summaries=summaries, refused=tuple(state.refused))
    except (TypeError, ValueError) as error:
        raise ValueError(f"not a state: {error}") from error
