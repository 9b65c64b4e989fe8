"""Commands of guided sessions."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import click

from handrail.agents.calls.verdicts import protected_path
from handrail.app import App
from handrail.base.errors import NotFound, UsageError
from handrail.cli.options import command, complete_workflow, need_trust, session_option, trust_option
from handrail.cli.output import Shell
from handrail.cli.results import list_sessions, print_session
from handrail.cli.terminal import WaitingLine, run_interruptibly
from handrail.extensions.registry import OWN_TOOLS, Registry, built_in_hosts
from handrail.guided.sessions.exit_checks import programs_of_checks
from handrail.guided.sessions.machine import Block, Cancel
from handrail.guided.workflows.plan import ExitCheck
from handrail.guided.workflows.tool_names import unknown_tool
from handrail.source.suggestions import did_you_mean
from handrail.view.text.session import verdict_json


@click.command()
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("task", nargs=-1, metavar="TASK...")
@session_option
@click.option("--replace", is_flag=True, help="First cancel the active workflow of this session.")
@trust_option
@command
def start(app: App, shell: Shell, workflow: str, task: tuple[str, ...], session: str | None, replace: bool) -> None:
    """Start a workflow for a task.

    \b
    handrail start plan-build-review add a login page
    """
    words = " ".join(task).strip()
    try:
        app.catalog.find(workflow)  # a name that does not exist is the first thing to know
    except NotFound as error:
        hint = f"it is a flow: `handrail run {workflow}`" if app.definitions.is_flow(workflow) else error.hint
        raise NotFound(error.message, hint) from error
    if not words:
        message = "the task is blank" if task else "the task is missing"
        raise UsageError(message, f"say what is to be done: `handrail start {workflow} TASK`")
    if session is not None and not session.strip():
        raise UsageError("the session id is blank")
    if replace:
        app.refuse_agents("start --replace", session=session)
    need_trust(app, shell, lambda: app.definitions.programs_of_workflow(app.catalog.find(workflow)))
    print_session(shell, app.start(workflow, words, session, replaces=replace), session)


@click.command()
@session_option
@command
def status(app: App, shell: Shell, session: str | None) -> None:
    """Show the current phase of a session and its instructions."""
    print_session(shell, app.sessions.status(session), session)


@click.command(name="next")
@session_option
@click.option("--summary", default="", metavar="TEXT", help="What was done in this phase; stored and shown later.")
@trust_option
@command
def next_(app: App, shell: Shell, session: str | None, summary: str) -> None:
    """Leave the current phase, if its exit checks hold."""
    departure = app.sessions.leaving(session)
    app.refuse_agents_with_tool("next", departure.session)
    need_trust(app, shell, lambda: programs_of_checks(departure.checks, "the exit", app.registry), departure.run)
    with WaitingLine(shell, "leaving the phase") as line:

        def show_check(check: ExitCheck) -> None:
            line.print(lambda: shell.talk(f"checking: {check.name}"))
            line.say(f"waiting for the check `{check.name}`")

        report = run_interruptibly(app.next(departure, summary.strip(), show_check))
    print_session(shell, report, session)


@click.command()
@session_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@command
def loop(app: App, shell: Shell, session: str | None, yes: bool) -> None:
    """Go back to the first phase of the innermost workflow. In a terminal, it asks first, unless --yes is given."""
    app.refuse_agents_with_tool("loop", app.sessions.choose(session))
    if not yes and not app.is_leashed and not _confirms(shell, lambda: "Go back to the first phase?"):
        raise SystemExit(1)
    print_session(shell, app.sessions.loop(session), session)


def _confirms(shell: Shell, question: Callable[[], str]) -> bool:
    """True if a person says yes, or if there is no person to ask."""
    if shell.as_json or not sys.stdin.isatty() or click.confirm(question(), err=True):
        return True
    shell.talk("kept")
    return False


@click.command()
@click.argument("phase")
@session_option
@click.option("--reason", "--note", required=True, metavar="TEXT", help="Why; it is recorded, and the agent is told.")
@command
def goto(app: App, shell: Shell, phase: str, session: str | None, reason: str) -> None:
    """Move a session to any phase.

    PHASE is its id, its name or its number. What came after it is void: summaries, and results of checks.
    """
    app.refuse_agents("goto", session=session)
    if not reason.strip():
        raise UsageError("the reason is blank")
    print_session(shell, app.sessions.go_to(session, phase, app.secrets.mask(reason.strip())), session)


@click.command()
@click.argument("reason")
@session_option
@click.option("--question", default="", metavar="TEXT", help="What the person has to decide or say.")
@command
def blocked(app: App, shell: Shell, reason: str, session: str | None, question: str) -> None:
    """Say that the agent cannot go on: the session waits for a person."""
    if not reason.strip():
        raise UsageError("the reason is blank")
    mask = app.secrets.mask
    report = app.sessions.ask_person(session, Block(mask(reason.strip()), mask(question.strip())))
    if report.event is not None and app.is_leashed:
        from handrail.project.notifications import tell_of_session

        tell_of_session(app.project, app.env, report)
    print_session(shell, report, session)


@click.command()
@session_option
@click.option("--note", "--reason", default="", metavar="TEXT", help="The answer; the agent is told at its next turn.")
@command
def unblock(app: App, shell: Shell, session: str | None, note: str) -> None:
    """Let a session go on that waits for a person. A workflow that its agent asks to cancel stays active."""
    answer_session(app, shell, session, note)


def answer_session(app: App, shell: Shell, session: str | None, note: str) -> None:
    """Answer what a session asks. Only a person may."""
    app.refuse_agents("unblock", session=session)
    print_session(shell, app.sessions.answer(session, app.secrets.for_agent(note.strip())), session)


@click.command()
@session_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@command
def cancel(app: App, shell: Shell, session: str | None, yes: bool) -> None:
    """Cancel a workflow. Without --yes it asks; without a terminal, run the command twice to confirm."""
    app.refuse_agents("cancel", session=session)
    if not yes and not shell.as_json and sys.stdin.isatty():
        report = app.sessions_at(app.link_of(session) if session else None).status(session)
        yes = _confirms(shell, lambda: f"Cancel {report.status_line or report.session}?")
        if not yes:
            raise SystemExit(1)
    by_agent = not yes and app.caller.sign is not None
    asked = Cancel(by_agent=True)
    report = app.sessions.ask_person(session, asked) if by_agent else app.cancel(session, confirmed=yes)
    print_session(shell, report, session)
    if report.state.cancel_asked or report.state.asks_to_cancel:
        raise SystemExit(4)


@click.command()
@session_option
@command
def reload(app: App, shell: Shell, session: str | None) -> None:
    """Load the workflow's files again and stay in the same phase. A session does not follow edits by itself."""
    app.refuse_agents("reload", session=session)
    print_session(shell, app.reload(session), session)


@click.command()
@click.argument("tool")
@session_option
@click.option("--input", "input_", metavar="JSON", help="The arguments of the call.")
@click.option(
    "--agent",
    metavar="NAME",
    help="The agent that makes the call; by default TOOL is any agent's name, or Handrail's own.",
)
@command
def gate(app: App, shell: Shell, tool: str, session: str | None, input_: str | None, agent: str | None) -> None:
    """Print whether a tool call is allowed now, as JSON. The exit code is 0 in both cases."""
    if agent is not None and agent not in (agents := app.registry.hosts()):
        raise UsageError(f"there is no agent `{agent}`", did_you_mean(agent, agents) or f"known: {', '.join(agents)}")
    try:
        call = json.loads(input_) if input_ is not None else {}
    except ValueError as error:
        raise UsageError(f"`--input` is not JSON: {error}") from error
    if not isinstance(call, dict):
        raise UsageError("`--input` has to be a JSON object", 'such as `{"path": "notes.md"}`')
    host, cwd = app.registry.host(agent or _owner(app.registry, tool)), os.getcwd()
    arguments = host.arguments(tool, call, cwd)
    touches = protected_path(arguments, cwd, app.places, lambda: host.protected(app.env, app.places.home, app.project))
    verdict = app.sessions.gate(tool, session, host.aliases(tool), touches)
    hint = unknown_tool(tool, built_in_hosts() if agent is None else [agent, OWN_TOOLS], app.registry)
    if hint is not None:  # the verdict about such a tool says nothing about a real call
        shell.insist(f"warning: there is no tool `{tool}`; {hint}")
    shell.data(verdict_json(verdict))


@click.command()
@session_option
@command
def context(app: App, shell: Shell, session: str | None) -> None:
    """Print the text that the agent gets now."""
    text = app.sessions.context(session)
    if shell.as_json:
        shell.data({"context": text})
    else:
        click.echo(text)


@click.command()
@click.option("--active", is_flag=True, help="Only sessions in which a person's workflow is active.")
@command
def sessions(app: App, shell: Shell, active: bool) -> None:
    """List the sessions of this project."""
    list_sessions(app, shell, active=active)


def _owner(registry: Registry, tool: str) -> str:
    """The agent whose name for a tool this is, as `Edit` is for `edit`. Handrail's own names come first."""
    is_own = tool in registry.tool_names(OWN_TOOLS)[0]
    owners = [name for name in built_in_hosts() if registry.host(name).aliases(tool)]
    return owners[0] if owners and not is_own else OWN_TOOLS
