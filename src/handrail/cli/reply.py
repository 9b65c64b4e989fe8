"""Prints sessions and lists of runs. Imports no command-line parser, so that `status` and `runs` start fast."""

from __future__ import annotations

from handrail.cli.output import BOLD, styled
from handrail.source.plain import plain, plain_lines
from handrail.view.session import session_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.cli.output import Shell
    from handrail.runs.summary import Summary
    from handrail.sessions.report import Report


def reply(shell: Shell, report: Report) -> None:
    """Print a session after a command. Raises `SystemExit` if the command was refused."""
    if shell.as_json:
        shell.data(session_json(report))
    else:
        if report.status_line:
            shell.say(styled(plain(report.status_line), BOLD))
        if not shell.quiet or not report.status_line or report.refusal:
            shell.say(plain_lines(report.message))
    for notice in report.notices:
        shell.talk(f"warning: {notice}")
    if report.refusal:
        raise SystemExit(5 if report.refusal.code == "check-failed" else 1)


def list_runs(shell: Shell, found: list[Summary]) -> None:
    """Print one line per run, the newest first, including damaged ones."""
    newest = found[::-1]
    if shell.as_json:
        return shell.data({"runs": [run.to_json() for run in newest]})
    for run in newest:
        shell.say(plain(f"{run.id}  cannot be read: {run.why}") if run.status == "damaged" else run_line(run))
    if not found:
        shell.say("no runs in this project; start one with `handrail run NAME`")
    if any(run.status == "damaged" for run in found):
        shell.talk("`handrail prune --damaged --yes` moves damaged runs away")
    return None


def run_line(run: Summary) -> str:
    """A run in one line."""
    status = f"{run.status} (process {run.driver})" if run.driver else run.status
    if run.status == "running" and run.driver is None:
        status = "interrupted"
    return plain(f"{run.id}  {run.flow}  {status}  {run.why}").rstrip()
