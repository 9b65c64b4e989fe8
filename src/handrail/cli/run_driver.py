"""Drives a run from the command line: shows its progress, answers its questions, handles Ctrl-C.

Progress goes to stderr: redrawn in place on a terminal, else one plain line per event. It does not hide the cursor, and
each line resets its colours, so a killed process leaves the terminal usable. It overwrites only lines that it drew.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TextIO

import click

from handrail.app import App
from handrail.base.dataclasses import dataclass, replace
from handrail.cli.forms import ask, can_ask
from handrail.cli.options import need_trust
from handrail.cli.output import Shell, echo, in_colour, shows_colour, size_of
from handrail.cli.results import run_line
from handrail.cli.terminal import can_draw, cancelling, write_quietly
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.forms import form_params
from handrail.driven.forms.answers import answers_for, read_answers
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun, changed_files
from handrail.driven.runs.run_events import Answered, Cause, Event, RunChoice, masked_json
from handrail.driven.runs.run_rules import programs_of_run
from handrail.extensions.contracts import EventRecord, Observer
from handrail.guided.sessions.denials import denied_words
from handrail.settings.folders import shown_path
from handrail.source.suggestions import did_you_mean
from handrail.view.text.log import Story, output_lines
from handrail.view.text.progress import Progress
from handrail.view.text.run import exit_code_of, failed_outputs, next_steps, run_json

if TYPE_CHECKING:
    from handrail.project.notifications import Notifier

_UP = "\x1b[{}A"
_ERASE_REST = "\x1b[K"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"


class LiveProgress:
    """A view that is redrawn in place. `past` are the events from before this drive."""

    def __init__(
        self, stream: TextIO, plan: FlowPlan, clock: Callable[[], float], past: Sequence[EventRecord] = ()
    ) -> None:
        self.stream = stream
        self.clock = clock
        self.progress = Progress(plan, past)
        self.is_closed = False
        self.paint: Callable[[str], str] = in_colour if shows_colour(stream) else str
        self._lines: list[str] = []

    def observer(self, event: Event) -> None:
        """Take an event; the next tick draws it. After an answer, a closed view is drawn again below."""
        self.progress.take(event, self.clock())
        if isinstance(event, Answered):
            self.is_closed = False

    def tick(self, *, asks: bool = True) -> None:
        """Draw the state, if it looks different now."""
        width, height = size_of(self.stream)
        if self.is_closed:
            return
        lines = self.progress.lines(self.clock(), width - 1, max(1, height - 1), asks=asks)
        if lines == self._lines:
            return
        line_count = min(len(self._lines), max(0, height - 1))
        extra = max(0, line_count - len(lines))
        text = "\r" + (_UP.format(line_count) if line_count else "")
        text += "".join(f"{self.paint(line)}{_ERASE_REST}\n" for line in [*lines, *[""] * extra])
        text += _UP.format(extra) if extra else ""
        write_quietly(self.stream, f"{_NO_WRAP}{text}{_WRAP}")
        self._lines = lines

    def close(self) -> None:
        """Draw the state a last time and leave it on the screen. Only an answer makes it draw again.

        Open questions are left out: they are asked below, or the command says how to answer them.
        """
        self.tick(asks=False)
        self._lines = []
        self.is_closed = True


class PlainProgress:
    """One line for each event that people need to see."""

    def __init__(
        self, stream: TextIO, plan: FlowPlan, clock: Callable[[], float], past: Sequence[EventRecord] = ()
    ) -> None:
        self.stream = stream
        self.clock = clock
        self.story = Story(plan, str, past)

    def observer(self, event: Event) -> None:
        for line in self.story.news(event, self.clock()):
            write_quietly(self.stream, f"{line}\n")


TICK = 0.1


@dataclass(frozen=True)
class DriveOptions:
    """How a run is driven: whether events are printed as JSON, the file with answers, and the chosen agents.

    `stored`: the id of the question whose answer the command stored; it is printed with the run.
    `is_unattended`: nobody is asked, also on a terminal.
    """

    events: bool = False
    answers: str | None = None
    choice: RunChoice | None = None
    stored: str | None = None
    is_unattended: bool = False


class Driver:
    """Drives a run and shows it: as lines of JSON, as a live view on a terminal, or as plain lines."""

    def __init__(self, app: App, shell: Shell, options: DriveOptions) -> None:
        self.app = app
        self.shell = shell
        self.options = options
        self.answers = read_answers(options.answers) if options.answers is not None else None
        self.live: LiveProgress | None = None

    def drive(self, run: LoadedRun, cause: Cause) -> LoadedRun:
        """Drive the run until it ends or waits, and tell the person of it."""
        observer = self._display(run)
        try:
            run = asyncio.run(self._drive(run, cause, observer))
        finally:
            if self.live is not None:
                self.live.close()
        for path, output in failed_outputs(run) if self.live is not None and run.state.status == "failed" else ():
            self.shell.talk("\n".join([f"the last lines that `{path}` printed:", *output_lines(output)]))
        if self.notifier is not None:
            asyncio.run(self._notify(self.notifier, run))
        return run

    def _display(self, run: LoadedRun) -> Observer:
        if self.options.events:
            return self._print_event
        if self.shell.quiet:
            return lambda _: None
        if self.shell.as_json or not can_draw(sys.stderr, self.app.env):
            return PlainProgress(sys.stderr, run.plan, self.app.clock, run.records).observer
        self.live = LiveProgress(sys.stderr, run.plan, self.app.clock, run.records)
        return self.live.observer

    def _print_event(self, event: Event) -> None:
        with contextlib.suppress(OSError):  # a full disk behind stdout must not end the run
            echo(json.dumps({"time": self.app.clock(), **masked_json(event)}, ensure_ascii=False))

    async def _drive(self, run: LoadedRun, cause: Cause, observer: Observer) -> LoadedRun:
        is_attended = sys.stdin.isatty() and self.app.caller.sign is None
        with cancelling(is_attended=is_attended) as ended_by:
            choice = replace(self.options.choice or RunChoice(), ended_by=ended_by)
            ticker = asyncio.ensure_future(self._tick())
            try:
                async with self._with_alerts(run, observer) as alerting_observer:
                    return await self.app.runs.drive(run, cause, alerting_observer, self._answer, choice)
            finally:
                ticker.cancel()

    async def _tick(self) -> None:
        while self.live is not None:
            self.live.tick()
            await asyncio.sleep(TICK)

    async def _answer(self, id_: str, path: str, question: dict[str, Any]) -> dict[str, Any] | None:
        """The answer from the file. A question without one stays open."""
        return (
            answers_for(self.answers, form_params.form_from(question), path, id_) if self.answers is not None else None
        )

    def unused_answers(self, run: LoadedRun) -> list[str]:
        """Says which answers of the file were not used, if they will not be or seem to be misspelt."""
        answers, state = self.answers, run.state
        if answers is None or state.status not in ("completed", "waiting"):
            return []
        questions = [event for _, event in run.records if isinstance(event, run_events.Asked)]
        names = {name for event in questions for name in (event.id, event.path, event.question.get("formId"))}
        fields = {field.get("id") for event in questions for field in event.question.get("fields", ())}
        warnings = [
            f"{answers.file}:{line}:{column}: no question has a field `{name}`, so its answer was not used"
            for name, (line, column) in answers.names(None).items()
            if name not in fields and state.status == "completed"
        ]
        for name, node in answers.sets.items():
            hint = did_you_mean(name, sorted(filter(None, names))) if name else None
            if name is None or name in names or (state.status == "waiting" and hint is None):
                continue
            message = f"no question `{name}` was asked, so its answers were not used"
            warnings.append(f"{answers.file}:{node.line}:{node.column}: {message}" + (f"; {hint}" if hint else ""))
        return warnings

    @cached_property
    def notifier(self) -> Notifier | None:
        """Tells the person about the run, as the settings say; None if they say nothing."""
        if not self.app.settings.notify:
            return None
        from handrail.project.notifications import Notifier

        return Notifier(self.app.runs, partial(write_quietly, sys.stderr, "\a") if sys.stderr.isatty() else None)

    async def _notify(self, notifier: Notifier, run: LoadedRun) -> None:
        """Tell the person that the run waits, or that it has ended after a long time."""
        from handrail.project.notifications import ended_run_alert, open_question_alerts

        if run.state.status == "waiting":
            await asyncio.gather(*map(notifier.tell, open_question_alerts(run)))
        elif self.app.caller.sign is None and (end := ended_run_alert(run)) is not None:
            await notifier.tell(end)  # whoever called a run from an agent or a step hears of it

    @contextlib.asynccontextmanager
    async def _with_alerts(self, run: LoadedRun, observer: Observer) -> AsyncIterator[Observer]:
        """The observer of a run. Meanwhile, the person is told of questions that stay open."""
        if self.notifier is None:
            yield observer
            return
        from handrail.project.notifications import OpenQuestions

        questions, is_over = OpenQuestions(self.notifier, run), asyncio.Event()

        def observe_both(event: Event) -> None:
            questions.observe(event)
            observer(event)

        follower = asyncio.ensure_future(questions.follow(is_over))
        try:
            yield observe_both
        finally:
            is_over.set()
            await follower


def drive(app: App, shell: Shell, run: LoadedRun, cause: Cause, options: DriveOptions) -> None:
    """Drive a run to its end and exit with its exit code. On a terminal, its questions are asked."""
    app.check_settings()
    if cause == "run" and not run.records:
        app.trust.take_mark(run.id)
    need_trust(app, shell, lambda: programs_of_run(run))
    may_ask = can_ask() and not (options.is_unattended or shell.as_json or options.events) and app.caller.sign is None
    driver = Driver(app, shell, replace(options, choice=replace(options.choice or RunChoice(), is_attended=may_ask)))
    try:
        run = driver.drive(run, cause)
        while run.state.status == "waiting" and may_ask and run.state.questions:
            for question in list(run.state.questions.values()):
                asyncio.run(app.runs.answer(run, question.id, ask(form_params.form_from(question.question))))
            run = driver.drive(run, "answer")
    except (KeyboardInterrupt, asyncio.CancelledError, click.Abort):
        shell.talk(f"cancelled; `handrail resume {run.id}` resumes it")
        raise SystemExit(130) from None
    for warning in driver.unused_answers(run):
        shell.talk(f"warning: {warning}")
    print_run(shell, run, events=options.events, stored=options.stored)
    if code := exit_code_of(run.state):
        raise SystemExit(code)


def print_run(shell: Shell, run: LoadedRun, *, events: bool = False, stored: str | None = None) -> None:
    """Print how a run stands. `stored` is the question whose answer was just stored."""
    hints = next_steps(run, [shown_path(file, shell.cwd) for file in changed_files(run.about)])
    if shell.as_json and not events:
        return shell.data({**run_json(run), "hints": hints, **({"stored": stored} if stored else {})})
    if not events:
        shell.say(run_line(run.summary))
        if denied := denied_words(run.state.denied_tools()):
            shell.talk(denied)
    is_open = run.state.status == "waiting" and not run.history.is_answered
    questions = list(run.state.questions.values()) if is_open else []
    for question in questions:
        option = f" --question {question.id}" if len(questions) > 1 else ""
        shell.talk(f"`{question.path}` waits for an answer to {question.id}: `handrail answer {run.id}{option}`")
    for hint in hints:
        shell.talk(hint)
    return None
