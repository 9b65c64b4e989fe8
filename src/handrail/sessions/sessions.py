"""The guided sessions of one project: start one, move it, say where it stands. The twin of `runs.Runs`.

Knows nothing of definitions: whoever starts a workflow brings its plan. Needs the standard library only, so that the
server of `workflow_step` starts fast.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from handrail.errors import NotFound, RefusedError, StateError
from handrail.project import Places, session_name
from handrail.sessions import links, machine, words
from handrail.sessions.gate import undecided, verdict
from handrail.sessions.links import SessionRef
from handrail.sessions.machine import Cancel, Decision, Loop, Next, Refusal, Reload, Result, Start, State
from handrail.sessions.report import Report, after, standing
from handrail.sessions.store import Session, exclusive, sessions_in
from handrail.workflows.plan import Check, Plan

if TYPE_CHECKING:
    from handrail.contracts.messages import Verdict


class Conversation(NamedTuple):
    """A conversation of a host. `is_linked`: the host finds its session by a link, not by the session's name."""

    agent: str
    id: str
    is_linked: bool = True

    @property
    def session(self) -> str:
        return session_name(self.agent, self.id) if self.is_linked else self.id


class Opening(NamedTuple):
    """How a workflow is started: for which task, in which session, and for which conversation of a host."""

    task: str
    session: str | None = None
    conversation: Conversation | None = None
    replaces: bool = False
    idle_stops: int = 3
    notices: tuple[str, ...] = ()


class Leaving(NamedTuple):
    """A phase that is about to be left: its session, the state it was found in, the checks that have to hold."""

    session: Session
    state: State
    checks: tuple[Check, ...]


class Sessions:
    """The guided sessions of one project."""

    def __init__(
        self,
        project: str,
        env: Mapping[str, str],
        clock: Callable[[], float],
        token: Callable[[], str],
    ) -> None:
        self.project = os.path.realpath(project)
        self.env = env
        self.places = Places(env)
        self.clock = clock
        self.token = token

    def session(self, id_: str) -> Session:
        ref = SessionRef(self.places.session(self.project, id_), self.project, id_)
        return Session(ref, self.clock)

    def all(self) -> list[Session]:
        return sessions_in(self.places.sessions(self.project), self.clock)

    def reports(self, *, active: bool = False) -> list[Report]:
        """Every session, or every active one. One that cannot be read is shown with what is wrong, among all."""
        reports: list[Report] = []
        for session in self.all():
            try:
                reports.append(standing(session, session.read()))
            except StateError as error:
                reports.append(Report(session.id, None, State(), error.message, Refusal(error.code, error.message)))
        return [report for report in reports if report.state.is_active] if active else reports

    def choose(self, id_: str | None) -> Session:
        """The session that is meant: the one that is named, else the only active one."""
        if id_ is None:
            return self._only(self._open())
        session = self.session(id_)
        if not session.exists:
            from handrail.source.suggest import did_you_mean

            hint = did_you_mean(id_, [s.id for s in self.all()]) or "`handrail sessions` lists them"
            raise NotFound(f"there is no session `{id_}` in this project", hint)
        return session

    def _open(self) -> list[Report]:
        """Sessions that are active, and those that cannot be read: they count as active."""
        return [report for report in self.reports() if report.state.is_active or report.refusal]

    def _only(self, reports: list[Report]) -> Session:
        if len(reports) == 1:
            return self.session(reports[0].session)
        if not reports:
            raise NotFound("no workflow is active in this project", "start one: `handrail start NAME TASK`")
        names = ", ".join(f"`{report.session}` ({report.status_line or 'cannot be read'})" for report in reports)
        raise RefusedError(f"{len(reports)} sessions are active: {names}", "name one with `--session ID`")

    def start(self, plan: Plan, opening: Opening) -> Report:
        """Begin a workflow in a new session, or in one that has none active."""
        with exclusive(self.places.sessions(self.project)):
            return self._start(plan, opening)

    def _start(self, plan: Plan, opening: Opening) -> Report:
        id_, conversation = opening.session, opening.conversation
        session = self.choose(None) if id_ is None and self._open() else self.session(id_ or f"s-{self.token()}")
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
        return Report(session.id, plan, outcome.after, message, notices=opening.notices)

    def link(self, conversation: Conversation) -> str:
        """The file by which a host's conversation finds its session."""
        return links.path(self.places, conversation.agent, conversation.id)

    def _busy(self, session: Session) -> RefusedError:
        report = standing(session, session.read())
        message = f"session `{session.id}` is busy: {report.status_line}"
        return RefusedError(message, "finish it, `handrail cancel` it, or start with `--replace`")

    def status(self, id_: str | None) -> Report:
        session = self.choose(id_)
        return standing(session, session.read())

    def leaving(self, id_: str | None) -> Leaving:
        """What has to be checked before the current phase is left. The checks run outside of the session's lock."""
        session = self.choose(id_)
        state = session.read().state
        plan = session.pinned(state)
        checks = plan.stops[state.at].checks if plan and state.is_active else ()
        return Leaving(session, state, checks)

    def leave(self, leaving: Leaving, summary: str, results: tuple[Result, ...]) -> Report:
        """Leave the phase, if the results of its checks say that it may be left."""
        outcome = leaving.session.do(Next(summary, results), lambda found: _moved_meanwhile(leaving.state, found))
        return after(leaving.session, outcome, results)

    def loop(self, id_: str | None) -> Report:
        session = self.choose(id_)
        return after(session, session.do(Loop()))

    def cancel(self, id_: str | None, *, confirmed: bool, reason: str = "") -> Report:
        """Give up the workflow. If a person confirms it, a session whose files are damaged is freed, too."""
        session = self.choose(id_)
        try:
            report = after(session, session.do(Cancel(confirmed, reason)))
            if confirmed and report.refusal is None:
                session.do(machine.Tell())
            return report
        except StateError as error:
            if not confirmed or error.code == "busy":
                raise
            aside = session.put_aside()
            message = f"The session could not be read ({error.message}); it was put aside as `{aside}` and is free."
            return Report(session.id, None, State("cancelled"), message)

    def free_orphan(self, conversation: Conversation) -> Report | None:
        """Remove the link of a conversation whose session is gone; None if it has no such link."""
        link = self.link(conversation)
        if self.session(conversation.session).exists or not os.path.lexists(link):
            return None
        links.remove(link)
        message = f"The files of session `{conversation.session}` are missing; the conversation is free."
        return Report(conversation.session, None, State("cancelled"), message)

    def workflow_of(self, id_: str | None) -> tuple[Session, str]:
        """A session, and the key of the workflow that is active in it."""
        session = self.choose(id_)
        plan = session.plan(session.read().state.plan)
        if plan is None:
            raise RefusedError("no workflow is active in this session")
        return session, plan.key

    def reload(self, session: Session, plan: Plan) -> Report:
        """Go on with an edited workflow, at the same phase."""
        return after(session, session.do(Reload(session.pin(plan), plan)))

    def gate(self, tool: str, id_: str | None, aliases: tuple[str, ...] = (), touches: str | None = None) -> Verdict:
        """The verdict about one tool call: denied if it cannot be decided, allowed if no workflow is active."""
        if id_ is None and not self._open():
            return verdict(None, tool, aliases)
        session = self.session(id_) if id_ is not None else self._only(self._open())
        try:
            card = session.card()
            return verdict(card["gate"] if card else None, tool, aliases, touches)
        except StateError as error:
            return undecided(tool, error.message, session.id, aliases)

    def context(self, id_: str | None) -> str:
        """The text that an agent is given now."""
        session = self.choose(id_)
        card = session.card()
        if card is None or card["context"] is None:
            message = f"no workflow is active in session `{session.id}`"
            raise RefusedError(message, "start one: `handrail start NAME TASK`")
        return card["context"]


def _moved_meanwhile(known: State, found: State) -> Decision | None:
    """Results of checks are good for the stop they were run at and for no other."""
    if (known.at, known.steps, known.plan, known.task_id) == (found.at, found.steps, found.plan, found.task_id):
        return None
    withdrawn = (machine.CancelWithdrawn(found.at),) if found.cancel_asked else ()
    return Decision(
        withdrawn, Refusal("moved-meanwhile", "The session moved meanwhile. Look at its status, then decide again.")
    )
