"""A question with a deadline: nobody answers it, so its default is taken, recorded and said."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from handrail.app import App
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.run_events import RunChoice
from support import Project

FORM = "{formId: ship, title: Ship?, fields: [{id: how, type: text, required: true}, {id: who, type: text}]}"
FLOW = """\
phases:
- id: a
  steps:
  - id: ask
    node: user-input
    params: FORM
    deadline: 8h
    default: {how: slowly}
  - {id: end, node: set, params: {value: "${steps.a.ask.outputs.values.how}"}}
""".replace("FORM", FORM)
APPROVE = """\
phases:
- id: a
  steps:
  - {id: ask, node: approve, params: {question: Ship it?, otherwise: skip}, deadline: 0s, default: {approved: ANSWER}}
"""


class Clock:
    """A clock that a test moves. Each look at it takes `pace` seconds."""

    def __init__(self, pace: float = 0.0) -> None:
        self.now = time.time()
        self.pace = pace

    def __call__(self) -> float:
        self.now += self.pace
        return self.now


def driven(app: App, *, is_attended: bool = False, run: LoadedRun | None = None) -> LoadedRun:
    choice = RunChoice(is_attended=is_attended)
    if run is None:
        run = app.runs.begin(app.flows, app.definitions.flow_named("f"), RunRequest(params={}), "r-1")
        return asyncio.run(app.runs.drive(run, "run", choice=choice))
    return asyncio.run(app.runs.drive(app.runs.load(run.id), "resume", choice=choice))


def app_of(project: Project, text: str, clock: Callable[[], float]) -> App:
    project.write(".handrail/flows/f.yaml", text)
    return App(str(project.folder), os.environ, clock, by="person")


def answers(run: LoadedRun) -> list[run_events.Answered]:
    return [event for _, event in run.records if isinstance(event, run_events.Answered)]


def value(run: LoadedRun, path: str = "a/end") -> Any:
    return run.value(run.state.steps[path])


def test_the_default_is_taken_at_the_deadline(project: Project) -> None:
    clock = Clock(pace=1800)
    run = driven(app_of(project, FLOW, clock))
    assert (run.state.status, value(run)) == ("completed", {"value": "slowly"})
    (answer,) = answers(run)
    assert (answer.by, answer.values) == ("deadline", {"how": "slowly", "who": ""})
    asked = next(at for at, event in run.records if isinstance(event, run_events.Asked))
    assert answer.at >= asked + 8 * 3600
    notices = [event.text for _, event in run.records if isinstance(event, run_events.Noticed)]
    assert notices == ["nobody answered q1 within 8h, so its default was taken"]


def test_the_question_says_what_is_taken_and_when(project: Project) -> None:
    run = driven(app_of(project, FLOW, Clock()), is_attended=True)
    (question,) = run.state.questions.values()
    assert question.question["description"] == "If nobody answers within 8h, this is taken: how: slowly; who: -"


def test_time_before_the_deadline_is_no_time_in_which_the_run_is_driven(project: Project) -> None:
    run = driven(app_of(project, FLOW, Clock(pace=1800)))
    kinds = [type(event).__name__ for _, event in run.records]
    assert kinds.index("RunParked") < kinds.index("RunResumed") < kinds.index("Answered")


def test_with_a_person_at_the_terminal_the_run_waits_for_the_person(project: Project) -> None:
    run = driven(app_of(project, FLOW, Clock(pace=1800)), is_attended=True)
    assert (run.state.status, answers(run)) == ("waiting", [])


def test_a_run_that_nobody_drove_at_the_deadline_takes_the_default_when_it_is_resumed(project: Project) -> None:
    clock = Clock()
    app = app_of(project, FLOW, clock)
    run = driven(app, is_attended=True)
    clock.now += 9 * 3600
    run = driven(app, is_attended=True, run=run)
    assert (run.state.status, answers(run)[0].by) == ("completed", "deadline")


def test_an_answer_before_the_deadline_counts(project: Project) -> None:
    app = app_of(project, FLOW, Clock())

    async def both() -> LoadedRun:
        run = app.runs.begin(app.flows, app.definitions.flow_named("f"), RunRequest(params={}), "r-1")
        driving = asyncio.ensure_future(app.runs.drive(run, "run"))
        while not (now := app.runs.load("r-1")).state.questions:
            await asyncio.sleep(0.01)
        assert not await app.runs.answer(now, "q1", {"how": "fast"}), "its driver takes the answer"
        return await driving

    run = asyncio.run(both())
    assert (value(run), answers(run)[0].by) == ({"value": "fast"}, "person")


def test_a_run_that_waits_for_a_deadline_can_be_stopped(project: Project) -> None:
    app = app_of(project, FLOW, Clock())

    async def both() -> LoadedRun:
        run = app.runs.begin(app.flows, app.definitions.flow_named("f"), RunRequest(params={}), "r-1")
        driving = asyncio.ensure_future(app.runs.drive(run, "run"))
        while (now := app.runs.load("r-1")).state.status != "waiting":
            await asyncio.sleep(0.01)
        await app.runs.stop(now)
        await driving
        return app.runs.load("r-1")

    assert asyncio.run(both()).state.status == "cancelled"


@pytest.mark.parametrize(("answer", "expected"), [("true", True), ("false", False)])
def test_an_approval_by_default_says_that_the_deadline_gave_it(project: Project, answer: str, expected: bool) -> None:
    run = driven(app_of(project, APPROVE.replace("ANSWER", answer), Clock()))
    assert run.state.status == "completed"
    assert [value(run, "a/ask")[name] for name in ("approved", "by")] == [expected, "deadline"]


def test_a_default_that_does_not_fit_leaves_the_question_open_and_says_so(project: Project) -> None:
    run = driven(app_of(project, APPROVE.replace("ANSWER", "maybe"), Clock()))
    assert run.state.status == "waiting"
    said = " ".join(event.text for _, event in run.records if isinstance(event, run_events.Noticed))
    assert said.startswith(
        "the `default` of the question does not fit, so it stays open after its deadline: `approved`"
    )


def test_a_person_reads_that_the_default_was_taken(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW.replace("8h", "0s"))
    said = project.run("run", "f")
    assert (said.code, "nobody answered q1 within 0s, so its default was taken" in said.err) == (0, True), said
    (answer,) = [event for event in project.json("log", "last")["events"] if event["type"] == "Answered"]
    assert answer["by"] == "deadline"


NIGHT = """\
phases:
- id: a
  steps:
  - id: ask
    node: user-input
    params: {title: Ship?, fields: [{id: how, type: text, required: true}, {id: who, type: text, default: Ada}]}
    deadline: unattended
    default: {"*": nobody is there}
  - {id: end, node: set, params: {value: "${steps.a.ask.outputs.values}"}}
"""


def begun_unattended(app: App) -> LoadedRun:
    request = RunRequest(params={}, unattended=True)
    return app.runs.begin(app.flows, app.definitions.flow_named("f"), request, "r-1")


def test_a_default_for_unattended_runs_is_taken_at_once_and_fills_every_text(project: Project) -> None:
    app = app_of(project, NIGHT, Clock())
    run = asyncio.run(app.runs.drive(begun_unattended(app), "run"))
    assert (run.state.status, value(run)) == ("completed", {"value": {"how": "nobody is there", "who": "Ada"}})
    assert answers(run)[0].by == "deadline"
    notices = [event.text for _, event in run.records if isinstance(event, run_events.Noticed)]
    assert notices == ["nobody is there to answer q1, so its default was taken"]


def test_in_every_other_run_such_a_question_has_no_deadline(project: Project) -> None:
    run = driven(app_of(project, NIGHT, Clock(pace=1800)))
    (question,) = run.state.questions.values()
    assert (run.state.status, question.question["description"]) == ("waiting", "")


def test_a_person_who_resumes_an_unattended_run_is_asked(project: Project) -> None:
    app = app_of(project, NIGHT, Clock())
    run = driven(app, is_attended=True, run=begun_unattended(app))
    assert (run.state.status, answers(run)) == ("waiting", [])
    assert driven(app, run=run).state.status == "completed"
