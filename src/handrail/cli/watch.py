"""Drives a run from the command line: shows it, answers its questions, handles Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from handrail.app import App
from handrail.cli.ask import ask, can_ask
from handrail.cli.consent import need_trust
from handrail.cli.output import Shell, echo, time_of_day
from handrail.cli.progress import Live, Plain
from handrail.cli.reply import run_line
from handrail.cli.signals import cancelling
from handrail.cli.terminal import can_draw
from handrail.contracts import Observer
from handrail.forms import read as formspec
from handrail.forms.answers import accepted, read_answers
from handrail.project import shown_path
from handrail.runs import machine
from handrail.runs.changed import changed_files
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import Cause
from handrail.runs.routing import Choice
from handrail.runs.stored import shown
from handrail.runs.summary import Summary
from handrail.runs.trusting import programs_of_run
from handrail.source.dataclasses import dataclass
from handrail.source.suggest import did_you_mean
from handrail.view.onward import onward
from handrail.view.run import RunView

if TYPE_CHECKING:
    from handrail.alerts.telling import Teller

TICK = 0.1
_ENDED_EARLY = ("failed", "cancelled")


@dataclass(frozen=True)
class Driving:
    """How a run is driven: whether events are printed as JSON, the file with answers, and the chosen agents.

    `is_answered`: an answer was accepted. That is what the command was for, so its exit code is 0 however the run ends.
    """

    events: bool = False
    answers: str | None = None
    choice: Choice | None = None
    is_answered: bool = False


class Watch:
    """Shows a run while it is driven: as lines of JSON, as a live view on a terminal, or as plain lines."""

    def __init__(self, app: App, shell: Shell, run: LoadedRun, *, events: bool) -> None:
        self.events = events
        self.clock = app.clock
        self.show: Live | Plain | None = None
        if not events and not shell.quiet:
            live = can_draw(sys.stderr, app.env) and not shell.as_json
            self.show = (Live if live else Plain)(sys.stderr, run.plan, app.clock, run.records)

    def observer(self, event: machine.Event) -> None:
        if self.events:
            with contextlib.suppress(OSError):  # a full disk behind stdout must not end the run
                echo(json.dumps({"time": self.clock(), **shown(event)}, ensure_ascii=False))
        elif self.show is not None:
            self.show.observer(event)

    async def ticking(self) -> None:
        while self.show is not None:
            self.show.tick()
            await asyncio.sleep(TICK)

    def close(self) -> None:
        if self.show is not None:
            self.show.close()


class Person:
    """Answers a run's questions from a file. Questions without an answer stay open."""

    def __init__(self, file: str | None) -> None:
        self.answers = read_answers(file) if file is not None else None

    async def answer(self, id_: str, path: str, question: dict[str, Any]) -> dict[str, Any] | None:
        if self.answers is None:
            return None
        found: dict[str, Any] | None = accepted(self.answers, formspec.from_json(question), path, id_)
        return found

    def ignored(self, run: LoadedRun) -> list[str]:
        """Says which answers of the file were not used, if they will not be or seem to be misspelt."""
        answers, state = self.answers, run.state
        if answers is None or state.status not in ("completed", "waiting"):
            return []
        asked = [event for _, event in run.records if isinstance(event, machine.Asked)]
        names = {name for event in asked for name in (event.id, event.path, event.question.get("formId"))}
        fields = {field.get("id") for event in asked for field in event.question.get("fields", ())}
        told = [
            f"{answers.file}:{line}:{column}: no question has a field `{name}`, so its answer was not used"
            for name in answers.sets.get(None, {})
            if name not in fields and state.status == "completed"
            for line, column in [answers.keys.get((None, name), (1, 1))]
        ]
        for name in answers.sets:
            hint = did_you_mean(name, sorted(filter(None, names))) if name else None
            if name is None or name in names or (state.status == "waiting" and hint is None):
                continue
            line, column = answers.places.get((name, None), (1, 1))
            what = f"no question `{name}` was asked, so its answers were not used"
            told.append(f"{answers.file}:{line}:{column}: {what}" + (f"; {hint}" if hint else ""))
        return told


def drive(app: App, shell: Shell, run: LoadedRun, mode: Cause, how: Driving) -> None:
    """Drive a run to its end and exit with its exit code. On a terminal, its questions are asked."""
    app.check_settings()
    if mode == "run" and not run.records:
        app.trust.take_mark(run.id)
    need_trust(app, shell, lambda: programs_of_run(run))
    person = Person(how.answers)
    may_ask = can_ask() and not shell.as_json and not how.events and app.caller.sign is None
    try:
        run = _once(app, shell, run, mode, (how, person))
        _tell(app, run)
        while run.state.status == "waiting" and may_ask and run.state.questions:
            for asked in list(run.state.questions.values()):
                asyncio.run(app.runs.answer(run, asked.id, ask(formspec.from_json(asked.question))))
            run = _once(app, shell, run, "answer", (how, person))
            _tell(app, run)
    except (KeyboardInterrupt, asyncio.CancelledError, click.Abort):
        shell.talk(f"cancelled; `handrail resume {run.id}` resumes it")
        raise SystemExit(130) from None
    for told in person.ignored(run):
        shell.talk(f"warning: {told}")
    print_run(shell, run, events=how.events)
    if (code := view_of(run).exit_code) and not how.is_answered:
        raise SystemExit(code)


def _teller(app: App) -> Teller | None:
    """Tells the person about the run, as the settings say; None if they say nothing."""
    if not app.settings.notify:
        return None
    from handrail.alerts.telling import make_teller

    return make_teller(app.runs, _ring if sys.stderr.isatty() else None)


def _tell(app: App, run: LoadedRun) -> None:
    """Tell the person that the run waits, or that it has ended after a long time."""
    if (teller := _teller(app)) is None:
        return
    from handrail.alerts.telling import end_of, needs_in

    end = end_of(run) if app.caller.sign is None else None  # whoever called a run from an agent or a step hears of it
    alerts = needs_in(run) if run.state.status == "waiting" else [end] if end is not None else []

    async def tell_all() -> None:
        await asyncio.gather(*map(teller.tell, alerts))

    asyncio.run(tell_all())


@contextlib.asynccontextmanager
async def _telling(app: App, run: LoadedRun, watch: Watch) -> AsyncIterator[Observer]:
    """The observer of a run. Meanwhile, the person is told of questions that stay open."""
    if (teller := _teller(app)) is None:
        yield watch.observer
        return
    from handrail.alerts.telling import Questions

    questions, is_over = Questions(teller, run), asyncio.Event()

    def observer(event: machine.Event) -> None:
        questions.observe(event)
        watch.observer(event)

    following = asyncio.ensure_future(questions.follow(is_over))
    try:
        yield observer
    finally:
        is_over.set()
        await following


def _ring() -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write("\a")
        sys.stderr.flush()


def _once(app: App, shell: Shell, run: LoadedRun, mode: Cause, how: tuple[Driving, Person]) -> LoadedRun:
    watch = Watch(app, shell, run, events=how[0].events)
    try:
        return asyncio.run(_drive(app, run, mode, watch, how))
    finally:
        watch.close()


async def _drive(app: App, run: LoadedRun, mode: Cause, watch: Watch, how: tuple[Driving, Person]) -> LoadedRun:
    with cancelling():
        ticking = asyncio.ensure_future(watch.ticking())
        try:
            async with _telling(app, run, watch) as observer:
                return await app.runs.drive(run, mode, observer, how[1].answer, how[0].choice)
        finally:
            ticking.cancel()


def view_of(run: LoadedRun) -> RunView:
    return RunView(run, time_of_day)


def print_run(shell: Shell, run: LoadedRun, *, events: bool = False) -> None:
    """Print the state of a run, and what to do next."""
    view, hints = view_of(run), list[str]()
    if run.state.status in _ENDED_EARLY:
        hints = onward(run, [shown_path(file, shell.cwd) for file in changed_files(run.about)])
    if shell.as_json and not events:
        return shell.data({**view.to_json(), "hints": hints})
    if not events:
        shell.say(line(view))
    questions = list(run.state.questions.values()) if run.state.status == "waiting" else []
    for asked in questions:
        which = f" --question {asked.id}" if len(questions) > 1 else ""
        shell.talk(f"`{asked.path}` waits for an answer to {asked.id}: `handrail answer {run.id}{which}`")
    for hint in hints:
        shell.talk(hint)
    return None


def line(view: RunView) -> str:
    """A run in one line."""
    run, state = view.run, view.state
    why = state.error or state.reason or view.delay or (state.summary or "").lstrip("# ")
    return run_line(Summary(run.id, run.plan.id, state.status, run.driver, why))
