"""Commands that drive runs (run, resume, continue, restart, stop, answer), and their worktrees."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NoReturn

import click

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import DefinitionError, HandrailError, NotFound, RefusedError, UsageError
from handrail.base.files import write_whole
from handrail.base.processes import start_detached
from handrail.cli import run_options
from handrail.cli.commands.sessions import answer_session
from handrail.cli.forms import ask, can_ask, print_form, typed_answers
from handrail.cli.options import ListGroup, command, need_trust, run_argument, trust_option
from handrail.cli.output import Shell, date_and_time, painted
from handrail.cli.results import print_table
from handrail.cli.run_driver import DriveOptions, drive, print_run
from handrail.cli.terminal import WaitingLine
from handrail.driven.artifacts.scope import issue_key
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.preview import preview_lines, rows_to_json
from handrail.driven.forms import form_params
from handrail.driven.forms.answers import answers_for, read_answers
from handrail.driven.forms.form import Form, initial
from handrail.driven.runs import run_rules
from handrail.driven.runs.estimate import estimate_run
from handrail.driven.runs.life import kept_words
from handrail.driven.runs.request import LoadedRun, RunRequest, changed_files, unused_inputs
from handrail.driven.runs.restart import restart as make_attempt
from handrail.driven.runs.run_events import BOUND_OPTIONS, Bounded, Cause, RunChoice, agent_of
from handrail.driven.runs.run_rules import programs_of_setup
from handrail.driven.runs.state import Question
from handrail.driven.runs.summary import APPROVED, kind_of_question
from handrail.driven.worktrees.records import End, Worktree
from handrail.project.prune import PruneRule
from handrail.settings.folders import shown_path
from handrail.source.field_checks import plain_data
from handrail.source.plain_text import counted, plain, some
from handrail.view.text.columns import duration
from handrail.view.text.log import given_words
from handrail.view.text.run import (
    bound_warnings,
    changed_files_words,
    estimate_lines,
    estimate_rows,
    is_brief,
    meaning_of_estimate,
)


def planned_tree(app: App, shell: Shell, run: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The worktree for a new run, as data; empty if it works where the person stands. Makes nothing."""
    end, base = options["end"], options["base"]
    if not options["in_tree"]:
        if end is not None or base is not None:
            name = "--base" if base is not None else f"--{end}"
            raise UsageError(f"`{name}` needs `--worktree`", f"`--worktree {name}`")
        current = app.worktrees.here() if app.folder != app.project else None
        return {} if current is None else current.to_json()
    tree, uncommitted = asyncio.run(app.worktrees.plan(run, options["scope"] or run, base, end))
    if uncommitted:
        files = plain(some([name.rstrip("/") for name in uncommitted], 4))
        phrase = f"{counted(len(uncommitted), 'uncommitted change')} {'stays' if len(uncommitted) == 1 else 'stay'}"
        shell.talk(f"{phrase} in `{app.folder}`, not in the worktree: {files}")
    return tree.to_json()


@click.command(cls=run_options.FlowCommand)
@run_options.start_options
@click.option(
    "--ask", "target", metavar="FILE", help="Ask its questions now; write the answers to FILE, for `--answers`."
)
@command
def ready(app: App, shell: Shell, name: str, task: tuple[str, ...], **options: Any) -> None:
    """Say what would stop a run that nobody watches, before it starts. Takes the options of `run`.

    The exit code is 5 if there is something. No step is run.
    """
    try:
        flow = app.definitions.flow_named(name)
    except DefinitionError as error:
        _exit_unready(app, shell, [(error.code, error.message, error.hint)])
    request = _request(app, task, options)
    request = replace(request, tree=planned_tree(app, shell, "ready", options))
    taken = _refuse_unready(app, shell, flow, request, options["answers"], options["target"])
    if shell.as_json:
        return shell.data({"ok": True, "problems": [], "taken": taken})
    for row in taken:
        answer = plain(given_words(row["default"])) or "its own default"
        shell.say(f"if nobody answers `{row['path']}`, this is taken ({row['deadline']}): {answer}")
    return shell.say(f"`{flow.id}` is ready for `--unattended`: nothing was found that would stop it")


def _refuse_unready(
    app: App, shell: Shell, flow: FoundFlow, request: RunRequest, answers: str | None, target: str | None = None
) -> list[dict[str, Any]]:
    """Exit with 5 if something would stop this run while nobody looks. With `target`, ask and write answers first.

    Returns the questions whose defaults are taken.
    """
    from handrail.doctor.readiness import Readiness  # asks git, services and agents: only if it is wanted

    given = read_answers(answers) if answers is not None else None
    with WaitingLine(shell, f"looking at what `{flow.id}` needs"):
        again = partial(run_options.command_again, click.get_current_context().obj)
        look = asyncio.run(Readiness(app, flow, request, given, again).find())
    if target is not None and look.forms:
        if not can_ask():
            file = json.dumps({name: initial(form) for name, form in look.forms.items()})
            raise UsageError("`--ask` needs a terminal", f"write a file such as this one, for `--answers FILE`: {file}")
        known = {name: plain_data(node) for name, node in given.sets.items() if name} if given is not None else {}
        known |= {name: ask(form) for name, form in look.forms.items()}
        write_whole(os.path.abspath(target), json.dumps(known, indent=2).encode(), durable=True)
        return _refuse_unready(app, shell, flow, request, target)
    if look.problems:
        _exit_unready(app, shell, [(one.id, one.message, one.fix) for one in look.problems])
    return look.taken


def _exit_unready(app: App, shell: Shell, problems: list[tuple[str, str, str | None]]) -> NoReturn:
    rows = [dict(zip(("code", "message", "fix"), app.secrets.for_people(list(one)), strict=True)) for one in problems]
    if shell.as_json:
        shell.data({"ok": False, "problems": rows})
    for row in () if shell.as_json else rows:
        shell.say(painted(plain(f"✗ {row['code']}: {row['message']}")))
        shell.say(plain(f"  {row['fix']}"))
    shell.talk(f"not ready: {counted(len(rows), 'problem')}")
    raise SystemExit(5)


@click.command(cls=run_options.FlowCommand)
@run_options.start_options
@click.option("--dry-run", is_flag=True, help="Print what would happen; run no step.")
@click.option("--detach", "is_detached", is_flag=True, help="Run in the background.")
@click.option("--unattended", "is_unattended", is_flag=True, help="Start only if it is `ready`; ask nobody.")
@run_options.events_option
@command
def run(app: App, shell: Shell, name: str, task: tuple[str, ...], **options: Any) -> None:
    """Run a flow to its end, or drive an agent through a workflow.

    `handrail NAME` is the same as `handrail run NAME`, unless there is a command NAME. `handrail run NAME --help` says
    what a flow takes, does and writes.
    """
    if options["approve"]:
        app.refuse_agents("run --approve")
    flow = app.definitions.flow_named(name)
    app.check_settings()
    request = _request(app, task, options)
    if request.params.get(run_options.ACCEPT_PLAYBOOK):
        app.refuse_agents(f"run {run_options.OPTION_OF[run_options.ACCEPT_PLAYBOOK]}")
    for warning in _warnings(app, flow, request, options["agent"]):
        shell.talk(f"warning: {warning}")
    if options["dry_run"]:
        return _preview(app, shell, flow, request)
    if options["answers"] is not None:
        app.refuse_agents("run --answers")
        read_answers(options["answers"])  # report errors in the file before the run starts
    _prune_by_settings(app, shell)
    with WaitingLine(shell, f"reading past runs of `{flow.id}`"):
        likely = None if shell.as_json or shell.quiet else estimate_run(app.runs, app.flows, flow, request)
    id_ = f"r-{app.token()}"
    request = replace(request, tree=planned_tree(app, shell, id_, options), unattended=options["is_unattended"])
    if options["is_unattended"]:
        _refuse_unready(app, shell, flow, request, options["answers"])
    need_trust(app, shell, lambda: [*programs_of_setup(request.worktree), *app.definitions.programs_of_flow(flow)])
    new_run = app.runs.begin(app.flows, flow, request, id_)
    route = partial(agent_of, new_run.routing)
    for warning in run_rules.missing_agents(new_run.plans.values(), route, app.registry, app.env, run_plugins=True):
        shell.talk(f"warning: {warning}")
    for line in estimate_lines(likely, request.bounds) if likely is not None and likely.has_past else ():
        shell.talk(line)
    shell.talk(f"run {new_run.id}")
    if issue_key(options["scope"]) is not None:
        shell.talk(f"scope {new_run.about.request.scope}")
    if options["is_detached"]:
        return _detach(app, shell, new_run, options["answers"])
    drive_settings = DriveOptions(options["events"], options["answers"], is_unattended=options["is_unattended"])
    return drive(app, shell, new_run, "run", drive_settings)


def _warnings(app: App, flow: FoundFlow, request: RunRequest, agent: str | None) -> Iterator[str]:
    """Also names the newest run of the flow if it is not finished, and the command that goes on with it."""
    yield from app.warnings(flow, agent)
    yield from unused_inputs(app.flows, flow, request)
    last = next((one for one in reversed(app.runs.engine.summaries()) if one.flow == flow.id), None)
    if (
        last is None
        or last.status in ("completed", "stopped", "damaged")
        or (last.glance or {}).get("code") == "stopped"
    ):
        return
    words = f"is not finished ({last.shown_status}): `handrail resume {last.id}` resumes it"
    if last.shown_status == "waiting":
        words = f"waits for an answer: `handrail answer {last.id}` answers it"
    elif last.driver is not None:
        words = f"is running: `handrail log {last.id} --follow` shows it"
    yield f"run {last.id} of this flow {words}"


def _prune_by_settings(app: App, shell: Shell) -> None:
    """Remove what the user's settings say, if they say it."""
    if (rule := app.settings.prune) is None:
        return
    if removed := app.prune(PruneRule(rule.older_than, rule.keep), dry_run=False).removed:
        shell.talk(f"removed {len(removed)} old runs and sessions, as `prune` in your settings says")


def _request(app: App, task: tuple[str, ...], options: dict[str, Any]) -> RunRequest:
    bounds = Bounded(**app.settings.limits, places=app.settings.limit_places)
    bounds = bounds.with_later(run_options.given_bounds(options))
    return RunRequest(
        params={**run_options.params_of_task(options), **run_options.given_params(options["given"], options["file"])},
        task=" ".join(task),
        scope=options["scope"],
        **run_options.part_of_request(app, options),
        lang=options["lang"],
        limits=bounds.named,
        limit_places=bounds.places,
        approve=list(run_options.given_approvals(app, options)),
    )


def _preview(app: App, shell: Shell, flow: FoundFlow, request: RunRequest) -> None:
    rows = app.runs.preview(app.flows, flow, request)
    failing_paths = [row.path for row in rows if row.verdict == "fails"]
    likely = estimate_run(app.runs, app.flows, flow, request)
    if shell.as_json:
        warnings = [*bound_warnings(likely.whole, request.bounds)]
        preview = {"rows": rows_to_json(rows), "estimate": {**likely.to_json(), "warnings": warnings}}
        shell.data({"name": flow.id, "dryRun": True, "ok": not failing_paths, **preview})
    else:
        for line in itertools.chain.from_iterable(map(preview_lines, rows)):
            shell.say(line)
        shell.talk("this was a dry run: no step was run")
        if likely.whole.past and not is_brief(likely.whole):
            print_table(shell, estimate_rows(likely))
            shell.talk(meaning_of_estimate(likely))
        for line in estimate_lines(likely, request.bounds, is_asked_for=True):
            shell.talk(line)
    if failing_paths:
        shell.talk(f"the run would fail: {some(failing_paths)}")
        raise SystemExit(2)


def _detach(app: App, shell: Shell, run: LoadedRun, answers: str | None) -> None:
    """Start a background process that drives the run. Its output goes to the log of the run."""
    argv = [sys.executable, "-P", "-m", "handrail", "--project", app.project, "resume", run.id, "--first"]
    argv += ["--answers", os.path.abspath(answers)] if answers else []
    app.trust.mark(run.id)
    pid = start_detached(argv, app.env, app.runs.engine.log(run.id))
    end = time.monotonic() + 10
    with WaitingLine(shell, f"waiting for process {pid} to begin"):
        while run.driver is None and not run.records and time.monotonic() < end:
            time.sleep(0.02)
            run = app.runs.with_new_events(run)
    shell.talk(f"process {pid} drives it; `handrail log {run.id} --follow` shows it, `handrail stop {run.id}` stops it")
    print_run(shell, app.runs.with_new_events(run))


def _drive_options(app: App, command: str, run_id: str, options: dict[str, Any]) -> DriveOptions:
    """How a run is to be driven. An agent may use nothing that answers in place of a person, and no new bound."""
    if options["answers"] is not None:
        app.refuse_agents(f"{command} --answers", run=run_id)
    if options["approve"]:
        app.refuse_agents(f"{command} --approve", run=run_id)
    for name in run_options.given_bounds(options).named:
        app.refuse_agents(f"{command} {BOUND_OPTIONS[name]}", run=run_id)
    return DriveOptions(options["events"], options["answers"], run_options.given_choice(app, options))


@click.command()
@run_argument
@click.option(
    "--param", "given", multiple=True, metavar="NAME=VALUE", help="Another value for steps that are not done."
)
@run_options.drive_options
@click.option("--first", "cause", flag_value="run", hidden=True)
@click.option("--answered", "cause", flag_value="answer", hidden=True)
@command
def resume(app: App, shell: Shell, run_id: str, cause: Cause | None, **options: Any) -> None:
    """Resume a run that was interrupted, failed or waits. Finished steps do not run again."""
    drive_settings = _drive_options(app, "resume", run_id, options)
    if options["given"]:
        app.refuse_agents("resume --param", run=run_id)
        given = replace(drive_settings.choice or RunChoice(), params=run_options.given_params(options["given"], None))
        drive_settings = replace(drive_settings, choice=given)
    run = app.runs.load(run_id)
    for line in changed_files_words(run, [shown_path(file, shell.cwd) for file in changed_files(run.about)]):
        shell.talk(line)
    drive(app, shell, run, cause or "resume", drive_settings)


@click.command("continue")
@run_argument
@run_options.drive_options
@command
def continue_(app: App, shell: Shell, run_id: str, **options: Any) -> None:
    """Continue a run that ended, if its flow allows that."""
    drive_settings = _drive_options(app, "continue", run_id, options)
    drive(app, shell, app.runs.load(run_id), "continue", drive_settings)


@click.command()
@run_argument
@click.option("--from", "start", metavar="PHASE", help="Keep the results of the phases before this one.")
@run_options.drive_options
@command
def restart(app: App, shell: Shell, run_id: str, start: str | None, **options: Any) -> None:
    """Start a run again with the current definitions. Unchanged files that it made are removed; a copy is kept."""
    drive_settings = _drive_options(app, "restart", run_id, options)
    app.check_settings()
    run = app.runs.load(run_id)
    need_trust(app, shell, lambda: run_rules.programs_of_run(run))
    flows = app.definitions.with_shipped(run.about.flow)
    with WaitingLine(shell, f"preparing the next attempt of `{run_id}`"):
        work = make_attempt(app.runs, flows, app.definitions.flow_of_run, run, start, drive_settings.choice)
        attempt = asyncio.run(work)
    for change in attempt.changes:
        shell.talk(f"since the last attempt, {change}")
    if attempt.kept_phases:
        shell.talk(f"kept: {', '.join(attempt.kept_phases)}")
    for path in attempt.removed:
        shell.talk(f"removed: {path}")
    for path, reason in attempt.left.items():
        shell.talk(f"not removed: {path} ({reason})")
    drive(app, shell, attempt.run, "restart", replace(drive_settings, choice=None))


@click.command()
@run_argument
@command
def stop(app: App, shell: Shell, run_id: str) -> None:
    """Stop a run and every process that it started. It can be resumed."""
    app.refuse_agents("stop", run=run_id)
    with WaitingLine(shell, f"waiting for the processes of `{run_id}` to end"):
        run = asyncio.run(app.runs.stop(app.runs.load(run_id)))
    print_run(shell, run)


@click.command()
@run_argument
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
@click.option("--file", "file", metavar="FILE", help="A file with answers (JSON or YAML); `-` is the standard input.")
@click.option("--approve/--reject", "is_approved", default=None, help="Say yes or no to a question for approval.")
@click.option("--note", metavar="TEXT", help="The reason for the yes or the no.")
@click.option("--question", metavar="ID", help="The question to answer, such as `q1`; needed if several are open.")
@click.option("--step", metavar="PATH", help="Instead of its id: the step that asks.")
@click.option("--show", is_flag=True, help="Only print an answers file to fill in, and the questions to stderr.")
@trust_option
@run_options.events_option
@command
def answer(app: App, shell: Shell, run_id: str, **options: Any) -> None:
    """Answer a question that a run waits for, then resume the run. It ends as `resume` does.

    With the id of a guided session and a text, answer what that session asks, as `handrail unblock` does.

    \b
    handrail answer last rerun=again
    handrail answer last --reject --note "not on a Friday"
    """
    if app.sessions.session(run_id).exists:
        return answer_session(app, shell, run_id, " ".join(options["fields"]))
    run = _run_that_asks(app, run_id)
    if not options["show"]:
        app.refuse_agents("answer", run=run_id)
    run_rules.refuse_unless_waiting(run_id, run.state, is_driven=run.driver is not None)
    question = run_rules.question_to_answer(run_id, run.state, options["question"], options["step"])
    form, file = form_params.form_from(question.question), options["file"]
    given, how = _typed_answers(form, question, options, run_id), DriveOptions(options["events"], stored=question.id)
    if run.history.is_answered and given is None and file is None and not options["show"]:
        shell.talk("its answer is stored already")
        return drive(app, shell, run, "answer", how)
    if options["show"] or (file is None and given is None and not can_ask()):
        if shell.as_json:
            fields = {"question": question.id, "path": question.path, "form": question.question}
            shell.data({"run": run_id, **fields, "answers": {form.id: initial(form)}})
        print_form(shell, form, is_asked_for=options["show"])
        if not options["show"]:
            command = f"handrail answer {run_id} --question {question.id}"
            is_approval = kind_of_question(question.question) == "approval"
            needed = " ".join(f"{field.id}=VALUE" for field in form.fields if field.required or len(form.fields) == 1)
            ways = ("--approve", "--reject --note TEXT") if is_approval else (needed, "--file FILE")
            shell.talk(f"answer it: `{command} {ways[0]}`, or `{command} {ways[1]}`")
        raise SystemExit(0 if options["show"] else 4)
    need_trust(app, shell, lambda: run_rules.programs_of_run(run))
    if file is not None:
        given = answers_for(read_answers(file), form, question.path, question.id, is_only=True)
    has_no_driver = asyncio.run(app.runs.answer(run, question.id, ask(form) if given is None else given))
    shell.talk(f"the answer to {question.id} is stored")
    return _use_answer(app, shell, run, how, has_driver=not has_no_driver)


def _run_that_asks(app: App, id_: str) -> LoadedRun:
    try:
        return app.runs.load(id_)
    except NotFound as error:
        waiting = (one.session for one in app.sessions.reports(active=True) if one.state.question)
        hints = (f"session `{name}` waits: `handrail unblock --session {name} --note TEXT`" for name in waiting)
        raise NotFound(error.message, next(hints, error.hint)) from error


def _use_answer(app: App, shell: Shell, run: LoadedRun, how: DriveOptions, *, has_driver: bool) -> None:
    """Drive a run whose answer was just stored. If that fails, and no other process uses the answer, it is an error."""
    exit_code = 0
    try:
        if not has_driver:
            return drive(app, shell, run, "answer", how)
    except HandrailError as error:
        exit_code = error.exit_code
        shell.talk(error.message)
        shell.talk(f"hint: {error.hint or f'`handrail resume {run.id}` uses the answer'}")
    run = app.runs.load(run.id)
    print_run(shell, run, events=how.events, stored=how.stored)
    if exit_code and run.history.is_answered:
        raise SystemExit(exit_code)
    return None


def _typed_answers(form: Form, question: Question, options: Mapping[str, Any], run: str) -> dict[str, Any] | None:
    """The answers on the command line; None if there are none."""
    words, is_approved, note = list(options["fields"]), options["is_approved"], options["note"]
    if (words or is_approved is not None) and (options["file"] is not None or options["show"]):
        raise UsageError("answers come from the command line or from a file, not from both", "leave out one of them")
    if is_approved is None and note is not None:
        raise UsageError("`--note` works only with `--approve` or `--reject`", "say which one")
    if is_approved is not None:
        if kind_of_question(question.question) != "approval":
            raise UsageError(f"`{question.id}` asks for values, not for a yes or a no", "write FIELD=VALUE")
        words += [f"{APPROVED}={'yes' if is_approved else 'no'}", *([f"reason={note}"] if note is not None else [])]
    return typed_answers(form, words, run) if words else None


@click.group(cls=ListGroup)
def worktrees() -> None:
    """List the worktrees of runs; merge, keep or remove one."""


@worktrees.command("list")
@command
def list_worktrees(app: App, shell: Shell) -> None:
    """List the worktrees of the runs of this project.

    The oldest comes first. What a kill left of a worktree is listed, too. `handrail prune` removes it.
    """
    with WaitingLine(shell, "asking git about the worktrees"):
        trees = asyncio.run(app.worktrees.with_states())
    if shell.as_json:
        return shell.data({"worktrees": [one.to_json() for one in trees]})
    if not trees:
        return shell.say("no run of this project has a worktree; `handrail run NAME --worktree` makes one")
    rows: list[tuple[str, ...]] = [("RUN", "BRANCH", "STATE", "CREATED", "AGE", "PATH")]
    for one, tree in ((one, one.tree) for one in trees):
        age = duration(app.clock() - tree.created)
        rows.append((tree.run, tree.branch, one.state, date_and_time(tree.created), age, tree.path))
    return print_table(shell, rows)


_branch_option = click.option("--branch", metavar="NAME", help="Which one, if the steps of the run made several.")


@worktrees.command()
@run_argument
@_branch_option
@command
def merge(app: App, shell: Shell, run_id: str, branch: str | None) -> None:
    """Merge the commits of a worktree into the branch that it was made from, and remove it.

    It refuses if there are conflicts or uncommitted changes, and then changes nothing.
    """
    tree = _worktree(app, "merge", run_id, branch)
    _refuse_driven(app, tree)
    with WaitingLine(shell, f"git works on `{tree.branch}`"):
        commit = asyncio.run(app.worktrees.merge(tree))
    words = f"merged into `{tree.base}` ({commit[:10]}); the worktree is removed"
    _print_worktree(shell, tree, "merge", words, commit=commit)


@worktrees.command()
@run_argument
@_branch_option
@command
def keep(app: App, shell: Shell, run_id: str, branch: str | None) -> None:
    """Keep a worktree when its run is completed, whatever was chosen before."""
    tree = _worktree(app, "keep", run_id, branch)
    _print_worktree(shell, tree, "keep", kept_words(asyncio.run(app.worktrees.keep(tree))))


@worktrees.command()
@run_argument
@_branch_option
@click.option("--force", is_flag=True, help="Also if commits or changes are lost.")
@command
def remove(app: App, shell: Shell, run_id: str, branch: str | None, force: bool) -> None:
    """Remove a worktree. It refuses if commits or changes would be lost."""
    tree = _worktree(app, "remove", run_id, branch)
    _refuse_driven(app, tree)
    with WaitingLine(shell, f"git works on `{tree.branch}`"):
        lost_commit = asyncio.run(app.worktrees.remove(tree, force=force))
    hint = f"; `git branch {tree.branch} {lost_commit}` brings its commits back" if lost_commit else ""
    _print_worktree(shell, tree, "remove", f"removed `{tree.path}`{hint}", lost=lost_commit)


def _worktree(app: App, action: End, run_id: str, branch: str | None) -> Worktree:
    app.refuse_agents(f"worktrees {action}")
    return app.worktrees.named(run_id, branch)


def _print_worktree(shell: Shell, tree: Worktree, action: End, words: str, **facts: Any) -> None:
    if shell.as_json:
        return shell.data({"run": tree.run, "action": action, "branch": tree.branch, "path": tree.path, **facts})
    return shell.say(words)


def _refuse_driven(app: App, tree: Worktree) -> None:
    """Refuse if the run, or another one that was started inside its worktree, is running there."""
    for id_ in (id_ for id_ in app.runs.engine.ids() if app.runs.engine.driver(id_) is not None):
        tree_of_run = app.runs.load(id_).about.request.worktree
        if id_ == tree.run or (tree_of_run is not None and tree_of_run.path == tree.path):
            message = f"run `{id_}` is running in the worktree"
            raise RefusedError(message, f"wait until it ends, or run `handrail stop {id_}`")
