"""Guided sessions for agents that Handrail itself starts: start one, and report its state."""

from __future__ import annotations

from typing import Protocol

from handrail import registry
from handrail.contracts import Standing, Stubs
from handrail.sessions import words
from handrail.sessions.report import Report
from handrail.sessions.sessions import Conversation, Sessions


class Starter(Protocol):
    """Reads definitions and starts a workflow by its name."""

    def start(
        self, name: str, task: str, *, conversation: Conversation | None = None, run: str | None = None
    ) -> Report: ...


class SessionGuide:
    """The sessions of agents that a step runs through a workflow. `host` is (agent, conversation)."""

    def __init__(self, sessions: Sessions, starter: Starter, idle_stops: int, stubs: Stubs) -> None:
        self.sessions = sessions
        self.starter = starter
        self.idle_stops = idle_stops
        self.stubs = stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str], run: str) -> Standing:
        report = self.starter.start(workflow, task, conversation=_conversation(host), run=run)
        return _standing(report, report.message)

    def standing(self, host: tuple[str, str]) -> Standing | None:
        """The state of the workflow in a conversation; None if no workflow was started there."""
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
