"""A session as text for a person at a terminal, and as JSON. Pure; imports little: quick commands use it.

The text says where the session is, what comes next and what to type. An agent is told other texts (the words of
sessions). Markdown that is written for agents is shown without its marks.
"""

from __future__ import annotations

from typing import Any

from handrail.guided.sessions import machine, words
from handrail.guided.sessions.denials import denied_words
from handrail.guided.sessions.store import SessionReport, moment
from handrail.guided.sessions.words import check_lines
from handrail.source.plain_text import command_line, counted, one_line, plain_lines
from handrail.view.text.columns import SIGNS, session_status, sign_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from handrail.extensions.contracts.messages import Verdict
    from handrail.guided.sessions.machine import State
    from handrail.guided.workflows.plan import Plan

    Clock = Callable[[float], str]

SUMMARY = "what you did"


def session_text(report: SessionReport, session: str | None, clock: Clock) -> str:
    """The text for a person after a command. `session` is the id that the person typed; `clock` formats a time."""
    return plain_lines("\n".join(_lines(report, session, clock))).rstrip("\n")


def _lines(report: SessionReport, session: str | None, clock: Clock) -> Iterator[str]:
    plan, state, event = report.plan, report.state, report.event
    if plan is not None and report.refusal is not None and report.refusal.code == "waiting":
        yield "Refused: the session stays in this phase until a person has answered."
        yield from _question_lines(state, session)
    elif plan is None or (report.refusal is not None and report.refusal.code != "check-failed"):
        yield report.message
    elif report.refusal is not None:
        yield from check_lines(report.results, plan.stops[state.at])
        yield f"Fix this, then run {_command('next', session)} again."
    elif not state.is_active:
        yield from _end_lines(report, plan)
    elif isinstance(event, machine.CancelAsked) and not event.question:
        yield "Nothing is cancelled yet."
        yield f"To cancel: {_command('cancel', session, '--yes')}, or run {_command('cancel', session)} once more."
    elif isinstance(event, machine.CancelAsked | machine.Blocked):
        yield from _question_lines(state, session)
    elif isinstance(event, machine.Reloaded):
        yield "The session continues here with the edited files."
    else:
        yield from _event_lines(report, plan)
        yield from _status_lines(report, plan, session, clock) if event is None else ()
        yield from ["", denied_words(report.denied)] if report.denied and event is None else ()
        yield from _phase_text(plan, state, session)


def _end_lines(report: SessionReport, plan: Plan) -> Iterator[str]:
    if isinstance(report.event, machine.Finished):
        yield f"✓ {report.event.phase} is done."
    sign = "✓" if report.state.status == "done" else "■"
    yield f"{sign} {words.farewell(plan, report.state) or report.message}"
    skipped = [plan.stops[at].name for at in report.state.skipped if at < len(plan.stops)]
    if skipped and report.state.status == "done":
        yield f"! A person skipped: {', '.join(skipped)}"
    if report.denied:
        yield denied_words(report.denied)


def _question_lines(state: State, session: str | None) -> Iterator[str]:
    """What a person is asked, and what to type."""
    yield f"? {one_line(words.asked_text(state))}"
    cancel = f"To cancel it: {_command('cancel', session, '--yes')}. To keep it: "
    answer = _command("unblock", session, "--note", "your answer")
    yield f"{cancel if state.asks_to_cancel else 'To answer: '}{answer}"


def _event_lines(report: SessionReport, plan: Plan) -> Iterator[str]:
    match report.event:
        case machine.Moved():
            checks = len(report.results)
            held = "Its exit check holds" if checks == 1 else f"Its {checks} exit checks hold"
            yield f"✓ {report.event.phase} is done." + (f" {held}." if checks else "")
        case machine.Looped():
            yield f"{plan.stops[report.event.origin].levels[-1].name} starts over."
        case machine.Answered() | machine.WentTo():
            yield f"{report.state.note}\nAn agent is told that at its next turn."


def _status_lines(report: SessionReport, plan: Plan, session: str | None, clock: Clock) -> Iterator[str]:
    """Why its agent stopped, if it did, the task, the time, and all phases with a mark at the current one."""
    state = report.state
    if session_status(state.status, state.question, report.let_go) == "interrupted":
        yield f"status:   {sign_of('interrupted')} interrupted: {one_line(report.let_go)}"
    yield f"task:     {one_line(state.task)}"
    yield f"started:  {clock(state.started)}" + (f", {counted(state.steps, 'step')} so far" if state.steps else "")
    yield ""
    yield from _phases(plan, state)
    yield from ["", *_question_lines(state, session)] if state.question else ()
    refused_lines = [f"! an agent tried `{command}`; only a person may run it" for command in state.refused]
    yield from ["", *refused_lines] if refused_lines else ()
    summaries = [f"  {phase}: {one_line(text)}" for phase, text in state.summaries]
    yield from ["", "Done so far:", *summaries] if summaries else ()


def _phases(plan: Plan, state: State) -> Iterator[str]:
    """The phases around the current one, with signs for done, skipped, current and to come."""
    limit, current = words.MAX_LISTED, state.at
    first = max(0, min(current - limit // 2, len(plan.stops) - limit))
    last = min(len(plan.stops), first + limit)
    if first:
        yield f"  … {first} before"
    for number in range(first, last):
        stop = plan.stops[number]
        is_skipped = number < current and number in state.skipped
        behind = "skipped" if is_skipped else "done"
        sign = SIGNS[behind if number < current else "running" if number == current else "pending"]
        path = "".join(f"{level.name} > " for level in stop.levels[1:])
        yield f"  {sign} {stop.number}. {path}{stop.emoji} {stop.name}{' (skipped)' if is_skipped else ''}"
    if last < len(plan.stops):
        yield f"  … {len(plan.stops) - last} after"


def _phase_text(plan: Plan, state: State, session: str | None) -> Iterator[str]:
    """What the phase asks, what is checked before it is left, and what to type then."""
    stop = plan.stops[state.at]
    yield ""
    yield "What to do now:"
    for line in without_marks(words.variables(plan, state)["phaseInstructions"].strip()).split("\n"):
        yield f"  {line}".rstrip()
    yield ""
    if stop.checks:
        yield "Handrail checks this before the phase is left:"
        yield from (f"  {check.claim}" for check in stop.checks)
    if stop.allow is not None or stop.deny:
        yield f"An agent may use: {words.allowed_tools(stop) or 'no tools'}"
    is_last = state.at + 1 == len(plan.stops)
    next_text = "this is the last phase" if is_last else f"then comes {plan.stops[state.at + 1].name}"
    yield f"When it is done: {_command('next', session, '--summary', SUMMARY)} ({next_text})"
    if stop.scope_loopable and state.at != stop.scope_first:
        yield f"To start {stop.levels[-1].name} over: {_command('loop', session)}"


def _command(name: str, session: str | None, *arguments: str) -> str:
    session_arguments = ("--session", session) if session is not None else ()
    return f"`{command_line('handrail', name, *session_arguments, *arguments)}`"


def without_marks(text: str) -> str:
    """Markdown as plain text: headings and bold text without their marks. Code blocks stay as they are."""
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
            continue
        if is_code:
            lines.append(f"    {line}")
            continue
        begin = line.lstrip("#")
        text = begin.strip() if line.startswith("#") and begin.startswith(" ") else line
        for mark in ("**", "__"):
            if text.count(mark) % 2 == 0 and "`" not in text:
                text = text.replace(mark, "")
        lines.append(text)
    return "\n".join(lines)


def session_json(report: SessionReport) -> dict[str, Any]:
    """The session object of the command-line contract."""
    plan, state = report.plan, report.state
    data: dict[str, Any] = {
        "session": report.session,
        "workflow": plan.key if plan else None,
        "name": plan.name if plan else None,
        "task": state.task,
        "taskId": state.task_id,
        "status": state.status,
        "interrupted": session_status(state.status, state.question, report.let_go) == "interrupted",
        "letGo": report.let_go or None,
        "path": report.path,
        "phase": _phase(report),
        "steps": state.steps,
        "statusLine": report.status_line,
        "title": words.session_title(plan, state.task) if plan else None,
        "startedAt": moment(state.started),
        "summaries": [{"phase": phase, "summary": text} for phase, text in state.summaries],
        "message": report.message,
        "refused": report.refusal.code if report.refusal else None,
        "cancelPending": state.cancel_asked or state.asks_to_cancel,
        "by": report.by,
        "refusedCommands": list(state.refused),
        "checksRanIn": state.folder or None,
        "denied": sum(report.denied.values()),
        "deniedTools": dict(report.denied),
        "reason": state.reason or None,
        "question": state.question or None,
        "note": state.note or None,
        "endedBy": state.ended_by or None,
    }
    if report.run is not None:
        data["run"] = report.run
    if report.results:
        data["checks"] = [result._asdict() for result in report.results]
    return data


def _phase(report: SessionReport) -> dict[str, Any] | None:
    if report.plan is None or not report.state.is_active:
        return None
    stop = report.plan.stops[report.state.at]
    level = stop.levels[-1]
    return {"id": stop.id, "name": stop.name, "emoji": stop.emoji, "index": level.position + 1, "total": level.total}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as the command line prints it."""
    return {name: verdict[name] for name in ("allow", "reason", "tool", "rule")}
