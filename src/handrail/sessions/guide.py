"""Sessions of agents that Handrail itself starts: begin one, say where it stands."""

from __future__ import annotations

from typing import Protocol

from handrail import registry
from handrail.contracts import Standing, Stubs
from handrail.sessions import words
from handrail.sessions.report import Report
from handrail.sessions.sessions import Conversation, Sessions


class Starter(Protocol):
    """Whoever knows the definitions, and starts a workflow by its name."""

    def start(self, name: str, task: str, *, conversation: Conversation | None = None) -> Report: ...


class SessionGuide:
    """The sessions of agents that steps lead through a workflow; each is known by its agent and its conversation."""

    def __init__(self, sessions: Sessions, starter: Starter, idle_stops: int, stubs: Stubs) -> None:
        self.sessions = sessions
        self.starter = starter
        self.idle_stops = idle_stops
        self.stubs = stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str]) -> Standing:
        report = self.starter.start(workflow, task, conversation=_conversation(host))
        return _standing(report, report.message)

    def standing(self, host: tuple[str, str]) -> Standing | None:
        """Where the workflow of a conversation stands; None if none was begun in it."""
        session = _conversation(host).session
        if not self.sessions.session(session).exists:
            return None
        report = self.sessions.status(session)
        if report.plan is None or not report.state.is_active:
            return _standing(report, report.message)
        return _standing(report, words.reminder(report.plan, report.state))


def _conversation(host: tuple[str, str]) -> Conversation:
    return Conversation(*host, is_linked=registry.host(host[0]).LINKS)


def _standing(report: Report, message: str) -> Standing:
    summaries = [{"phase": phase, "summary": text} for phase, text in report.state.summaries]
    return Standing(
        session=report.session,
        status=report.state.status,
        steps=report.state.steps,
        status_line=report.status_line,
        message=message,
        summaries=summaries,
    )
