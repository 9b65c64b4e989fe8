"""Guided sessions for agents that Handrail itself starts: start one, report its state, and follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from handrail.base import journal
from handrail.extensions.contracts import GuideNews, GuideStatus, Stubs
from handrail.extensions.registry import Registry
from handrail.guided.sessions import hook_files, machine, words
from handrail.guided.sessions.denials import denials_since, is_all_work_denied
from handrail.guided.sessions.machine import Event, State
from handrail.guided.sessions.sessions import Conversation, Sessions
from handrail.guided.sessions.store import Session, SessionReport, report_now
from handrail.guided.workflows.plan import Plan


class SessionGuide:
    """The sessions of agents that a step runs through a workflow. `host` is (agent, conversation).

    `start` reads the definitions, and starts a workflow by its name.
    """

    def __init__(
        self, sessions: Sessions, start: Callable[..., SessionReport], registry: Registry, idle_stops: int, stubs: Stubs
    ) -> None:
        self.sessions = sessions
        self.registry = registry
        self.start = start
        self.idle_stops = idle_stops
        self.stubs = stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str], run: str) -> GuideStatus:
        report = self.start(workflow, task, conversation=self._conversation(host), run=run)
        return self._status_of(report, report.message)

    def standing(self, host: tuple[str, str]) -> GuideStatus | None:
        """The state of the workflow in a conversation; None if no workflow was started there."""
        session = self._session(host)
        if not session.exists:
            return None
        report = report_now(session, session.read())
        if report.plan is None or not report.state.is_active:
            return self._status_of(report, report.message)
        note = f"{report.state.note}\n\n" if report.state.note else ""
        return self._status_of(report, note + words.reminder(report.plan, report.state))

    def answer(self, host: tuple[str, str], values: Mapping[str, Any]) -> None:
        self.sessions.answer_form(self._session(host).id, values, by_run=True)

    def is_heard(self, host: tuple[str, str]) -> bool:
        folder = self._session(host).folder
        is_marked = hook_files.has_mark(folder, hook_files.SHOWN) or hook_files.has_mark(folder, hook_files.HEARD)
        return is_marked or not self._conversation(host).is_linked

    def thread(self, host: tuple[str, str]) -> str | None:
        return hook_files.mark_text(self._session(host).folder, hook_files.THREAD) or None

    def set_thread(self, host: tuple[str, str], thread: str) -> None:
        hook_files.set_mark(self._session(host).folder, hook_files.THREAD, thread)

    def follow(self, host: tuple[str, str]) -> Callable[[], list[GuideNews]]:
        return SessionFollower(self._session(host))

    def _conversation(self, host: tuple[str, str]) -> Conversation:
        return Conversation(*host, is_linked=self.registry.host(host[0]).LINKS)

    def _session(self, host: tuple[str, str]) -> Session:
        return self.sessions.session(self._conversation(host).session)

    def _status_of(self, report: SessionReport, message: str) -> GuideStatus:
        state, session = report.state, self.sessions.session(report.session)
        denials = denials_since(session.folder, state.started)
        return GuideStatus(
            session=report.session,
            status=state.status,
            steps=state.steps,
            status_line=report.status_line,
            message=message,
            summaries=[{"phase": phase, "summary": text} for phase, text in state.summaries],
            same_failures=state.same_failures,
            warnings=state.same_failures - state.same_limit + 1 if state.is_going_in_circles else 0,
            asks=words.question_form(state),
            denied=tuple((denial.tool, denial.reason) for denial in denials),
            is_denied=state.status == "done"
            and is_all_work_denied(session.folder, state)
            and not any(
                news.kind == "check-held" and news.time >= state.started for news in SessionFollower(session)()
            ),
        )


class SessionFollower:
    """Reads on in the journal of a session with every call."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = State()
        self.number = 0
        self._offset = 0

    def __call__(self) -> list[GuideNews]:
        """What happened since the last call."""
        records, self._offset = journal.read_behind(self.session.journal, self._offset)
        return list(self._news_in(records))

    def _news_in(self, records: list[dict[str, Any]]) -> Iterator[GuideNews]:
        for record, data in [(one, data) for one in records for data in one["events"]]:
            event = machine.event_from_json(data)
            self.number += 1
            self.state = machine.apply(self.state, event)
            plan = self.session.plan(self.state.plan)
            news = None if plan is None else _news(event, plan)
            if plan is not None and news is not None:
                kind, at, text = news
                about = {"session": self.session.id, "phase": plan.stops[at].name, "place": words.place_text(plan, at)}
                by = record.get("by") or ""
                yield GuideNews(number=self.number, time=record["t"], kind=kind, text=text, by=by, **about)


def _news(event: Event, plan: Plan) -> tuple[str, int, str] | None:
    """The kind of the news, the phase that it is about, and its text; None if it is no news."""
    match event:
        case machine.Started():
            return "entered", 0, ""
        case machine.Moved():
            return "entered", event.to, event.summary
        case machine.Looped():
            return "looped", event.to, ""
        case machine.WentTo():
            return "went-to", event.to, event.reason
        case machine.Blocked():
            return "blocked", event.at, words.blocked_words(event.reason, event.question)
        case machine.CancelAsked() if event.question:
            return "asked-to-cancel", event.at, event.reason
        case machine.Answered():
            return "answered", event.at, event.note
        case machine.Checked():
            stop, all_hold = plan.stops[event.at], all(result.held for result in event.results)
            text = words.checks_in_one_line(event.results, stop, held=all_hold)
            return ("check-held" if all_hold else "check-failed", event.at, text) if event.results else None
        case machine.SentOn():
            return "sent-on", event.at, ""
        case machine.LetGo():
            return "let-go", event.at, event.reason
        case machine.Finished():
            return "finished", event.origin, event.summary
        case machine.Cancelled():
            return "cancelled", event.at, event.reason
        case _:
            return None
