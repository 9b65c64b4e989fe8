"""Prints the results of commands: a session, a list of runs, a table.

Imports no command-line parser, so that `status` and `runs` start fast.
"""

from __future__ import annotations

from handrail.cli.output import BOLD, DIM, date_and_time, painted, painted_status, styled, width
from handrail.driven.runs.summary import reason_words
from handrail.source.plain_text import one_line, plain
from handrail.view.text.columns import clipped, duration, sign_of, table
from handrail.view.text.session import session_json, session_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.cli.output import Shell
    from handrail.driven.runs.summary import Summary
    from handrail.guided.sessions.store import SessionReport

WIDEST_CELL = 40
WIDEST_REASON = 120


def print_session(shell: Shell, report: SessionReport, session: str | None = None) -> None:
    """Print a session after a command. Raises `SystemExit` if the command was refused.

    `session` is the id that the person typed, so that the commands that are shown name it too.
    """
    if shell.as_json:
        shell.data(session_json(report))
    else:
        if report.status_line:
            shell.say(styled(plain(report.status_line), BOLD))
        if not shell.quiet or not report.status_line or report.refusal:
            for line in session_text(report, session, date_and_time).split("\n"):
                shell.say(painted(line))
    for notice in report.notices:
        shell.talk(f"warning: {notice}")
    if report.refusal:
        raise SystemExit(5 if report.refusal.code == "check-failed" else 1)


def list_runs(shell: Shell, found: list[Summary]) -> None:
    """Print one line per run, the newest first, including damaged ones."""
    newest = found[::-1]
    if shell.as_json:
        return shell.data({"runs": [run.to_json() for run in newest]})
    if not found:
        return shell.say("no runs in this project; start one with `handrail run NAME`")
    rows: list[tuple[str, ...]] = [("RUN", "STARTED", "TOOK", "STATUS", "FLOW", "GIVEN", "WHY")]
    rows += [_run_row(run) for run in newest]
    print_table(shell, rows)
    if any(run.status == "damaged" for run in found):
        shell.talk("`handrail prune --damaged --yes` moves damaged runs away")
    if any(run.is_interrupted for run in found):
        shell.talk("no process drives an interrupted run; `handrail resume RUN` resumes it")
    return None


def _run_row(run: Summary) -> tuple[str, ...]:
    started = "" if run.created is None else date_and_time(run.created)
    took = "" if run.seconds is None else f"{'≥ ' * run.is_least}{duration(run.seconds)}"
    if run.attempt > 1 and took:
        took += f" (attempt {run.attempt})"
    given = clipped(one_line(run.given), WIDEST_CELL)
    return (
        run.id,
        started,
        took,
        _run_status(run),
        one_line(run.flow),
        given,
        clipped(one_line(reason_words(run.why)), WIDEST_REASON),
    )


def _run_status(run: Summary) -> str:
    status = "interrupted" if run.is_interrupted else run.status
    status = "cannot be read" if status == "damaged" else status
    return f"{sign_of(status)} {status}" + (f" (process {run.driver})" if run.driver else "")


def print_table(shell: Shell, rows: list[tuple[str, ...]]) -> None:
    """Print rows in aligned columns, cut to the terminal. The first row is the head. Signs have their colours."""
    head, *lines = table([tuple(plain(cell) for cell in row) for row in rows])
    shell.say(styled(clipped(head, width()), DIM))
    for line in lines:
        shell.say(painted_status(clipped(line, width())))


def run_line(run: Summary) -> str:
    """A run in one line, as the result of a command."""
    status = f"{run.status} (process {run.driver})" if run.driver else run.status
    if run.is_interrupted:
        status = "interrupted"
    return plain(f"{run.id}  {run.flow}  {status}  {reason_words(run.why)}").rstrip()
