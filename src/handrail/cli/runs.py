"""Commands that drive runs: run, resume, continue, restart, stop, answer."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from functools import partial
from typing import Any

import click

from handrail.app import App
from handrail.artifacts.scope import issue_key
from handrail.cli.ask import ask, can_ask, print_form
from handrail.cli.common import command, complete_flow, run_argument
from handrail.cli.consent import need_trust, trust_option
from handrail.cli.dryrun import print_preview
from handrail.cli.flow_help import CommandOfFlow
from handrail.cli.output import Shell
from handrail.cli.params import (
    ACCEPTED,
    OPTION_OF,
    approve_option,
    given_approvals,
    given_bounds,
    given_choice,
    given_params,
    limit_options,
    params_of_task,
    part_of_request,
    route_options,
    task_options,
)
from handrail.cli.trees import planned_tree, worktree_options
from handrail.cli.waiting import Waiting
from handrail.cli.watch import Driving, drive, print_run
from handrail.errors import RefusedError
from handrail.flows.dryrun import rows_to_json
from handrail.flows.found import FoundFlow
from handrail.forms import read as formspec
from handrail.forms.answers import accepted, read_answers
from handrail.forms.form import Form, initial
from handrail.process.child import detach
from handrail.project import shown_path
from handrail.pruning import Rule
from handrail.runs.agents import absent
from handrail.runs.bounds import OPTIONS, Bounded
from handrail.runs.changed import changed_files
from handrail.runs.estimate import estimate
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import Asked, Cause
from handrail.runs.questions import choose, refuse_unless_waiting
from handrail.runs.request import Request, unused
from handrail.runs.restart import restart as make_attempt
from handrail.runs.routing import agent_of
from handrail.runs.trusting import programs_of_run, programs_of_setup
from handrail.source.dataclasses import replace
from handrail.source.plain import some
from handrail.view.estimate import estimate_lines
from handrail.view.onward import changed_words

events_option = click.option("--events", is_flag=True, help="Print each event as one line of JSON.")
answers_option = click.option("--answers", metavar="FILE", help="A file with answers to its forms (JSON or YAML).")


@click.command(cls=CommandOfFlow)
@click.argument("name", shell_complete=complete_flow)
@click.argument("task", nargs=-1)
@click.option("--param", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the flow.")
@click.option(
    "--params", "file", metavar="FILE", help="A file with parameters (JSON or YAML); `-` is the standard input."
)
@answers_option
@route_options
@limit_options
@approve_option
@task_options
@worktree_options
@click.option(
    "--scope", default="", help="The scope of its artifacts, or an issue; by default the issue or the branch."
)
@click.option("--from", "start", metavar="PHASE", help="Skip the phases before this one.")
@click.option("--until", metavar="PHASE", help="End after this phase.")
@click.option("--dry-run", is_flag=True, help="Print what would happen; run no step.")
@click.option("--detach", "is_detached", is_flag=True, help="Run in the background.")
@trust_option
@events_option
@command
def run(app: App, shell: Shell, name: str, task: tuple[str, ...], **options: Any) -> None:
    """Run a flow to its end, or drive an agent through a workflow.

    `handrail NAME` is the same as `handrail run NAME`, unless there is a command NAME. `handrail run NAME --help` says
    what a flow takes, does and writes.
    """
    if options["approve"]:
        app.refuse_agents("run --approve")
    flow = app.flow_named(name)
    app.check_settings()
    for warning in app.warnings(flow, options["agent"]):
        shell.talk(f"warning: {warning}")
    request = _requested(app, task, options)
    if request.params.get(ACCEPTED):
        app.refuse_agents(f"run {OPTION_OF[ACCEPTED]}")
    for told in unused(app.flows, flow, request):
        shell.talk(f"warning: {told}")
    if options["dry_run"]:
        return _preview(app, shell, flow, request)
    if options["answers"] is not None:
        app.refuse_agents("run --answers")
        read_answers(options["answers"])  # report errors in the file before the run starts
    _prune_by_settings(app, shell)
    with Waiting(shell, f"reading past runs of `{flow.id}`"):
        likely = None if shell.as_json or shell.quiet else estimate(app.runs, app.flows, flow, request)
    id_ = f"r-{app.token()}"
    request = replace(request, tree=planned_tree(app, shell, id_, options))
    setup = programs_of_setup(request.worktree)
    need_trust(app, shell, lambda: [*setup, *app.definitions.programs_of_flow(flow)])
    begun = app.runs.begin(app.flows, flow, request, id_)
    for told in absent(begun.plans.values(), partial(agent_of, begun.routing), app.env):
        shell.talk(f"warning: {told}")
    for told in estimate_lines(likely, request.bounds) if likely is not None else ():
        shell.talk(told)
    shell.talk(f"run {begun.id}")
    if issue_key(options["scope"]) is not None:
        shell.talk(f"scope {begun.about.request.scope}")
    if options["is_detached"]:
        return _detach(app, shell, begun, options["answers"])
    return drive(app, shell, begun, "run", Driving(options["events"], options["answers"]))


def _prune_by_settings(app: App, shell: Shell) -> None:
    """Remove what the user's settings say, if they say it."""
    if (wanted := app.settings.prune) is None:
        return
    if removed := app.prune(Rule(wanted.older_than, wanted.keep), dry_run=False).removed:
        shell.talk(f"removed {len(removed)} old runs and sessions, as `prune` in your settings says")


def _requested(app: App, task: tuple[str, ...], options: dict[str, Any]) -> Request:
    bounds = Bounded(**app.settings.limits, places=app.settings.limit_places).with_later(given_bounds(options))
    return Request(
        params={**params_of_task(options), **given_params(options["given"], options["file"])},
        task=" ".join(task),
        scope=options["scope"],
        **part_of_request(app, options),
        lang=options["lang"],
        limits=bounds.named,
        limit_places=bounds.places,
        approve=list(given_approvals(options)),
    )


def _preview(app: App, shell: Shell, flow: FoundFlow, request: Request) -> None:
    rows = app.runs.preview(app.flows, flow, request)
    failing = [row.path for row in rows if row.verdict == "fails"]
    likely = estimate(app.runs, app.flows, flow, request)
    if shell.as_json:
        told = {"rows": rows_to_json(rows), "estimate": likely.to_json()}
        shell.data({"name": flow.id, "dryRun": True, "ok": not failing, **told})
    else:
        print_preview(shell, rows)
        for line in estimate_lines(likely, request.bounds):
            shell.talk(line)
    if failing:
        shell.talk(f"the run would fail: {some(failing)}")
        raise SystemExit(2)


def _detach(app: App, shell: Shell, run: LoadedRun, answers: str | None) -> None:
    """Start a background process that drives the run. Its output goes to the log of the run."""
    argv = [sys.executable, "-P", "-m", "handrail", "--project", app.project, "resume", run.id, "--first"]
    argv += ["--answers", os.path.abspath(answers)] if answers else []
    app.trust.mark(run.id)
    pid = detach(argv, app.env, app.runs.log(run.id))
    end = time.monotonic() + 10
    with Waiting(shell, f"waiting for process {pid} to begin"):
        while run.driver is None and not run.records and time.monotonic() < end:
            time.sleep(0.02)
            run = app.runs.updated(run)
    shell.talk(f"process {pid} drives it; `handrail log {run.id} --follow` shows it, `handrail stop {run.id}` stops it")
    print_run(shell, app.runs.updated(run))


def _refuse_agents(app: App, command: str, run_id: str, options: dict[str, Any]) -> None:
    """An agent may use nothing that answers in place of a person, and no new bound, which may be a higher one."""
    if options["answers"] is not None:
        app.refuse_agents(f"{command} --answers", run=run_id)
    if options.get("approve"):
        app.refuse_agents(f"{command} --approve", run=run_id)
    for name in given_bounds(options).named:
        app.refuse_agents(f"{command} {OPTIONS[name]}", run=run_id)


@click.command()
@run_argument
@answers_option
@route_options
@limit_options
@approve_option
@trust_option
@events_option
@click.option("--first", "cause", flag_value="run", hidden=True)
@click.option("--answered", "cause", flag_value="answer", hidden=True)
@command
def resume(app: App, shell: Shell, run_id: str, cause: Cause | None, **options: Any) -> None:
    """Resume a run that was interrupted, failed or waits. Finished steps do not run again."""
    _refuse_agents(app, "resume", run_id, options)
    loaded = app.runs.load(run_id)
    for told in changed_words(loaded, [shown_path(file, shell.cwd) for file in changed_files(loaded.about)]):
        shell.talk(told)
    how = Driving(options["events"], options["answers"], given_choice(app, options))
    drive(app, shell, loaded, cause or "resume", how)


@click.command("continue")
@run_argument
@answers_option
@route_options
@limit_options
@approve_option
@trust_option
@events_option
@command
def continue_(app: App, shell: Shell, run_id: str, **options: Any) -> None:
    """Continue a run that ended, if its flow allows that."""
    _refuse_agents(app, "continue", run_id, options)
    how = Driving(options["events"], options["answers"], given_choice(app, options))
    drive(app, shell, app.runs.load(run_id), "continue", how)


@click.command()
@run_argument
@click.option("--from", "start", metavar="PHASE", help="Keep the results of the phases before this one.")
@answers_option
@route_options
@limit_options
@approve_option
@trust_option
@events_option
@command
def restart(app: App, shell: Shell, run_id: str, start: str | None, **options: Any) -> None:
    """Start a run again with the current definitions. Unchanged files that it made are removed; a copy is kept."""
    _refuse_agents(app, "restart", run_id, options)
    app.check_settings()
    choice = given_choice(app, options)
    loaded = app.runs.load(run_id)
    need_trust(app, shell, lambda: programs_of_run(loaded))
    flows = app.definitions.with_shipped(loaded.about.flow)
    with Waiting(shell, f"preparing the next attempt of `{run_id}`"):
        made = asyncio.run(make_attempt(app.runs, flows, app.definitions.flow_of_run, loaded, start, choice))
    for change in made.changes:
        shell.talk(f"since the last attempt, {change}")
    if made.kept:
        shell.talk(f"kept: {', '.join(made.kept)}")
    for path in made.removed:
        shell.talk(f"removed: {path}")
    for path, why in made.left.items():
        shell.talk(f"not removed: {path} ({why})")
    drive(app, shell, made.run, "restart", Driving(options["events"], options["answers"]))


@click.command()
@run_argument
@command
def stop(app: App, shell: Shell, run_id: str) -> None:
    """Stop a run and every process that it started. It can be resumed."""
    app.refuse_agents("stop", run=run_id)
    with Waiting(shell, f"waiting for the processes of `{run_id}` to end"):
        stopped = asyncio.run(app.runs.stop(app.runs.load(run_id)))
    print_run(shell, stopped)


@click.command()
@run_argument
@click.option("--file", "file", metavar="FILE", help="A file with answers (JSON or YAML); `-` is the standard input.")
@click.option("--question", metavar="ID", help="The question to answer, such as `q1`; needed if several are open.")
@click.option("--step", metavar="PATH", help="Instead of its id: the step that asks.")
@click.option("--show", is_flag=True, help="Only print an answers file to fill in, and the questions to stderr.")
@trust_option
@events_option
@command
def answer(app: App, shell: Shell, run_id: str, **options: Any) -> None:
    """Answer a question that a run waits for, then resume the run. The exit code is 0 if the answer was accepted."""
    waiting = app.runs.load(run_id)
    if not options["show"]:
        app.refuse_agents("answer", run=run_id)
    refuse_unless_waiting(run_id, waiting.state, is_driven=waiting.driver is not None)
    asked = choose(run_id, waiting.state, options["question"], options["step"])
    form, file = formspec.from_json(asked.question), options["file"]
    if options["show"] or (file is None and not can_ask()):
        if shell.as_json:
            template = {form.id: initial(form)}
            told = {"question": asked.id, "path": asked.path, "form": asked.question, "answers": template}
            shell.data({"run": run_id, **told})
        print_form(shell, form, is_asked_for=options["show"])
        if not options["show"]:
            shell.talk(f"answer it with a file: `handrail answer {run_id} --question {asked.id} --file FILE`")
        raise SystemExit(0 if options["show"] else 4)
    need_trust(app, shell, lambda: programs_of_run(waiting))
    values = ask(form) if file is None else _from_file(file, form, asked)
    if asyncio.run(app.runs.answer(waiting, asked.id, values)):
        return _drive_answered(app, shell, waiting, options["events"])
    return print_run(shell, app.runs.updated(waiting), events=options["events"])


def _drive_answered(app: App, shell: Shell, run: LoadedRun, events: bool) -> None:
    """Resume a run after its answer was accepted, unless another command was faster."""
    try:
        drive(app, shell, run, "answer", Driving(events, is_answered=True))
    except RefusedError as error:
        shell.talk(f"the answer was accepted; {error.message}")
        print_run(shell, app.runs.updated(run), events=events)


def _from_file(file: str, form: Form, asked: Asked) -> dict[str, Any]:
    found: dict[str, Any] = accepted(read_answers(file), form, asked.path, asked.id, is_only=True)
    return found
