"""A session as every surface shows it, and what is said about a command."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from handrail.sessions import machine
from handrail.sessions import words as prompts
from handrail.sessions.machine import Refusal, Result, State
from handrail.sessions.store import Outcome
from handrail.workflows.plan import Plan


@dataclass(frozen=True, kw_only=True)
class View:
    """A session as every surface shows it, and what is to be said about the last command."""

    session: str
    plan: Plan | None
    state: State
    message: str
    refusal: Refusal | None = None
    results: tuple[Result, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def status_line(self) -> str | None:
        return prompts.status_line(self.plan, self.state) if self.plan else None

    def path(self) -> list[tuple[str, int]]:
        """The seeds' stack of (workflow key, index); after a nested end, one past the end of the top level."""
        if self.plan is None:
            return []
        stop = self.plan.stops[self.state.at]
        if self.state.status == "done" and len(stop.levels) > 1:
            return [(self.plan.key, stop.levels[0].total)]
        return stop.path

    def to_json(self) -> dict[str, Any]:
        plan, state = self.plan, self.state
        data: dict[str, Any] = {
            "session": self.session,
            "workflow": plan.key if plan else None,
            "name": plan.name if plan else None,
            "task": state.task,
            "taskId": state.task_id,
            "status": state.status,
            "path": self.path(),
            "phase": self._phase(),
            "steps": state.steps,
            "statusLine": self.status_line,
            "title": prompts.session_title(plan, state.task) if plan else None,
            "startedAt": in_words(state.started),
            "summaries": [{"phase": phase, "summary": text} for phase, text in state.summaries],
            "message": self.message,
            "refused": self.refusal.code if self.refusal else None,
            "cancelPending": state.cancel_asked,
        }
        if self.results:
            data["checks"] = [result._asdict() for result in self.results]
        return data

    def _phase(self) -> dict[str, Any] | None:
        if self.plan is None or not self.state.is_active:
            return None
        stop = self.plan.stops[self.state.at]
        here = stop.levels[-1]
        return {"id": stop.id, "name": stop.name, "emoji": stop.emoji, "index": here.position + 1, "total": here.total}


def in_words(moment: float) -> str:
    return dt.datetime.fromtimestamp(moment, dt.UTC).isoformat(timespec="seconds")


def message_of(outcome: Outcome, plan: Plan | None, results: tuple[Result, ...]) -> str:
    before, after, decision = outcome.before, outcome.after, outcome.decision
    if plan is None or outcome.plan is None:
        return decision.refusal.reason if decision.refusal else ""
    if decision.refusal:
        if decision.refusal.code == "check-failed":
            return prompts.refuted(results, outcome.plan.stops[before.at])
        return decision.refusal.reason
    match decision.events[-1]:
        case machine.Moved() | machine.Finished():
            return prompts.moved(plan, before, after)
        case machine.Looped():
            return prompts.looped(plan, before, after)
        case machine.CancelAsked():
            return prompts.cancel_asked(after)
        case machine.Cancelled():
            return prompts.cancelled(plan, after)
        case machine.Reloaded():
            return f"Going on with the edited files, at {prompts.status_line(plan, after)}."
        case _:
            return ""
