"""The report after a command: the state of the session, and the message about the command."""

from __future__ import annotations

import time

from handrail.sessions import checkwords, machine, words
from handrail.sessions.machine import Refusal, State
from handrail.sessions.results import Result
from handrail.sessions.store import Outcome, Session, Snapshot
from handrail.sessions.summaries import LONGEST, is_cut
from handrail.source.record import Record
from handrail.workflows.plan import Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.sessions.machine import Event


class Report(Record):
    """The state of a session, and the message about the last command. `refusal` is None if it was carried out.

    `message` is for the agent; `view/person.py` has the text for a person. `event` is what the command caused last.
    `by` is who caused the last record of the session. `run` is the id of the run that the session belongs to; None if a
    person works in it, or if it was not looked up.
    """

    session: str
    plan: Plan | None
    state: State
    message: str
    refusal: Refusal | None = None
    results: tuple[Result, ...] = ()
    notices: tuple[str, ...] = ()
    event: Event | None = None
    by: str | None = None
    run: str | None = None

    @property
    def status_line(self) -> str | None:
        return words.status_line(self.plan, self.state) if self.plan else None

    @property
    def path(self) -> list[tuple[str, int]]:
        """The stack of (workflow key, index), as in pi-workflows.

        If a workflow that ends with a subworkflow is done, it is one past the last entry of the top level.
        """
        if self.plan is None:
            return []
        stop = self.plan.stops[self.state.at]
        if self.state.status == "done" and len(stop.levels) > 1:
            return [(self.plan.key, stop.levels[0].total)]
        return stop.path


def report_now(session: Session, known: Snapshot) -> Report:
    """The report of a session without a command."""
    plan = session.pinned(known.state)
    message = words.status(plan, known.state, moment(known.state.started)) if plan else ""
    return Report(session.id, plan, known.state, message, by=known.by)


def report_after(session: Session, outcome: Outcome, results: tuple[Result, ...] = ()) -> Report:
    """The report of a session after a command."""
    plan = session.plan(outcome.after.plan)
    message = _message(outcome, plan, results)
    decision = outcome.decision
    event = decision.events[-1] if decision.events and decision.refusal is None else None
    return Report(session.id, plan, outcome.after, message, decision.refusal, results, event=event, by=outcome.by)


def moment(seconds: float) -> str:
    """`2026-02-03T04:05:06+00:00`."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))


def _message(outcome: Outcome, plan: Plan | None, results: tuple[Result, ...]) -> str:
    before, after, decision = outcome.before, outcome.after, outcome.decision
    if plan is None or outcome.plan is None:
        return decision.refusal.reason if decision.refusal else ""
    if decision.refusal:
        if decision.refusal.code == "check-failed":
            return checkwords.checks_failed(results, outcome.plan.stops[before.at], after)
        return decision.refusal.reason
    match decision.events[-1]:
        case machine.Moved() | machine.Finished() as left:
            told = words.moved(plan, before, after)
            return (
                f"{told}\n\n{f'Note: the summary was too long. Its first {LONGEST:,} characters are kept.'}"
                if is_cut(left.summary)
                else told
            )
        case machine.Looped():
            return words.looped(plan, before, after)
        case machine.CancelAsked():
            return words.cancel_asked(after)
        case machine.Cancelled():
            return words.cancelled(plan, after)
        case machine.Reloaded():
            return f"The session continues with the edited files at {words.status_line(plan, after)}."
        case _:
            return ""
