"""Which events a command causes: `decide` (plan + state + command → events, or a refusal). Standard library only.

Pure, as is the rest of the state machine (`machine`), which has the state, the commands and the events.
"""

from __future__ import annotations

from handrail import strictest_policy
from handrail.guided.sessions import machine
from handrail.guided.sessions.machine import Decision, Refusal, shorten_summary
from handrail.guided.workflows.plan import relocate
from handrail.source.plain_text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import assert_never

    from handrail.guided.sessions.machine import ActiveCommand, Command, Event, State
    from handrail.guided.workflows.plan import Plan

WHAT_NOW = "What should the agent do?"
CANCEL_IT = "Cancel the workflow?"


def decide(plan: Plan | None, state: State, command: Command, refusal: Refusal | None = None) -> Decision:
    """Decide a command in this state. `plan` is the pinned plan of the session, or None before the first start.

    `refusal` is given if the command is refused for a reason outside of the state.
    """
    decision = _decide(plan, state, command) if refusal is None else Decision((), refusal)
    if state.cancel_asked and not decision.events and not isinstance(command, machine.AgentStopped | machine.Tell):
        return decision._replace(events=(machine.CancelWithdrawn(state.at),))
    return decision


def _decide(plan: Plan | None, state: State, command: Command) -> Decision:
    if isinstance(command, machine.Start):
        if state.is_active and not command.replace:
            return Decision((), Refusal("active", "A workflow is already active in this session."))
        ended = (machine.Cancelled(state.at, "replaced by another workflow"),) if state.is_active else ()
        return Decision((*ended, command.started))
    if isinstance(command, machine.Tell):
        is_news = state.status in ("done", "cancelled") and not state.told
        return Decision((machine.Told(state.status),)) if is_news else Decision()
    if isinstance(command, machine.Rewound):
        return Decision((command,)) if command.state != state else Decision()
    if isinstance(command, machine.Adopted):
        return Decision() if state.is_active else Decision((command,))
    if not state.is_active or plan is None:
        return Decision((), Refusal("not-active", "No workflow is active in this session."))
    return _decide_active(plan, state, command)


def _decide_active(plan: Plan, state: State, command: ActiveCommand) -> Decision:
    if state.status == "waiting" and isinstance(command, machine.Next | machine.Loop):
        return Decision((), Refusal("waiting", f"The session waits for a person's answer: {state.question}"))
    match command:
        case machine.Next():
            return _next(plan, state, command)
        case machine.Loop():
            return _loop(plan, state, command)
        case machine.Cancel():
            return _cancel(plan, state, command)
        case machine.Block():
            reason, question = shorten_summary(command.reason), shorten_summary(command.question)
            return Decision((machine.Blocked(state.at, reason, question or WHAT_NOW),))
        case machine.Answer():
            if not state.question:
                return Decision((), Refusal("not-asked", "The session does not wait for an answer."))
            return Decision((machine.Answered(state.at, command.note, command.in_prompt),))
        case machine.GoTo():
            return _go_to(plan, state, command)
        case machine.AgentStopped():
            return _agent_stopped(state, command)
        case machine.Resumed():
            return Decision()
        case machine.Reload():
            to = relocate(plan, state.at, command.new)
            if isinstance(to, str):
                message = f"The session cannot continue with the edited files: {to}."
                return Decision((), Refusal("not-found", message))
            return Decision((machine.Reloaded(command.plan, to, command.guidance.text_at(to)),))
        case machine.CommandRefused():
            return Decision((command,))
        case _:
            assert_never(command)


def _next(plan: Plan, state: State, command: machine.Next) -> Decision:
    stop = plan.stops[state.at]
    checked: tuple[Event, ...] = ()
    to = state.at + 1
    if stop.checks:
        if len(command.results) != len(stop.checks):
            return Decision((), Refusal("unchecked", f"The exit checks of {stop.name} were not run."))
        checked = (machine.Checked(state.at, command.results, command.place.folder),)
        if not all(result.held for result in command.results):
            return Decision(checked, Refusal("check-failed", f"{stop.name} cannot be left yet."))
    summary, cwd = shorten_summary(command.summary), command.place.cwd
    if to == len(plan.stops):
        return Decision((*checked, machine.Finished(state.at, stop.name, summary, cwd)))
    return Decision((*checked, machine.Moved(state.at, to, stop.name, summary, cwd, command.guidance.text_at(to))))


def _loop(plan: Plan, state: State, command: machine.Loop) -> Decision:
    stop = plan.stops[state.at]
    if not stop.scope_loopable:
        return Decision((), Refusal("not-loopable", f"{stop.levels[-1].name} cannot be restarted."))
    first = stop.scope_first
    return Decision((machine.Looped(state.at, first, command.guidance.text_at(first)),))


def _cancel(plan: Plan, state: State, command: machine.Cancel) -> Decision:
    policy = (strictest_policy(plan.cancel, state.cancel) or "ask") if command.by_agent else ""
    if policy == "person":
        who = 'A person can: `handrail cancel`. If you cannot go on, use the action "blocked".'
        return Decision((), Refusal("person-only", f"Only a person may cancel {plan.name}. {who}"))
    if policy == "ask":
        if state.question:
            return Decision((), Refusal("asked", f"A person was asked and has not answered yet: {state.question}"))
        return Decision((machine.CancelAsked(state.at, command.reason, CANCEL_IT),))
    is_sure = command.confirmed or state.cancel_asked or state.asks_to_cancel
    event = machine.Cancelled if is_sure else machine.CancelAsked
    return Decision((event(state.at, command.reason),))


def _go_to(plan: Plan, state: State, command: machine.GoTo) -> Decision:
    to = command.to
    if not 0 <= to < len(plan.stops):
        return Decision((), Refusal("not-found", f"{plan.name} has no such phase."))
    void = {stop.name for stop in plan.stops[to:]}
    kept = next((at for at, (phase, _) in enumerate(state.summaries) if phase in void), len(state.summaries))
    return Decision((machine.WentTo(state.at, to, command.reason, kept, command.guidance.text_at(to)),))


def _agent_stopped(state: State, command: machine.AgentStopped) -> Decision:
    if command.aborted or state.question:
        return Decision()
    idle = 1 if command.progress and not state.is_going_in_circles else state.idle_stops + 1
    if idle > state.idle_limit:
        reason = f" after {counted(state.idle_limit, 'reminder')}" if state.idle_limit else ""
        if state.is_going_in_circles:
            reason += f"; its exit checks failed in the same way {state.same_failures} times in a row"
        return Decision((machine.LetGo(state.at, f"no progress{reason}"),))
    if state.reminders >= state.reminder_limit:
        times = counted(state.reminders, "reminder")
        return Decision((machine.LetGo(state.at, f"it is still in the same phase after {times}"),))
    return Decision((machine.SentOn(state.at, idle),))
