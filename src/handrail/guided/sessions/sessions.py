"""The guided sessions of one project: start, move and report them. The counterpart of `Runs`.

This module does not read definitions: the caller passes the plan. It imports only the standard library, so that the
server of `workflow_step` starts fast.
"""

from __future__ import annotations

import contextlib
import os

from handrail.base.errors import NotFound, RefusedError, StateError
from handrail.base.files import put_aside, refuse_shared, remove_folder
from handrail.base.record import Record
from handrail.guided.sessions import hook_files, machine, phase_requirements, store, words
from handrail.guided.sessions.gate import current_card, undecided, verdict
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import CheckResult, Refusal, State, WorkFolders
from handrail.guided.sessions.store import Session, SessionAbout, SessionReport, report_after, report_now
from handrail.guided.workflows.plan import ExitCheck, Plan, relocate
from handrail.settings.folders import UserFolders, session_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from handrail.extensions.contracts import CheckContext
    from handrail.extensions.contracts.messages import Verdict
    from handrail.guided.sessions.exit_checks import OnCheck
    from handrail.guided.sessions.store import Who
    from handrail.settings.trust import Trust

    Practices = Callable[[str, tuple[str, ...], str], str]
    """Finds the practices of a playbook: (project, names of the phase, task) → text."""


class Conversation(Record):
    """A conversation of a host. `is_linked`: the host finds its session by a link, not by the session's id."""

    agent: str
    id: str
    is_linked: bool = True

    @property
    def session(self) -> str:
        return session_name(self.agent, self.id) if self.is_linked else self.id


class Opening(Record):
    """How to start a workflow: the task, the session, and the conversation of a host, if there is one.

    `run` is the id of the run that drives the agent; None if a person does.
    """

    task: str
    session: str | None = None
    conversation: Conversation | None = None
    replaces: bool = False
    idle_stops: int = machine.IDLE_STOPS
    notices: tuple[str, ...] = ()
    reminders: int = machine.REMINDERS
    run: str | None = None
    same_failures: int = machine.SAME_FAILURES
    cancel: str = ""


class Leaving(Record):
    """A phase that is about to be left: its session, the state before its checks run, and the checks.

    `about` is what is known about the session, if there are checks.
    """

    session: Session
    state: State
    checks: tuple[ExitCheck, ...]
    about: SessionAbout | None = None

    @property
    def run(self) -> str | None:
        """The id of the run that drives the agent; None if a person does."""
        return self.about.run if self.about is not None else None


class PhaseExit(Record):
    """How a phase is left: where its checks run, whether they may start programs, and who is told before each runs."""

    context: CheckContext
    trust: Trust
    on_check: OnCheck | None = None
    place: WorkFolders = WorkFolders()


class Sessions:
    """The guided sessions of one project. `practices` is called only if a phase asks for practices of the playbook."""

    def __init__(
        self,
        project: str,
        env: Mapping[str, str],
        clock: Callable[[], float],
        token: Callable[[], str],
        practices: Practices,
        by: Who | None = None,
    ) -> None:
        self.project = os.path.realpath(project)
        self.env = env
        self.places = UserFolders(env)
        self.clock = clock
        self.token = token
        self.practices = practices
        self.by = by

    def session(self, id_: str) -> Session:
        session = self._open(id_)
        refuse_shared(self.places.state, session.folder)
        return session

    def _open(self, id_: str) -> Session:
        ref = SessionRef(self.places.session(self.project, id_), self.project, id_)
        return Session(ref, self.clock, self.by)

    def all(self) -> list[Session]:
        folder = self.places.sessions(self.project)
        refuse_shared(self.places.state, folder)
        return list(store.sessions_in(folder, self.project, self.clock, self.by))

    def reports(self, *, active: bool = False) -> list[SessionReport]:
        """A report per session, or per session that is active for a person: the agent of a run is driven by its run.

        An unreadable session has its error as refusal.
        """
        reports: list[SessionReport] = []
        for session in self.all():
            run = session.about().run
            try:
                reports.append(report_now(session, session.read())._replace(run=run))
            except StateError as error:
                refusal = Refusal(error.code, error.message)
                reports.append(SessionReport(session.id, None, State(), error.message, refusal, run=run))
        return [report for report in reports if report.state.is_active and not report.run] if active else reports

    def choose(self, id_: str | None) -> Session:
        """The session with this id; without an id, the only active session."""
        if id_ is None:
            return self._only_active()
        session = self.session(id_)
        if not session.exists:
            raise self._not_found(id_)
        return session

    def _not_found(self, id_: str) -> NotFound:
        from handrail.source.suggestions import did_you_mean

        hint = did_you_mean(id_, [s.id for s in self.all()]) or "`handrail sessions` lists them"
        return NotFound(f"there is no session `{id_}` in this project", hint)

    def _active(self) -> tuple[list[SessionReport], list[SessionReport]]:
        """The sessions that are active for a person, and those of runs. Unreadable sessions count as active."""
        active = [report for report in self.reports() if report.state.is_active or report.refusal]
        return [report for report in active if not report.run], [report for report in active if report.run]

    def _only_active(self) -> Session:
        """The only session that is active for a person."""
        reports, others = self._active()
        if len(reports) == 1:
            return self.session(reports[0].session)
        if not reports and others:
            names = ", ".join(f"`{report.session}` belongs to run `{report.run}`" for report in others)
            hint = f"name it: `--session {others[0].session}`; or `handrail list` shows what can be started"
            raise NotFound(f"no workflow is active for you in this project; {names}", hint)
        if not reports:
            raise NotFound("no workflow is active in this project", "`handrail list` shows what can be started")
        names = ", ".join(f"`{report.session}` ({report.status_line or 'cannot be read'})" for report in reports)
        raise RefusedError(
            f"{len(reports)} sessions are active: {names}", f"name one: `--session {reports[0].session}`"
        )

    def start(self, plan: Plan, opening: Opening) -> SessionReport:
        """Start a workflow in a new session, or in a session without an active workflow."""
        with store.start_lock(self.places.sessions(self.project)):
            return self._start(plan, opening)

    def _start(self, plan: Plan, opening: Opening) -> SessionReport:
        id_, conversation = opening.session, opening.conversation
        session = self.choose(None) if id_ is None and self._active()[0] else self.session(id_ or f"s-{self.token()}")
        if not opening.replaces and session.exists and session.read().state.is_active:
            raise self._busy(session)
        agent = conversation.agent if conversation else None
        if (unmet := phase_requirements.unmet_requirement(self.places, agent, plan.stops)) is not None:
            raise RefusedError(*unmet)
        now = self.clock()
        is_linked = conversation is not None and conversation.is_linked
        link = self.link(conversation) if conversation and is_linked else session.about().link
        session.describe(link, opening.run, self.env)
        task_id = f"wf-{int(now * 1000)}-{self.token()}"
        limits = opening.idle_stops, opening.reminders, opening.same_failures
        guidance = self._guidance(plan, 0, opening.task).text_at(0)
        started = machine.Started(session.pin(plan), opening.task, task_id, now, *limits, guidance, opening.cancel)
        outcome = session.do(machine.Start(started, opening.replaces))
        if outcome.decision.refusal:
            raise self._busy(session)
        message = words.initial_message(plan, outcome.after)
        return SessionReport(
            session.id, plan, outcome.after, message, notices=opening.notices, event=started, by=outcome.by
        )

    def link(self, conversation: Conversation) -> str:
        """The path of the link from a host's conversation to its session."""
        return hook_files.link_path(self.places, conversation.agent, conversation.id)

    def _busy(self, session: Session) -> RefusedError:
        report = report_now(session, session.read())
        hint = (
            f"finish it, `handrail cancel --session {session.id}`, or start with `--replace`, or in a second session: "
            "`--session second`"
        )
        return RefusedError(f"session `{session.id}` is busy: {report.status_line}", hint)

    def status(self, id_: str | None) -> SessionReport:
        session = self.choose(id_)
        return report_now(session, session.read())

    def _now(self, id_: str | None) -> tuple[Session, State, Plan | None]:
        """A session, its state and its pinned plan."""
        session = self.choose(id_)
        state = session.read().state
        return session, state, session.pinned_plan(state)

    def leaving(self, id_: str | None) -> Leaving:
        """The exit checks of the current phase. The caller runs them without holding the session's lock."""
        session, state, plan = self._now(id_)
        checks = plan.stops[state.at].checks if plan and state.status == "active" else ()
        return Leaving(session, state, checks, session.about() if checks else None)

    async def next(self, leaving: Leaving, summary: str, way: PhaseExit) -> SessionReport:
        """Run the exit checks of a phase, and leave it if they hold."""
        results: tuple[CheckResult, ...] = ()
        if leaving.checks and leaving.about is not None:
            from handrail.base.dataclasses import replace
            from handrail.guided.sessions.exit_checks import run_checks

            is_trusted = way.trust.holds(leaving.run)
            context = replace(way.context, env=leaving.about.environment(way.context.env))
            results = await run_checks(leaving.checks, context, is_trusted, way.on_check)
        return self.leave(leaving, way.context.mask(summary), results, way.place)

    def leave(
        self, leaving: Leaving, summary: str, results: tuple[CheckResult, ...], place: WorkFolders | None = None
    ) -> SessionReport:
        """Leave the phase if all checks passed."""
        session, state = leaving.session, leaving.state
        plan = session.pinned_plan(state) if all(result.held for result in results) else None
        guidance = self._guidance(plan, state.at + 1, state.task)
        command = machine.Next(summary, results, place or WorkFolders(), guidance)

        def guard(now: State) -> Refusal | None:
            """The results are valid only for the stop for which the checks ran."""
            before, after = ((one.at, one.steps, one.plan, one.task_id) for one in (state, now))
            if before != after:
                message = "The session moved while its checks ran. Look at its status, then decide again."
                return Refusal("moved-meanwhile", message)
            return self._unmet(session, now, now.at + 1) if all(result.held for result in results) else None

        outcome = session.do(command, guard)
        return report_after(leaving.session, outcome, results)

    def loop(self, id_: str | None) -> SessionReport:
        session, state, plan = self._now(id_)
        first = plan.stops[state.at].scope_first if plan is not None else 0
        command = machine.Loop(self._guidance(plan, first, state.task))
        return report_after(session, session.do(command, lambda now: self._unmet(session, now, None)))

    def go_to(self, id_: str | None, phase: str, reason: str) -> SessionReport:
        """Move the session to a phase, by its id, its name or its number: a person's way."""
        session, state, plan = self._now(id_)
        if plan is None or not state.is_active:
            raise RefusedError("no workflow is active in this session")
        to = find_stop(plan, phase)
        command = machine.GoTo(to, reason, self._guidance(plan, to, state.task))
        return report_after(session, session.do(command, lambda now: self._unmet(session, now, to)))

    def ask_person(self, id_: str | None, command: machine.Block | machine.Cancel) -> SessionReport:
        """An agent cannot go on, or wants to cancel: a person is asked, as far as the policy says so."""
        session = self.choose(id_)
        return report_after(session, session.do(command))._replace(run=session.about().run)

    def answer(self, id_: str | None, note: str = "", *, by_run: bool = False) -> SessionReport:
        """A person's answer. The agent is told at its next turn; that of a run (`by_run`) by its run."""
        own, of_runs = self._active() if id_ is None else ([], [])
        if of_runs and not own:  # the refusal below names the run
            id_ = min(of_runs, key=lambda report: not report.state.question).session
        session = self.choose(id_)
        run = None if by_run else session.about().run
        if run is not None:
            raise RefusedError(f"session `{session.id}` belongs to run `{run}`", f"`handrail answer {run}`")
        report = report_after(session, session.do(machine.Answer(note)))
        if report.refusal is None and hook_files.has_mark(session.folder, hook_files.LET_GO):
            hook_files.set_mark(session.folder, hook_files.LET_GO, "it was answered: write a prompt in the agent")
        return report

    def answer_form(self, id_: str, values: Mapping[str, Any], *, by_run: bool = False) -> SessionReport:
        """A person's answer to the form of a session's question (`words.question_form`)."""
        note = str(values.get("answer") or values.get("note") or "")
        if values.get("cancel"):
            return self.cancel(id_, confirmed=True, reason=note)
        return self.answer(id_, note, by_run=by_run)

    def _guidance(self, plan: Plan | None, at: int, task: str) -> machine.StopGuidance:
        """The practices of the project for a stop. They are chosen now, and kept while the session is there."""
        names = plan.stops[at].guidance if plan is not None and 0 <= at < len(plan.stops) else ()
        if not names:
            return machine.NO_GUIDANCE
        return machine.StopGuidance(at, self.practices(self.project, names, task))

    def _unmet(self, session: Session, state: State, to: int | None) -> Refusal | None:
        """A refusal if the stop `to` requires more than the agent enforces. None: the first stop of the scope."""
        plan = session.pinned_plan(state)
        if plan is None or not state.is_active:
            return None
        at = plan.stops[state.at].scope_first if to is None else to
        unmet = phase_requirements.unmet_requirement(self.places, session.about().agent, plan.stops[at : at + 1])
        if unmet is None:
            return None
        why, what = unmet
        return Refusal("not-enforced", f"{why[:1].upper()}{why[1:]}. Tell the person: {what}.")

    def cancel(self, id_: str | None, *, confirmed: bool, reason: str = "", link: str | None = None) -> SessionReport:
        """Cancel the workflow. If a person confirms it, the agent is free in every case, also if files are damaged.

        `link` is the link of the session's conversation, if the caller knows it.
        """
        if not confirmed:
            session = self.choose(id_)
            return report_after(session, session.do(machine.Cancel(False, reason)))
        session = self.choose(None) if id_ is None else self._open(id_)
        if os.path.lexists(session.folder):
            return free_agent(session, link or session.about().link, reason)
        if link is None or hook_files.is_link_absent(link):
            raise self._not_found(session.id)
        return free_orphan(session.id, link, is_fork=hook_files.is_unsettled_link(link))

    def reload(self, id_: str | None, plan_of: Callable[[str], Plan]) -> SessionReport:
        """Continue with an edited workflow at the same phase, and with the environment of now.

        `plan_of` reads the workflow with a key again.
        """
        session, state, old_plan = self._now(id_)
        if old_plan is None:
            raise RefusedError("no workflow is active in this session")
        plan = plan_of(old_plan.key)
        to = relocate(old_plan, state.at, plan)
        guidance = self._guidance(plan, to, state.task) if isinstance(to, int) else machine.NO_GUIDANCE
        report = report_after(session, session.do(machine.Reload(session.pin(plan), plan, guidance)))
        if report.refusal is None:
            session.describe(session.about().link, session.about().run, self.env)
        return report

    def note_refused(self, id_: str | None, command: str) -> None:
        """Tell the person that an agent tried this command: in its session, or in all active ones without an id."""
        names = [id_] if id_ is not None else [report.session for report in self.reports() if report.state.is_active]
        for name in names:
            if self.session(name).exists:
                self.session(name).do(machine.CommandRefused(command))

    def gate(self, tool: str, id_: str | None, aliases: tuple[str, ...] = (), touches: str | None = None) -> Verdict:
        """The verdict about one tool call: allow if no workflow is active, deny if the session is unreadable."""
        if id_ is None and not self._active()[0]:
            return verdict(None, tool, aliases)
        session = self.session(id_) if id_ is not None else self._only_active()
        try:
            card = current_card(session.ref)
            return verdict(card["gate"] if card else None, tool, aliases, touches)
        except (StateError, ValueError) as error:
            return undecided(tool, getattr(error, "message", None) or str(error), session.id, aliases)

    def context(self, id_: str | None) -> str:
        """The context text for the agent at the current phase."""
        session = self.choose(id_)
        card = session.card()
        if card is None or card["context"] is None:
            message = f"no workflow is active in session `{session.id}`"
            raise RefusedError(message, "`handrail list` shows what can be started")
        return card["context"]


def find_stop(plan: Plan, phase: str) -> int:
    """The stop with this number (`3.1`), id or name. Raises `RefusedError` unless there is exactly one."""
    for field in ("number", "id", "name"):
        places = [at for at, stop in enumerate(plan.stops) if getattr(stop, field) == phase]
        if len(places) == 1:
            return places[0]
        if places:
            numbers = ", ".join(f"`{plan.stops[at].number}`" for at in places)
            raise RefusedError(f"{plan.name} has {len(places)} phases `{phase}`", f"use a number: {numbers}")
    known = ", ".join(f"`{stop.number}` {stop.id}" for stop in plan.stops[: words.MAX_LISTED])
    raise NotFound(f"{plan.name} has no phase `{phase}`", f"its phases: {known}")


CANCEL_SECONDS = 2.0
"""How many seconds a confirmed cancel waits for the lock. Every command holds it for milliseconds."""


def free_agent(session: Session, link: str | None, reason: str) -> SessionReport:
    """Cancel the workflow of a session and unlink its conversation, also if files are damaged, locked or read-only.

    The link is removed first, because the gate of the conversation is open from then on. Recording the end waits for
    the session's lock only briefly. Raises `StateError` if the agent is not free then.
    """
    had_link = link is not None and os.path.lexists(link)
    stuck = _unlink(link) if link is not None else None
    try:
        if session.read().number == 0:
            raise StateError(f"the journal `{session.journal}` has no valid record")
        report = report_after(session, session.do(machine.Cancel(True, reason), seconds=CANCEL_SECONDS))
        if report.refusal is None:
            session.do(machine.Tell(), seconds=CANCEL_SECONDS)
    except (StateError, OSError) as error:
        return _free_unrecorded(session, error, link if had_link else None, stuck)
    return report if stuck is None else report._replace(notices=(*report.notices, stuck))


def free_orphan(session: str, link: str, *, is_fork: bool) -> SessionReport:
    """Unlink a conversation whose session does not exist. Raises `StateError` if the link cannot be removed."""
    if (stuck := _unlink(link)) is not None:
        raise StateError(stuck, f"remove it: `rm -r {link}`")
    message = (
        "This conversation no longer follows the workflow of its parent conversation."
        if is_fork
        else f"The files of session `{session}` are missing. The conversation no longer has a workflow."
    )
    return SessionReport(session, None, State("cancelled"), message)


def _free_unrecorded(session: Session, error: Exception, link: str | None, stuck: str | None) -> SessionReport:
    """Free a session whose end cannot be recorded: put its files aside, and say what could not be done."""
    reason = getattr(error, "message", None) or str(error)
    is_moved = False
    try:
        state = os.path.dirname(os.path.dirname(os.path.dirname(session.folder)))
        place_text, is_moved = f"Its files are now in `{put_aside(session.folder, state)}`.", True
    except (StateError, OSError) as failed:
        place_text = f"Its files could not be moved: {getattr(failed, 'message', None) or failed}."
    if stuck is not None:
        raise StateError(f"the workflow is still active: {stuck}", f"remove the link: `rm -r {link}`") from error
    if not is_moved and link is None:
        message = f"session `{session.id}` cannot be cancelled: {reason}"
        raise StateError(message, f"remove its folder: `rm -r {session.folder}`") from error
    message = f"The agent is free. The end of the workflow could not be recorded ({reason}). {place_text}"
    return SessionReport(session.id, None, State("cancelled"), message)


def _unlink(link: str) -> str | None:
    """Remove a link. If it is a folder, put it aside. What prevents it, or None if it is gone."""
    try:
        os.unlink(link)
    except FileNotFoundError:
        return None
    except OSError as error:
        if not os.path.isdir(link) or os.path.islink(link):
            return f"the link `{link}` cannot be removed: {error.strerror}"
        try:
            put_aside(link, os.path.dirname(os.path.dirname(os.path.dirname(link))))
        except (StateError, OSError) as failed:
            return f"the folder `{link}`, where a link should be, cannot be removed: {failed}"
    return None


def last_change(session: Session) -> float | None:
    """When the journal of a session was written last; None if there is none."""
    try:
        return os.stat(session.journal).st_mtime
    except OSError:
        return None


def remove_session(session: Session, *, is_orphan: bool) -> bool:
    """Remove a session and the link to it. False if it is used now, or its workflow is active.

    `is_orphan`: it belongs to a run that was removed, so nothing will continue an active workflow in it.
    """
    try:
        with session.locked(0.0):
            if session.read().state.is_active and not is_orphan:
                return False
            link = session.about().link
            with contextlib.suppress(OSError, ValueError):
                ref = hook_files.read_link(link) if link is not None else None
                if link is not None and ref is not None and ref.folder == session.folder:
                    os.unlink(link)
            remove_folder(session.folder)
    except StateError:
        return False
    return True
