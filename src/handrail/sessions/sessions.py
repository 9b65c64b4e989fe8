"""The guided sessions of one project: start, move and report them. The counterpart of `runs.Runs`.

This module does not read definitions: the caller passes the plan. It imports only the standard library, so that the
server of `workflow_step` starts fast.
"""

from __future__ import annotations

import os

from handrail.errors import NotFound, RefusedError, StateError
from handrail.project import Places, session_name
from handrail.sessions import links, machine, words
from handrail.sessions.gate import undecided, verdict
from handrail.sessions.links import SessionRef
from handrail.sessions.machine import Cancel, Decision, Loop, Next, Place, Refusal, Reload, Result, Start, State
from handrail.sessions.report import Report, report_after, report_now
from handrail.sessions.store import Session, exclusive, sessions_in
from handrail.source.record import Record
from handrail.workflows.plan import ExitCheck, Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from handrail.contracts.messages import Verdict
    from handrail.sessions.store import Who


class Conversation(Record):
    """A conversation of a host. `is_linked`: the host finds its session by a link, not by the session's id."""

    agent: str
    id: str
    is_linked: bool = True

    @property
    def session(self) -> str:
        return session_name(self.agent, self.id) if self.is_linked else self.id


class Opening(Record):
    """How to start a workflow: the task, the session, and the conversation of a host, if there is one."""

    task: str
    session: str | None = None
    conversation: Conversation | None = None
    replaces: bool = False
    idle_stops: int = machine.IDLE_STOPS
    notices: tuple[str, ...] = ()


class Leaving(Record):
    """A phase that is about to be left: its session, the state before its checks run, and the checks."""

    session: Session
    state: State
    checks: tuple[ExitCheck, ...]


class Sessions:
    """The guided sessions of one project."""

    def __init__(
        self,
        project: str,
        env: Mapping[str, str],
        clock: Callable[[], float],
        token: Callable[[], str],
        by: Who | None = None,
    ) -> None:
        self.project = os.path.realpath(project)
        self.env = env
        self.places = Places(env)
        self.clock = clock
        self.token = token
        self.by = by

    def session(self, id_: str) -> Session:
        ref = SessionRef(self.places.session(self.project, id_), self.project, id_)
        return Session(ref, self.clock, self.by)

    def all(self) -> list[Session]:
        return sessions_in(self.places.sessions(self.project), self.clock, self.by)

    def reports(self, *, active: bool = False) -> list[Report]:
        """A report per session, or per active session. An unreadable session has its error as refusal."""
        reports: list[Report] = []
        for session in self.all():
            try:
                reports.append(report_now(session, session.read()))
            except StateError as error:
                reports.append(Report(session.id, None, State(), error.message, Refusal(error.code, error.message)))
        return [report for report in reports if report.state.is_active] if active else reports

    def choose(self, id_: str | None) -> Session:
        """The session with this id; without an id, the only active session."""
        if id_ is None:
            return self._only(self._active_or_unreadable())
        session = self.session(id_)
        if not session.exists:
            from handrail.source.suggest import did_you_mean

            hint = did_you_mean(id_, [s.id for s in self.all()]) or "`handrail sessions` lists them"
            raise NotFound(f"there is no session `{id_}` in this project", hint)
        return session

    def _active_or_unreadable(self) -> list[Report]:
        """Active sessions, and unreadable ones, which count as active."""
        return [report for report in self.reports() if report.state.is_active or report.refusal]

    def _only(self, reports: list[Report]) -> Session:
        if len(reports) == 1:
            return self.session(reports[0].session)
        if not reports:
            raise NotFound("no workflow is active in this project", "start one: `handrail start NAME TASK`")
        names = ", ".join(f"`{report.session}` ({report.status_line or 'cannot be read'})" for report in reports)
        raise RefusedError(f"{len(reports)} sessions are active: {names}", "name one with `--session ID`")

    def start(self, plan: Plan, opening: Opening) -> Report:
        """Start a workflow in a new session, or in a session without an active workflow."""
        with exclusive(self.places.sessions(self.project)):
            return self._start(plan, opening)

    def _start(self, plan: Plan, opening: Opening) -> Report:
        id_, conversation = opening.session, opening.conversation
        session = (
            self.choose(None)
            if id_ is None and self._active_or_unreadable()
            else self.session(id_ or f"s-{self.token()}")
        )
        if not opening.replaces and session.exists and session.read().state.is_active:
            raise self._busy(session)
        now = self.clock()
        is_linked = conversation is not None and conversation.is_linked
        session.describe(self.link(conversation) if conversation and is_linked else session.link())
        task_id = f"wf-{int(now * 1000)}-{self.token()}"
        command = Start(session.pin(plan), opening.task, task_id, now, opening.replaces, opening.idle_stops)
        outcome = session.do(command)
        if outcome.decision.refusal:
            raise self._busy(session)
        message = words.initial_message(plan, outcome.after)
        started = outcome.decision.events[-1]
        return Report(session.id, plan, outcome.after, message, notices=opening.notices, event=started, by=outcome.by)

    def link(self, conversation: Conversation) -> str:
        """The path of the link from a host's conversation to its session."""
        return links.path(self.places, conversation.agent, conversation.id)

    def _busy(self, session: Session) -> RefusedError:
        report = report_now(session, session.read())
        message = f"session `{session.id}` is busy: {report.status_line}"
        return RefusedError(message, "finish it, `handrail cancel` it, or start with `--replace`")

    def status(self, id_: str | None) -> Report:
        session = self.choose(id_)
        return report_now(session, session.read())

    def leaving(self, id_: str | None) -> Leaving:
        """The exit checks of the current phase. The caller runs them without holding the session's lock."""
        session = self.choose(id_)
        state = session.read().state
        plan = session.pinned(state)
        checks = plan.stops[state.at].checks if plan and state.is_active else ()
        return Leaving(session, state, checks)

    def leave(self, leaving: Leaving, summary: str, results: tuple[Result, ...], place: Place | None = None) -> Report:
        """Leave the phase if all checks passed."""
        command = Next(summary, results, place or Place())
        outcome = leaving.session.do(command, lambda found: _moved_meanwhile(leaving.state, found))
        return report_after(leaving.session, outcome, results)

    def loop(self, id_: str | None) -> Report:
        session = self.choose(id_)
        return report_after(session, session.do(Loop()))

    def cancel(self, id_: str | None, *, confirmed: bool, reason: str = "") -> Report:
        """Cancel the workflow. If a person confirms it, a session with damaged files is moved away."""
        session = self.choose(id_)
        try:
            report = report_after(session, session.do(Cancel(confirmed, reason)))
            if confirmed and report.refusal is None:
                session.do(machine.Tell())
            return report
        except StateError as error:
            if not confirmed or error.code == "busy":
                raise
            aside = session.move_aside()
            message = f"The session could not be read ({error.message}). Its files are now in `{aside}`."
            return Report(session.id, None, State("cancelled"), message)

    def free_orphan(self, conversation: Conversation) -> Report | None:
        """Remove the link of a conversation whose session no longer exists; None if there is no such link."""
        link = self.link(conversation)
        if self.session(conversation.session).exists or not os.path.lexists(link):
            return None
        links.remove(link)
        message = (
            f"The files of session `{conversation.session}` are missing. The conversation no longer has a workflow."
        )
        return Report(conversation.session, None, State("cancelled"), message)

    def workflow_of(self, id_: str | None) -> tuple[Session, str]:
        """A session, and the key of the workflow that is active in it."""
        session = self.choose(id_)
        plan = session.plan(session.read().state.plan)
        if plan is None:
            raise RefusedError("no workflow is active in this session")
        return session, plan.key

    def reload(self, session: Session, plan: Plan) -> Report:
        """Continue with an edited workflow at the same phase."""
        return report_after(session, session.do(Reload(session.pin(plan), plan)))

    def note_refused(self, id_: str | None, command: str) -> None:
        """Tell the person that an agent tried this command: in its session, or in all active ones without an id."""
        names = [id_] if id_ is not None else [report.session for report in self.reports(active=True)]
        for name in names:
            if self.session(name).exists:
                self.session(name).do(machine.NoteRefused(command))

    def gate(self, tool: str, id_: str | None, aliases: tuple[str, ...] = (), touches: str | None = None) -> Verdict:
        """The verdict about one tool call: allow if no workflow is active, deny if the session is unreadable."""
        if id_ is None and not self._active_or_unreadable():
            return verdict(None, tool, aliases)
        session = self.session(id_) if id_ is not None else self._only(self._active_or_unreadable())
        try:
            card = session.card()
            return verdict(card["gate"] if card else None, tool, aliases, touches)
        except StateError as error:
            return undecided(tool, error.message, session.id, aliases)

    def context(self, id_: str | None) -> str:
        """The context text for the agent at the current phase."""
        session = self.choose(id_)
        card = session.card()
        if card is None or card["context"] is None:
            message = f"no workflow is active in session `{session.id}`"
            raise RefusedError(message, "start one: `handrail start NAME TASK`")
        return card["context"]


def _moved_meanwhile(known: State, found: State) -> Decision | None:
    """A refusal if the session moved while the checks ran: their results are valid for their own stop only."""
    if (known.at, known.steps, known.plan, known.task_id) == (found.at, found.steps, found.plan, found.task_id):
        return None
    withdrawn = (machine.CancelWithdrawn(found.at),) if found.cancel_asked else ()
    return Decision(
        withdrawn,
        Refusal("moved-meanwhile", "The session moved while its checks ran. Look at its status, then decide again."),
    )
