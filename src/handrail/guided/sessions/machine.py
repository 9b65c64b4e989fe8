"""The guided state machine: `decide` (plan + state + command → events) and `apply` (state + event → state).

Pure: time, ids and check results are part of the commands. A session is resumed by folding its journal. Events that
`decide` cannot have decided are damage, because a checksum protects a journal against accidents only.
Standard library only.
"""

from __future__ import annotations

from handrail.base.record import Record
from handrail.guided.sessions.events import (
    EVENT_TYPES,
    IDLE_STOPS,
    REFUSED,
    REMINDERS,
    SAME_FAILURES,
    Adopted,
    CancelAsked,
    Cancelled,
    CancelWithdrawn,
    Checked,
    CheckResult,
    CommandRefused,
    Event,
    Finished,
    LetGo,
    Looped,
    Moved,
    Reloaded,
    Rewound,
    SentOn,
    Started,
    State,
    Told,
    WorkFolders,
    event_from_json,
    event_to_json,
    last_summaries,
    shorten_summary,
    state_from_json,
    state_to_json,
)
from handrail.guided.workflows.plan import Plan, relocate
from handrail.source.plain_text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import assert_never

__all__ = [
    "EVENT_TYPES",
    "IDLE_STOPS",
    "REFUSED",
    "REMINDERS",
    "SAME_FAILURES",
    "Adopted",
    "CancelAsked",
    "CancelWithdrawn",
    "Cancelled",
    "Checked",
    "CommandRefused",
    "Event",
    "Finished",
    "LetGo",
    "Looped",
    "Moved",
    "Reloaded",
    "Rewound",
    "SentOn",
    "Started",
    "State",
    "Told",
    "event_from_json",
    "event_to_json",
    "state_from_json",
    "state_to_json",
]


class StopGuidance(Record):
    """The practices of the project's playbook for the stop `at`. They are used only if that stop is entered."""

    at: int
    text: str

    def text_at(self, stop: int) -> str:
        return self.text if self.at == stop else ""


NO_GUIDANCE = StopGuidance(-1, "")


class Start(Record):
    """Start a workflow. `plan` is the digest of the pinned plan."""

    plan: str
    task: str
    task_id: str
    time: float
    replace: bool = False
    idle_limit: int = IDLE_STOPS
    reminder_limit: int = REMINDERS
    same_limit: int = SAME_FAILURES
    guidance: StopGuidance = NO_GUIDANCE


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


class NoteRefused(Record):
    """An agent tried a command that only a person may run."""

    command: str


class Rewind(Record):
    """The person went to another place in the history. `state` is the one after the first `to` records."""

    to: int
    state: State


class Adopt(Record):
    """Continue a workflow that another program began. `state` is where it is; `origin` is what it calls itself."""

    state: State
    origin: str


Command = Start | Next | Loop | Cancel | AgentStopped | Resumed | Tell | Reload | NoteRefused | Rewind | Adopt


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
    if isinstance(command, Rewind):
        return Decision((Rewound(command.to, command.state),)) if command.state != state else Decision()
    if isinstance(command, Adopt):
        return Decision() if state.is_active else Decision((Adopted(command.state, command.origin),))
    if not state.is_active or plan is None:
        return Decision((), Refusal("not-active", "No workflow is active in this session."))
    return _decide_active(plan, state, command)


def _start(state: State, command: Start) -> Decision:
    limits = command.idle_limit, command.reminder_limit, command.same_limit
    first = command.guidance.text_at(0)
    started = Started(command.plan, command.task, command.task_id, command.time, *limits, first)
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
            return _loop(plan, state, command)
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
        case Start() | Tell() | Rewind() | Adopt():
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
    summary, cwd = shorten_summary(command.summary), command.place.cwd
    if state.at + 1 == len(plan.stops):
        return Decision((*checked, Finished(state.at, stop.name, summary, cwd)))
    to = state.at + 1
    return Decision((*checked, Moved(state.at, to, stop.name, summary, cwd, command.guidance.text_at(to))))


def _loop(plan: Plan, state: State, command: Loop) -> Decision:
    stop = plan.stops[state.at]
    if not stop.scope_loopable:
        return Decision((), Refusal("not-loopable", f"{stop.levels[-1].name} cannot be restarted."))
    first = stop.scope_first
    return Decision((Looped(state.at, first, command.guidance.text_at(first)),))


def _agent_stopped(state: State, command: AgentStopped) -> Decision:
    if command.aborted:
        return Decision()
    idle = 1 if command.progress and not state.is_going_in_circles else state.idle_stops + 1
    if idle > state.idle_limit:
        told = f" after {counted(state.idle_limit, 'reminder')}" if state.idle_limit else ""
        if state.is_going_in_circles:
            told += f"; its exit checks failed in the same way {state.same_failures} times in a row"
        return Decision((LetGo(state.at, f"no progress{told}"),))
    if state.reminders >= state.reminder_limit:
        times = counted(state.reminders, "reminder")
        return Decision((LetGo(state.at, f"it is still in the same phase after {times}"),))
    return Decision((SentOn(state.at, idle),))


def _reload(plan: Plan, state: State, command: Reload) -> Decision:
    to = relocate(plan, state.at, command.new)
    if isinstance(to, str):
        return Decision((), Refusal("not-found", f"The session cannot continue with the edited files: {to}."))
    return Decision((Reloaded(command.plan, to, command.guidance.text_at(to)),))


def apply(state: State, event: Event) -> State:
    """The state after an event. Every move, check or end withdraws a pending cancel request."""
    quiet = state._replace(cancel_asked=False)
    match event:
        case Started():
            fresh = State("active", plan=event.plan, task=event.task, task_id=event.task_id)
            timed = fresh._replace(started=event.time)
            limited = timed._replace(idle_limit=event.idle_limit, reminder_limit=event.reminder_limit)
            return limited._replace(same_limit=event.same_limit, guidance=event.guidance)
        case Moved():
            moved = _entered(quiet, event.to, event.guidance)
            return moved._replace(summaries=last_summaries(state.summaries, event.phase, event.summary))
        case Finished():
            done = quiet._replace(status="done", steps=state.steps + 1, idle_stops=0)
            return done._replace(summaries=last_summaries(state.summaries, event.phase, event.summary))
        case Looped():
            return _entered(quiet, event.to, event.guidance)
        case Checked():
            return _after_checks(quiet, event)
        case CancelWithdrawn() | CancelAsked():
            return state._replace(cancel_asked=isinstance(event, CancelAsked))
        case Cancelled():
            return quiet._replace(status="cancelled")
        case SentOn():
            return state._replace(idle_stops=event.idle, reminders=state.reminders + 1, sent_on=state.sent_on + 1)
        case LetGo():
            return state._replace(idle_stops=0, reminders=0)
        case Told():
            return quiet._replace(told=True)
        case Reloaded():
            return quiet._replace(plan=event.plan, at=event.to, guidance=event.guidance)
        case CommandRefused():
            return quiet._replace(refused=(*state.refused, event.command)[-REFUSED:])
        case Rewound() | Adopted():
            return event.state
        case _:
            assert_never(event)


def _entered(state: State, to: int, guidance: str) -> State:
    """The state after a move to another stop, or to the same one again."""
    moved = state._replace(at=to, steps=state.steps + 1, idle_stops=0, reminders=0, same_failures=0)
    return moved._replace(guidance=guidance)


def _after_checks(state: State, event: Checked) -> State:
    """New check results count as progress. The same failure again is counted."""
    found = "\n".join(f"{r.name} {r.held} {r.detail.partition(chr(10))[0]}" for r in event.results)
    failure = "\n".join(f"{r.name} {r.mark or r.detail[:200]}" for r in event.results if not r.held)
    again = state.same_failures if failure == state.failure else 0
    known = state._replace(failure=failure, same_failures=again + 1 if failure else 0)
    return known._replace(checked=found, idle_stops=state.idle_stops if found == state.checked else 0)


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after these events."""
    current = State() if state is None else state
    for event in events:
        current = apply(current, event)
    return current


def leaves_phase(event: Event) -> bool:
    """True if the event leaves a phase, so that it has to be earned."""
    return isinstance(event, Moved | Finished | Looped | Adopted)


def why_impossible(plan: Plan | None, state: State, event: Event, before: Iterable[Event]) -> str | None:
    """Why an event that leaves a phase cannot have been decided; None if it can.

    `before` are the events before it in the same record: the checks of a phase and its end are one record.
    """
    if isinstance(event, Adopted):
        return "it takes over a workflow while another one is active" if state.is_active else None
    assert isinstance(event, Moved | Finished | Looped)
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
    checked = [seen.results for seen in before if isinstance(seen, Checked) and seen.at == state.at]
    if stop.checks and not any(
        len(found) == len(stop.checks) and all(result.held for result in found) for found in checked
    ):
        return f"it leaves {stop.name} without its exit checks"
    return None
