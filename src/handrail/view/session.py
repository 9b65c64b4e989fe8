"""A session as JSON, for `--json` and for every surface. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.sessions import words
from handrail.sessions.report import Report, moment

if TYPE_CHECKING:
    from handrail.contracts.messages import Verdict


def session_json(report: Report) -> dict[str, Any]:
    """The session object of the command-line contract."""
    plan, state = report.plan, report.state
    data: dict[str, Any] = {
        "session": report.session,
        "workflow": plan.key if plan else None,
        "name": plan.name if plan else None,
        "task": state.task,
        "taskId": state.task_id,
        "status": state.status,
        "path": report.path,
        "phase": _phase(report),
        "steps": state.steps,
        "statusLine": report.status_line,
        "title": words.session_title(plan, state.task) if plan else None,
        "startedAt": moment(state.started),
        "summaries": [{"phase": phase, "summary": text} for phase, text in state.summaries],
        "message": report.message,
        "refused": report.refusal.code if report.refusal else None,
        "cancelPending": state.cancel_asked,
        "by": report.by,
        "refusedCommands": list(state.refused),
    }
    if report.results:
        data["checks"] = [result._asdict() for result in report.results]
    return data


def _phase(report: Report) -> dict[str, Any] | None:
    if report.plan is None or not report.state.is_active:
        return None
    stop = report.plan.stops[report.state.at]
    here = stop.levels[-1]
    return {"id": stop.id, "name": stop.name, "emoji": stop.emoji, "index": here.position + 1, "total": here.total}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as the command line prints it."""
    return {name: verdict[name] for name in ("allow", "reason", "tool", "rule")}
