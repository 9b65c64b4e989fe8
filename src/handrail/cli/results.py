"""Prints the results of commands: a session, lists of sessions and runs, a table.

Imports no command-line parser, so that `status`, `sessions` and `runs` start fast.
"""

from __future__ import annotations

from handrail.cli.output import BOLD, DIM, date_and_time, painted, painted_status, styled, width
from handrail.driven.runs.summary import reason_words, totals_of
from handrail.guided.sessions.store import LEFT
from handrail.settings.folders import shown_path
from handrail.source.plain_text import command_line, counted, one_line, plain
from handrail.view.text.columns import clipped, duration, session_status, sign_of, table, word_of
from handrail.view.text.session import session_json, session_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from handrail.app import App
    from handrail.cli.output import Shell
    from handrail.driven.runs.summary import Summary
    from handrail.guided.sessions.store import SessionReport
    from handrail.settings.trust import ProgramUse

WIDEST_CELL = 40
WIDEST_REASON = 120
SHOWN_PROGRAMS = 8
"""How many programs are shown before the question. `handrail trust --show` shows all."""


def print_session(shell: Shell, report: SessionReport, session: str | None = None) -> None:
    """Print a session after a command. Raises `SystemExit` if the command was refused.

    `session` is the id that the person typed, so that the commands that are shown name it too.
    """
    if shell.as_json:
        shell.data(session_json(report))
    else:
        place = report.status_line
        if place:
            shell.say(styled(plain(place), BOLD))
        if not shell.quiet or not place or report.refusal:
            for line in session_text(report, session, date_and_time).split("\n"):
                shell.say(painted(line))
    for notice in report.notices:
        shell.talk(f"warning: {notice}")
    if report.refusal:
        raise SystemExit(5 if report.refusal.code == "check-failed" else 1)


def list_sessions(app: App, shell: Shell, *, active: bool) -> None:
    """Print one line per session, or per session in which a person's workflow is active."""
    reports = app.sessions.reports(active=active)
    if shell.as_json:
        return shell.data({"sessions": [session_json(report) for report in reports]})
    if not reports:
        noun = "active sessions" if active else "sessions"
        return shell.say(f"no {noun} in this project; `handrail list` shows what can be started")
    status_of_run: dict[str, str] = {}
    if any(report.run and report.state.is_active for report in reports):
        from handrail.driven.runs.state import ENDED

        status_of_run = {run.id: run.status for run in app.runs.engine.summaries() if run.status in ENDED}
    rows = [_session_row(report, status_of_run.get(report.run or "")) for report in reports]
    return print_table(shell, [("SESSION", "STARTED", "STATUS", "WHERE", "TASK"), *rows])


def _session_row(report: SessionReport, run_status: str | None) -> tuple[str, ...]:
    """The row of a session. `run_status` is how its run ended; None if it has no run, or the run has not ended."""
    if report.plan is None:
        return report.session, "", f"{sign_of('damaged')} {word_of('damaged')}", one_line(report.message), ""
    state = report.state
    start_text = date_and_time(state.started) if state.started else ""
    place = report.status_line or report.plan.name
    shown_status = session_status(state.status, state.question, report.let_go)
    status = f"{sign_of(shown_status)} {word_of(shown_status)}"
    if report.run and state.is_active:
        end = f" {run_status}" if run_status else ""
        status = f"{f'{sign_of(LEFT)} {LEFT}' if run_status else status} (run {report.run}{end})"
    return report.session, start_text, status, place, clipped(one_line(state.task), WIDEST_CELL)


def tell_moved(shell: Shell, folder: str, project: str) -> None:
    """Of a project without runs, say that it was moved, if it was. `folder` is that of its runs."""
    from handrail.driven.engines.embedded.run_folders import former_project  # `status` and `sessions` do not need it

    if (former := former_project(folder, project)) is not None:
        shell.talk(f"it was `{former}` before; `{command_line('handrail', 'adopt', former)}` brings its runs here")


def list_runs(shell: Shell, runs: list[Summary], *, is_part: bool = False, has_costs: bool = False) -> None:
    """Print one line per run, the newest first, including damaged ones, and then their totals.

    `is_part`: not all runs of the project were asked for. With costs, a row says what was used instead of why.
    """
    newest, totals = runs[::-1], totals_of(runs)
    if shell.as_json:
        return shell.data({"runs": [run.to_json() for run in newest], "totals": totals})
    if not runs:
        hint = "`handrail runs` lists all" if is_part else "`handrail list` shows what can be run"
        return shell.say(f"no {'such ' * is_part}runs in this project; {hint}")
    is_used = any(run.usage for run in runs)
    about = ("AGENTS", "IN", "OUT", "COST") if has_costs else (*["COST"] * is_used, "GIVEN", "WHY")
    rows: list[tuple[str, ...]] = [("RUN", "STARTED", "TOOK", "STATUS", "FLOW", *about)]
    for run in newest:
        usage = _usage_cells(run.usage)
        about_run = (", ".join(run.agents), *usage) if has_costs else usage[2:] * is_used + _why(run)
        rows.append((*_run_row(run), *about_run))
    print_table(shell, rows)
    if has_costs or is_part or is_used:
        tokens_in, tokens_out, cost = _usage_cells(totals)
        words = [f"{tokens_in} tokens in" if tokens_in else "", f"{tokens_out} out" if tokens_out else "", cost]
        shell.say(", ".join(filter(None, (counted(len(runs), "run"), duration(totals["seconds"]), *words))))
    if any(run.status == "damaged" for run in runs):
        shell.talk("`handrail prune --damaged --yes` moves damaged runs away")
    for id_ in [run.id for run in newest if run.is_interrupted][:1]:
        shell.talk(f"no process drives an interrupted run; `handrail resume {id_}` resumes it")
    for id_ in [run.id for run in newest if run.is_answered][:1]:
        shell.talk(f"no process uses the answer of an answered run; `handrail resume {id_}` does")
    return None


def _usage_cells(usage: Mapping[str, Any]) -> tuple[str, str, str]:
    """Tokens in, tokens out and cost. `≥`: some is not known. Empty if nothing was used."""
    least = "" if usage.get("complete", True) else "≥ "
    known = [usage.get(name) for name in ("inputTokens", "outputTokens", "usd")]
    if known == [None] * 3:
        return "", "", "unknown" if least else ""
    tokens = [f"{least}{amount:,.0f}" if amount is not None else "unknown" for amount in known[:2]]
    return tokens[0], tokens[1], f"{least}${known[2]:.2f}" if known[2] is not None else "unknown"


def _run_row(run: Summary) -> tuple[str, ...]:
    start_text = "" if run.created is None else date_and_time(run.created)
    took = "" if run.seconds is None else f"{'≥ ' * run.is_least}{duration(run.seconds)}"
    if run.attempt > 1 and took:
        took += f" ({run.attempt} attempts)"
    status = run.shown_status
    words = f"{sign_of(status)} {word_of(status)}" + (f" (process {run.driver})" if run.driver else "")
    return run.id, start_text, took, words, one_line(run.flow)


def _why(run: Summary) -> tuple[str, ...]:
    return clipped(one_line(run.given), WIDEST_CELL), clipped(one_line(reason_words(run.why)), WIDEST_REASON)


def print_table(shell: Shell, rows: list[tuple[str, ...]]) -> None:
    """Print rows in aligned columns, cut to the terminal. The first row is the head. Signs have their colours."""
    head, *lines = table([tuple(plain(cell) for cell in row) for row in rows])
    shell.say(styled(clipped(head, width()), DIM))
    for line in lines:
        shell.say(painted_status(clipped(line, width())))


def run_line(run: Summary) -> str:
    status = f"{run.status} (process {run.driver})" if run.driver else run.shown_status
    return f"{run.id}  {plain(run.flow)}  {status}  {one_line(reason_words(run.why))}".rstrip()


def program_lines(programs: Sequence[ProgramUse], cwd: str) -> list[str]:
    return [program.words(lambda path: shown_path(path, cwd)) for program in programs]


def tell_untrusted(app: App, shell: Shell, programs: Sequence[ProgramUse] | None = None) -> None:
    """Say what would be run if the project were trusted. By default only that there is something."""
    if app.trust.holds() or not (app.definitions.own_programs() if programs is None else programs):
        return
    if programs is None:
        why = "nobody has trusted this project, so it runs nothing"
        shell.talk(f"{why}: `handrail trust --show` says what it would run")
        return
    shell.talk(f"nobody has trusted `{app.project}`, so it runs nothing; with `handrail trust` it would run:")
    for line in program_lines(programs, shell.cwd)[:SHOWN_PROGRAMS]:
        shell.talk(f"  {line}")
    if len(programs) > SHOWN_PROGRAMS:
        shell.talk(f"  and {len(programs) - SHOWN_PROGRAMS} more")
