"""What every engine has to do, tested through `Runs`. A new engine is added to the `engine` fixture."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import NotFound, RefusedError
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.restart import restart
from handrail.driven.runs.state import RunState
from handrail.extensions.contracts import EventRecord
from handrail.view.text.run import exit_code_of
from support import Project, trust_below

LOG = "{id: log, node: command, params: {argv: [/bin/sh, -c, 'echo x >> log']}}"
READY = "{id: ready, node: command, params: {argv: [test, -e, ready]}}"
FORM = "{id: ask, node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}}"
SLOW = "{id: slow, node: wait, params: {seconds: 60}}"


class Place:
    """Runs of one flow, on one engine."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder = folder
        self.flow = folder / ".handrail" / "flows" / "demo.yaml"
        self.flow.parent.mkdir(parents=True)
        (folder / ".handrail" / "settings.yaml").write_text(f"engine: {engine}\n")
        env = {"HOME": str(folder / "user"), "HANDRAIL_HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
        trust_below(folder, env)
        self.app = App(str(folder), {**env, "API_TOKEN": "tok-1234567890abcdef"})
        self.runs = self.app.runs

    def begin(self, *steps: str, more: str = "", **request: Any) -> LoadedRun:
        """A run of a flow with these steps, each in its own phase: a, b, c and so on."""
        phases = "".join(f"- id: {chr(97 + n)}\n  steps:\n  - {step}\n" for n, step in enumerate(steps))
        self.flow.write_text(f"{more}phases:\n{phases}")
        flows = App(str(self.folder), self.app.env).flows
        assert not flows.problems, flows.problems
        asked = RunRequest(params={}, scope="demo", **request)
        return self.runs.begin(flows, flows.find("demo"), asked, f"r-{len(self.runs.engine.ids())}")

    def drive(self, run: LoadedRun, mode: run_events.Mode = "resume") -> LoadedRun:
        return asyncio.run(self.runs.drive(run, mode))

    @property
    def logged(self) -> int:
        log = self.folder / "log"
        return len(log.read_text().split()) if log.exists() else 0


@pytest.fixture
def place(tmp_path: Path, engine: str) -> Place:
    return Place(tmp_path, engine)


def kinds(records: list[EventRecord]) -> list[str]:
    return [type(event).__name__ for _, event in records]


def test_a_flow_runs_to_its_end(place: Place) -> None:
    run = place.drive(place.begin("{id: x, node: set, params: {n: 2}}"), "run")
    assert (run.state.status, run.state.outcome, run.state.code) == ("completed", "success", None)
    assert run.value(run.state.steps["a/x"]) == {"n": 2}
    assert kinds(run.records)[0] == "RunStarted"
    assert kinds(run.records)[-1] == "RunEnded"


def _facts(state: RunState) -> dict[str, Any]:
    """All that a state says, in a form that can be compared."""
    steps = {path: vars(step) for path, step in state.steps.items()}
    clock = (state.clock.seconds, state.clock.last, state.clock.is_going, state.clock.has_gaps)
    return {**vars(state), "steps": steps, "clock": clock}


def test_drive_returns_what_load_finds(place: Place) -> None:
    show = "{id: show, node: command, params: {argv: [/bin/sh, -c, 'echo hello']}}"
    run = place.drive(place.begin(show, "{id: x, node: set, params: {t: [1, a, null]}}", READY))
    again = place.runs.load(run.id)
    assert again.records == run.records
    assert (again.about, again.history.offset) == (run.about, run.history.offset)
    assert _facts(again.state) == _facts(run.state)


def test_a_step_that_fails_ends_the_run_with_its_code(place: Place) -> None:
    run = place.drive(place.begin("{id: x, node: read-file, params: {path: none.txt}}"))
    assert (run.state.status, run.state.code) == ("failed", "file-unreadable")
    assert run.state.steps["a/x"].status == "failed"
    assert exit_code_of(run.state) == 1


def test_a_timeout_has_its_own_code_and_exit_code(place: Place) -> None:
    run = place.drive(place.begin(SLOW.replace("node", "timeout: 0.05, node")))
    assert (run.state.status, run.state.code) == ("failed", "timeout")
    assert exit_code_of(run.state) == 3


def test_finished_steps_do_not_run_again(place: Place) -> None:
    run = place.drive(place.begin(LOG, READY))
    assert (run.state.status, place.logged) == ("failed", 1)
    (place.folder / "ready").touch()
    run = place.drive(place.runs.load(run.id))
    assert (run.state.status, place.logged) == ("completed", 1)


def test_a_form_makes_the_run_wait_until_it_is_answered(place: Place) -> None:
    run = place.drive(place.begin(LOG, FORM))
    assert (run.state.status, list(run.state.questions)) == ("waiting", ["b/ask"])
    assert asyncio.run(place.runs.answer(run, "q1", {"who": "Ada"}))
    run = place.drive(run)
    assert (run.state.status, place.logged) == ("completed", 1)
    assert run.value(run.state.steps["b/ask"])["values"] == {"who": "Ada"}


def test_an_asker_answers_without_parking_the_run(place: Place) -> None:
    async def asker(id_: str, path: str, question: dict[str, Any]) -> dict[str, Any]:
        return {"who": f"{id_} {path} {question['title']}"}

    run = asyncio.run(place.runs.drive(place.begin(FORM), asker=asker))
    assert run.value(run.state.steps["a/ask"])["values"] == {"who": "q1 a/ask Who"}


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.01)


async def begun(place: Place, run: LoadedRun, choice: run_events.RunChoice | None = None) -> asyncio.Task[LoadedRun]:
    """A driver of a run whose slow step is running."""
    driver = asyncio.ensure_future(place.runs.drive(run, choice=choice))
    await until(lambda: "NodeStarted" in kinds(place.runs.with_new_events(run).records))
    return driver


def test_a_driven_run_can_be_stopped(place: Place) -> None:
    async def story() -> tuple[LoadedRun, LoadedRun]:
        run = place.begin(SLOW, LOG)
        driver = await begun(place, run)
        stopped = await place.runs.stop(place.runs.load(run.id))
        return stopped, await driver

    stopped, driven = asyncio.run(story())
    assert (stopped.state.status, stopped.state.code, stopped.driver) == ("cancelled", "stopped", None)
    assert driven.records == stopped.records
    with pytest.raises(RefusedError, match="is already cancelled"):
        asyncio.run(place.runs.stop(stopped))


def test_a_run_without_a_driver_can_be_stopped(place: Place) -> None:
    run = asyncio.run(place.runs.stop(place.begin(LOG)))
    assert kinds(run.records) == ["RunStarted", "RunEnded"]
    assert (place.drive(run).state.status, place.logged) == ("completed", 1)


def test_an_interrupted_driver_records_that_and_the_run_can_be_resumed(place: Place) -> None:
    async def story(run: LoadedRun) -> None:
        driver = await begun(place, run, run_events.RunChoice(ended_by=lambda: "signal:SIGTERM"))
        driver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driver

    run = place.begin(SLOW.replace("60", "0.3"), LOG)
    asyncio.run(story(run))
    state = place.runs.load(run.id).state
    assert (state.status, state.code, place.logged) == ("cancelled", "interrupted", 0)
    assert state.reason == "cancelled by a signal (SIGTERM)"
    failed = [one for _, one in place.runs.load(run.id).records if isinstance(one, run_events.StepFailed)]
    assert [(one.code, one.message) for one in failed] == [("cancelled", "cancelled")]
    assert place.drive(run).state.status == "completed"


def test_a_run_has_one_driver(place: Place) -> None:
    async def story() -> None:
        run = place.begin(SLOW)
        driver = await begun(place, run)
        assert place.runs.with_new_events(run).driver == os.getpid()
        with pytest.raises(RefusedError, match="is driven by"):
            await place.runs.drive(run)
        await place.runs.stop(run)
        await driver

    asyncio.run(story())


def test_events_are_followed_from_an_offset(place: Place) -> None:
    run = place.drive(place.begin(LOG, FORM, LOG))
    first, offset = place.runs.events(run.id)
    assert first == run.records
    assert place.runs.events(run.id, offset) == ([], offset)
    asyncio.run(place.runs.answer(run, "q1", {"who": "Ada"}))
    ended = place.drive(run)
    more, end = place.runs.events(run.id, offset)
    assert [*first, *more] == ended.records
    assert kinds(more)[0] == "RunResumed"
    assert place.runs.events(run.id, end) == ([], end)


def test_events_are_followed_while_the_run_is_driven(place: Place) -> None:
    async def story() -> tuple[list[EventRecord], LoadedRun]:
        run = place.begin(*[LOG] * 5)
        driver = asyncio.ensure_future(place.runs.drive(run))
        seen: list[EventRecord] = []
        offset = 0
        while "RunEnded" not in kinds(seen):
            await asyncio.sleep(0.01)
            records, offset = place.runs.events(run.id, offset)
            seen += records
        return seen, await driver

    seen, run = asyncio.run(story())
    assert seen == run.records


def test_a_follower_sees_all_events_of_a_new_attempt(place: Place) -> None:
    run = place.drive(place.begin(LOG, READY))
    _, offset = place.runs.events(run.id)
    flows = place.app.flows
    made = asyncio.run(restart(place.runs, flows, flows.find, run, "b"))
    seeded, offset = place.runs.events(run.id, offset)
    assert seeded == made.run.records
    run = place.drive(made.run, "restart")
    more, _ = place.runs.events(run.id, offset)
    assert [*seeded, *more] == run.records


def test_a_run_is_found_by_its_id_or_the_beginning_of_it(place: Place) -> None:
    run = place.begin(LOG)
    assert place.runs.engine.ids() == [run.id]
    assert (place.runs.named("last"), place.runs.named("r")) == (run.id, run.id)
    for look in (place.runs.load, place.runs.events):
        with pytest.raises(NotFound, match="there is no run `r-x`"):
            look("r-x")


def test_a_run_that_ended_can_be_restarted_and_continued_but_not_resumed(place: Place) -> None:
    run = place.drive(place.begin(LOG, LOG, more="continue: again\n"))
    with pytest.raises(RefusedError, match="is already completed"):
        place.drive(run)
    run = place.drive(run, "continue")
    assert (run.state.status, place.logged) == ("completed", 4)
    flows = place.app.flows
    made = asyncio.run(restart(place.runs, flows, flows.find, run, "b"))
    assert (made.kept_phases, made.run.attempt) == (["a"], 2)
    run = place.drive(made.run, "restart")
    assert (run.state.status, place.logged) == ("completed", 5)
    assert place.runs.load(run.id).records == run.records


def test_an_attempt_removes_old_files_from_the_project_once(place: Place) -> None:
    make = "{id: x, node: write-file, params: {path: made.md, text: hi}, makes: [made.md]}"
    run = place.drive(place.begin(make, READY))
    flows = place.app.flows
    made = asyncio.run(restart(place.runs, flows, flows.find, run, None))
    assert made.removed == ["made.md"]
    seen: list[bool] = []
    file = place.folder / "made.md"

    def look(event: run_events.Event) -> None:
        if isinstance(event, run_events.StepStarted):
            seen.append(file.exists())

    run = asyncio.run(place.runs.drive(made.run, observer=look))
    assert asyncio.run(place.runs.drive(run, observer=look)).state.status == "failed"
    assert seen == [False, True, True]


def test_an_engine_is_chosen_in_the_settings(project: Project, engine: str) -> None:
    project.write(".handrail/settings.yaml", f"engine: {engine}\n")
    project.write(".handrail/flows/demo.yaml", f"phases:\n- id: a\n  steps:\n  - {LOG}\n  - {FORM}\n")
    run = project.json("run", "demo", code=4)["run"]
    project.write("answer.json", json.dumps({"f": {"who": "Ada"}}))
    assert project.json("answer", run, "--file", "answer.json")["status"] == "completed"
    assert [row["run"] for row in project.json("runs")["runs"]] == [run]
    assert "✓ completed" in project.run("log", "last", "--follow").out
    assert (project.home / "state" / "runs").exists() is (engine == "embedded")


def test_an_unknown_engine_is_a_user_error(project: Project) -> None:
    project.write(".handrail/settings.yaml", "engine: embeded\n")
    said = project.run("runs")
    assert said.code == 1
    assert "there is no engine `embeded`" in said.err
    assert "did you mean `embedded`?" in said.err


def test_every_attempt_of_a_run_can_be_read(place: Place) -> None:
    run = place.drive(place.begin(LOG, READY))
    flows = place.app.flows
    made = asyncio.run(restart(place.runs, flows, flows.find, run, None))
    again = place.drive(made.run, "restart")
    assert place.runs.attempts(run.id) == [1, 2]
    assert place.runs.records(run.id, 1) == run.records
    assert place.runs.records(run.id, 2) == again.records
    with pytest.raises(NotFound, match="has no attempt 3"):
        place.runs.records(run.id, 3)
