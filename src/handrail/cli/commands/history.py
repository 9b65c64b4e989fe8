"""Commands about what ran: list runs, tell what happened in a run or a guided session, remove old ones."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from handrail.app import App
from handrail.base import files
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound, RefusedError, UsageError
from handrail.base.journal import JournalDamaged
from handrail.base.locks import is_locked
from handrail.cli.options import command, complete_flow, complete_run
from handrail.cli.output import (
    BOLD,
    DIM,
    Shell,
    date_and_time,
    date_of,
    echo,
    has_reader,
    painted,
    styled,
    time_of_day,
    width,
)
from handrail.cli.results import list_runs
from handrail.cli.run_driver import print_run
from handrail.cli.terminal import WaitingLine
from handrail.driven.engines.embedded.run_folders import PROJECT
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun
from handrail.driven.runs.run_events import Event, masked_json, masked_records
from handrail.driven.runs.summary import Summary
from handrail.extensions.contracts import EventRecord, GuideNews
from handrail.guided.sessions.guide import SessionFollower
from handrail.guided.sessions.store import SessionReport
from handrail.project.prune import MONTH, STATUSES, PruneRule
from handrail.settings.folders import file_name
from handrail.settings.secrets import masked
from handrail.source.plain_text import one_line, plain
from handrail.source.values import DURATION_EXAMPLE, parse_duration
from handrail.view.live.run import printed_by
from handrail.view.text.columns import clipped
from handrail.view.text.log import Story, given_words, guided_lines

LAST = "last"
LISTED = ("running", "waiting", "answered", "interrupted", "completed", "stopped", "failed", "cancelled", "damaged")
LOOK_AGAIN = 0.1
SELDOM = 0.5
"""In seconds. While nothing happens, the pause between two looks grows up to this."""
PATIENCE = 5.0
"""In seconds. So long may a run that is begun, resumed or restarted just now be without a process that drives it."""


@click.command()
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--since", metavar="TIME", help="Only those that were made in the last `7d`, `12h`, `2w`.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(LISTED), help="Only with this status.")
@click.option("--flow", "flows", multiple=True, metavar="ID", shell_complete=complete_flow, help="Only of this flow.")
@click.option("--agent", "agents", multiple=True, metavar="AGENT", help="Only those in which this agent worked.")
@click.option("--cost", "has_costs", is_flag=True, help="Show what agents used instead of what happened.")
@command
def runs(app: App, shell: Shell, run: str | None, since: str | None, has_costs: bool, **only: tuple[str, ...]) -> None:
    """List the runs of this project.

    The newest one is first, and their totals are at the end. With RUN, print only this run; with --json, all its
    phases and steps.
    """
    if run is None:
        begin = 0.0 if since is None else app.clock() - _seconds("--since", since)
        listed = [one for one in app.runs.engine.summaries() if (one.created or 0.0) >= begin and _is_wanted(one, only)]
        return list_runs(shell, listed, is_part=since is not None or any(only.values()), has_costs=has_costs)
    loaded_run = app.runs.load(app.runs.named(run))
    print_run(shell, loaded_run)
    if loaded_run.state.status == "running" and loaded_run.driver is None and not shell.as_json:
        shell.talk(f"no process drives this run; `handrail resume {loaded_run.id}` resumes it")
    return None


def _is_wanted(run: Summary, only: Mapping[str, tuple[str, ...]]) -> bool:
    facts = {"statuses": {run.shown_status}, "flows": {run.flow, run.flow.rpartition(":")[2]}, "agents": {*run.agents}}
    return all(not wanted or facts[name].intersection(wanted) for name, wanted in only.items())


def _seconds(option: str, text: str) -> float:
    if (seconds := parse_duration(text)) is None:
        raise UsageError(f"`{option}` has to be {DURATION_EXAMPLE}, found `{text}`")
    return seconds


@click.command()
@click.argument("name", metavar="[RUN]", required=False, shell_complete=complete_run)
@click.option("--follow", is_flag=True, help="Keep printing until the run ends or waits for a person.")
@click.option("--events", is_flag=True, help="Print each event as one line of JSON.")
@click.option("--attempt", type=int, metavar="N", help="Only this attempt; `restart` begins a new one.")
@click.option("--output", metavar="STEP", help="Only what this step printed, all of it.")
@command
def log(app: App, shell: Shell, name: str | None, output: str | None, **options: Any) -> None:
    """Show what happened in a run or in a guided session.

    Without RUN, in the newest one. A run is told in all its attempts; of a damaged one, what can be read. For a
    session, RUN is its id.
    """
    follow, events, attempt = options["follow"], options["events"], options["attempt"]
    if follow and shell.as_json:
        raise UsageError("`--follow` cannot print one JSON object", "use `--events` instead of `--json`")
    run_id = (_newest(app) if name in (None, LAST) else None) or app.runs.named(name or LAST)
    if output is not None and (follow or events or attempt is not None):
        raise UsageError("`--output` works alone", f"`handrail log {run_id} --output {output}`")
    if run_id not in app.runs.engine.ids() and app.sessions.session(run_id).exists:
        if follow or attempt is not None or output is not None:
            message = "a session cannot be followed, and has no attempts and no output"
            raise UsageError(message, f"run `handrail log {run_id}`")
        return _log_session(app, shell, run_id, events)
    if output is not None:
        return _print_output(app, shell, run_id, output)
    try:
        return _log_run(app, shell, run_id, follow=follow, events=events, attempt=attempt)
    except JournalDamaged:
        if not shell.as_json:
            readable = app.runs.load(run_id, may_be_damaged=True)
            RunTeller(readable, events=events).tell(readable.attempt, readable.records)
        raise


def _newest(app: App) -> str | None:
    """The id of the newest run or session of this project. The sessions of agents in runs do not count."""
    began = {run.id: run.created or 0.0 for run in app.runs.engine.summaries()}
    began |= {one.session: one.state.started or 0.0 for one in app.sessions.reports() if one.run is None}
    return max(began, key=lambda id_: began[id_], default=None)


def _print_output(app: App, shell: Shell, run_id: str, step: str) -> None:
    text = printed_by(app.runs, run_id, step)
    if shell.as_json:
        return shell.data({"run": run_id, "step": step, "output": text})
    return shell.say(text) if text else shell.talk(f"`{step}` printed nothing")


def _log_run(app: App, shell: Shell, run_id: str, *, follow: bool, events: bool, attempt: int | None) -> None:
    attempts = app.runs.attempts(run_id)
    if follow and attempt not in (None, attempts[-1]):
        raise UsageError("only the last attempt can be followed", f"leave out `--attempt {attempt}`")
    numbers = attempts if attempt is None else [attempt]
    if shell.as_json:
        record_lists = [(number, app.runs.records(run_id, number)) for number in numbers]
        return shell.data({"events": [_data(t, event, n) for n, records in record_lists for t, event in records]})
    teller = RunTeller(app.runs.load(run_id), events=events, is_restarted=len(attempts) > 1)
    for number in numbers if not follow else numbers[:-1]:
        if not teller.tell(number, app.runs.records(run_id, number)):
            return None
    if follow:
        _follow(app, shell, run_id, teller)
    return None


def _log_session(app: App, shell: Shell, id_: str, events: bool) -> None:
    session = app.sessions.session(id_)
    if shell.as_json or events:
        records = session.records()
        data = [{"time": r["t"], "by": r.get("by"), **event} for r in records for event in r["events"]]
        if shell.as_json:
            return shell.data({"session": id_, "events": data})
        _print(json.dumps(event, ensure_ascii=False) for event in data)
    else:
        _print(_session_lines(app.sessions.status(id_), SessionFollower(session)()))
    return None


def _session_lines(report: SessionReport, news: list[GuideNews]) -> Iterator[str]:
    name = report.plan.name if report.plan is not None else ""
    yield styled("  ".join(plain(part) for part in (report.session, name, one_line(report.state.task)) if part), BOLD)
    day = ""
    for event in news:
        if day != (day := date_of(event.time)):
            yield styled(day, DIM)
        for line in guided_lines(event):
            yield painted(clipped(f"{time_of_day(event.time)}  {line}", width()))


def _follow(app: App, shell: Shell, run_id: str, teller: RunTeller) -> None:
    """Tell the current attempt until it ends or waits. If the run is restarted meanwhile, the new attempt is next."""
    offset, pause, idle_seconds = 0, LOOK_AGAIN, 0.0
    while has_reader(sys.stdout):
        # before the events are read: the driver leaves after its last one
        is_driven = app.runs.engine.driver(run_id) is not None
        records, offset = app.runs.events(run_id, offset)
        if records:
            if not teller.tell(app.runs.attempts(run_id)[-1], records):
                return
            newest = (event for _, event in reversed(records) if not isinstance(event, run_events.Noticed))
            if isinstance(next(newest, None), run_events.RunEnded | run_events.RunParked):
                return
        idle_seconds = 0.0 if records or is_driven else idle_seconds + pause
        if idle_seconds > PATIENCE:
            shell.talk(f"! interrupted: no process drives this run; `handrail resume {run_id}` resumes it")
            return
        pause = LOOK_AGAIN if records else min(pause * 1.5, SELDOM)
        time.sleep(pause)


class RunTeller:
    """Prints the events of a run: each as one line of JSON, or as a story, with the date when it changes."""

    def __init__(self, run: LoadedRun, *, events: bool, is_restarted: bool = False) -> None:
        self.run = run
        self.events = events
        self.is_restarted = is_restarted
        self.day = ""
        self.attempt = 0
        self.story = Story(run.plan, time_of_day)

    def tell(self, attempt: int, records: list[EventRecord]) -> bool:
        """False if the reader left before the last line."""
        if self.events:
            return _print(json.dumps(_data(moment, event, attempt), ensure_ascii=False) for moment, event in records)
        return _print(self._lines(attempt, records))

    def _lines(self, attempt: int, records: list[EventRecord]) -> Iterator[str]:
        if not self.attempt:
            request = self.run.about.request
            words = given_words({**masked(request.params), **({"task": request.task} if request.task else {})})
            yield styled("  ".join(filter(None, (self.run.id, plain(self.run.plan.id), words))), BOLD)
        if attempt != self.attempt:
            self.attempt, self.story = attempt, Story(self.run.plan, time_of_day)
            if self.is_restarted or attempt > 1:
                yield styled(f"attempt {attempt}", BOLD)
        for moment, line in self.story.lines(masked_records(records)):
            if self.day != (day := date_of(moment)):
                self.day = day
                yield styled(day, DIM)
            head, *output = line.split("\n")
            yield painted(clipped(head, width()))
            yield from output


def _print(lines: Iterable[str]) -> bool:
    """False if the reader left before the last line."""
    return all(echo(line) for line in lines)


def _data(moment: float, event: Event, attempt: int) -> dict[str, object]:
    return {"time": moment, "runAttempt": attempt, **masked_json(event)}


@click.command()
@click.argument("path")
@command
def adopt(app: App, shell: Shell, path: str) -> None:
    """Take over the runs and artifacts of a project that was moved or renamed.

    PATH is where the project was before. Its sessions, its trust and its worktrees stay behind.
    """
    app.refuse_agents("adopt")
    former = os.path.abspath(path)
    if os.path.exists(former):
        raise RefusedError(f"`{former}` still exists, so its runs stay there", "adopt only what was moved or renamed")
    left = [name for kind in ("runs", "artifacts") for name in _taken(app, kind, former)]
    if shell.as_json:
        return shell.data({"from": former, "runs": len(app.runs.engine.ids()), "left": left})
    for name in left:
        shell.say(f"not moved, because it exists here already: {plain(name)}")
    return shell.say(f"took over what Handrail kept for `{former}`")


def _taken(app: App, kind: str, former: str) -> list[str]:
    """Move what a project had of a kind into the current one. Returns what stays, because it exists here, too."""
    source, target = (os.path.join(app.places.state, kind, file_name(path)) for path in (former, app.project))
    if not os.path.isdir(source):
        if kind == "runs":
            raise NotFound(f"Handrail has no runs of `{former}`", "write the path that the project had")
        return []
    files.make_private(target)
    names = [name for name in os.listdir(source) if not name.startswith(".")]
    if driven := [name for name in names if is_locked(os.path.join(source, name, "lock"))]:
        raise RefusedError(f"`{driven[0]}` is in use", f"wait until it ends, or run `handrail stop {driven[0]}`")
    for name in names:
        if not os.path.lexists(os.path.join(target, name)):
            os.rename(os.path.join(source, name), os.path.join(target, name))
    files.remove(os.path.join(source, PROJECT))
    left = os.listdir(source)
    if not left:
        os.rmdir(source)
    return left


@click.command()
@click.option("--older-than", metavar="TIME", help="Only what ended before that time: `30d`, `12h`, `2w`.")
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N runs and the newest N sessions.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only with this status.")
@click.option("--damaged", is_flag=True, help="Move damaged runs to the folder `aside`; delete nothing.")
@click.option("--yes", is_flag=True, help="Do it. Without this, only print what would be removed.")
@command
def prune(app: App, shell: Shell, yes: bool, damaged: bool, **options: Any) -> None:
    """Remove old runs and ended sessions of this project.

    What is active or waits for a person is never removed. Without a choice, what ended more than 30 days ago is
    removed. Published artifacts and their history are kept. What a kill left of a worktree is removed, too, unless
    there is work in it. A run whose worktree has work is kept.

    \b
    handrail prune --older-than 14d --keep 20
    """
    app.refuse_agents("prune")
    seconds = None if options["older_than"] is None else _seconds("--older-than", options["older_than"])
    rule = PruneRule(seconds, options["keep"], options["statuses"], damaged)
    if rule == PruneRule():
        rule = PruneRule(older_than=MONTH)
    with WaitingLine(shell, "removing what is old" if yes else "looking for what is old"):
        result = app.prune(replace(rule, leftovers=not damaged), dry_run=not yes)
    if shell.as_json:
        rows = [item.to_json() for item in result.removed]
        return shell.data({"dryRun": not yes, "removed": rows, "kept": result.kept, "held": result.held})
    verb = ("moved away" if damaged else "removed") if yes else ("would move away" if damaged else "would remove")
    for item in result.removed:
        end_text = "" if item.ended is None else date_and_time(item.ended)
        shell.say(plain(f"{verb}: {item.kind} {item.id}  {item.name}  {item.status}  {end_text}").rstrip())
    if not result.removed:
        number = "1 run or session is" if result.kept == 1 else f"{result.kept or 'no'} runs and sessions are"
        shell.say(f"nothing to remove; {number} kept")
    elif not yes:
        shell.say(f"{len(result.removed)} of {len(result.removed) + result.kept}; add `--yes` to do it")
    for words in result.held:
        shell.talk(f"kept: {plain(words)}; `handrail worktrees` shows it")
    return None
