"""Attempts, waits and time limits continue when a run is interrupted and resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from driven.runs.test_engine_contract import Place, kinds
from handrail.app import App
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun
from handrail.driven.runs.state import WAIT

FAILS = "{id: x, node: command, params: {argv: [/bin/sh, -c, 'echo x >> log; test -e ready']}, retry: {%s}}"


@pytest.fixture
def place(tmp_path: Path, engine: str) -> Place:
    return Place(tmp_path, engine)


def interrupted(place: Place, run: LoadedRun, is_time: Callable[[run_events.Event], bool]) -> LoadedRun:
    """Drive a run, and interrupt it after the first event that fits."""

    async def story() -> None:
        seen = asyncio.Event()

        def look(event: run_events.Event) -> None:
            if is_time(event):
                seen.set()

        driver = asyncio.ensure_future(place.runs.drive(run, observer=look))
        async with asyncio.timeout(60):
            await seen.wait()
        driver.cancel()
        await asyncio.gather(driver, return_exceptions=True)

    asyncio.run(story())
    return place.runs.load(run.id)


def is_delay(event: run_events.Event) -> bool:
    return isinstance(event, run_events.Delayed)


def drive_later(place: Place, run: LoadedRun, seconds: float) -> LoadedRun:
    """Resume a run this many seconds later. It must not wait."""
    clock = place.app.clock
    later = App(str(place.folder), place.app.env, lambda: clock() + seconds)

    async def story() -> LoadedRun:
        async with asyncio.timeout(60):
            return await later.runs.drive(later.runs.load(run.id))

    return asyncio.run(story())


def test_a_wait_whose_end_has_passed_is_not_waited_again(place: Place) -> None:
    run = interrupted(place, place.begin(FAILS % "attempts: 2, wait: 3600"), is_delay)
    assert (run.state.status, place.logged) == ("cancelled", 1)
    (place.folder / "ready").touch()
    ended = drive_later(place, run, 4000)
    assert (ended.state.status, place.logged) == ("completed", 2)


def test_a_wait_lasts_no_longer_if_the_clock_was_set_back(place: Place) -> None:
    run = interrupted(place, place.begin(FAILS % "attempts: 2, wait: 0.1"), is_delay)
    ended = drive_later(place, run, -3600)
    assert (ended.state.status, place.logged) == ("failed", 2)


def test_a_wait_goes_on_until_its_recorded_end(place: Place) -> None:
    run = interrupted(place, place.begin(FAILS % "attempts: 2, wait: 3600"), is_delay)
    until = run.state.delays["a/x"].until
    run = interrupted(place, run, lambda event: isinstance(event, run_events.StepStarted))
    assert (run.state.delays["a/x"].until, place.logged) == (until, 1)


def is_waiting(event: run_events.Event) -> bool:
    return isinstance(event, run_events.FactFound) and event.place == WAIT


def test_the_wait_of_a_step_goes_on(place: Place) -> None:
    run = interrupted(place, place.begin("{id: x, node: wait, params: {seconds: 3600}}"), is_waiting)
    assert run.state.status == "cancelled"
    run = interrupted(place, run, lambda event: isinstance(event, run_events.NodeStarted))
    ended = drive_later(place, run, 4000)
    assert ended.state.status == "completed"
    assert kinds(ended.records).count("FactFound") == 1


def test_another_attempt_of_a_step_waits_anew(place: Place) -> None:
    wait = "{id: x, node: wait, params: {seconds: 0.01}, expect: [{file: gone}], retry: {attempts: 2, wait: 0}}"
    assert kinds(place.drive(place.begin(wait)).records).count("FactFound") == 2


def test_attempts_of_an_earlier_life_count(place: Place) -> None:
    run = interrupted(place, place.begin(FAILS % "attempts: 2, wait: 3600"), is_delay)
    ended = drive_later(place, run, 4000)
    assert (ended.state.status, place.logged) == ("failed", 2)
    assert "Noticed" not in kinds(ended.records)


def test_an_interrupted_attempt_does_not_count(place: Place) -> None:
    slow = "{id: x, node: wait, params: {seconds: 0.2}}"
    run = interrupted(place, place.begin(slow), lambda event: isinstance(event, run_events.NodeStarted))
    assert place.drive(run).state.status == "completed"


def test_attempts_of_a_nested_flow_count_over_lives(place: Place) -> None:
    inner = place.flow.with_name("inner.yaml")
    inner.write_text(f"phases:\n- id: p\n  steps:\n  - {FAILS % 'attempts: 1'}\n")
    nest = "{id: n, node: flow-run, params: {fileName: inner}, retry: {attempts: 2, wait: 3600}}"
    run = interrupted(place, place.begin(nest), is_delay)
    ended = drive_later(place, run, 4000)
    assert (ended.state.status, place.logged) == ("failed", 2)


@pytest.mark.whole(8)
@pytest.mark.parametrize("where", ["step", "phase", "flow", "nested"])
def test_a_time_limit_goes_on_after_an_interruption(place: Place, where: str) -> None:
    slow, limit = "{id: slow, node: wait, params: {seconds: 60}}", "timeout: 2.5"
    if where == "nested":
        place.flow.with_name("inner.yaml").write_text(f"phases:\n- id: p\n  steps:\n  - {slow}\n")
        slow = f"{{id: n, node: flow-run, params: {{fileName: inner}}, {limit}}}"
    if where == "step":
        slow = slow.replace("node", f"{limit}, node")
    if where == "phase":
        slow = f"{slow}\n  {limit}"
    begun = place.begin(slow, more=f"{limit}\n" if where == "flow" else "")
    run = interrupted(place, begun, lambda event: isinstance(event, run_events.TimeSpent))
    ended = place.drive(run)
    assert (ended.state.status, ended.state.code) == ("failed", "timeout")
    assert "was not done after 2.5 seconds, 1 of them before the run was resumed" in (ended.state.error or "")


def test_after_a_timeout_a_person_who_resumes_gives_the_whole_time_again(place: Place) -> None:
    slow = "{id: slow, node: wait, params: {seconds: 60}}"
    run = place.drive(place.begin(slow, more="timeout: 0.2\n"))
    assert run.state.code == "timeout"
    again = place.drive(run)
    assert again.state.error == "the run was not done after 0.2 seconds"


def test_time_in_which_nobody_drives_a_run_does_not_count(place: Place) -> None:
    slow = "{id: slow, node: wait, timeout: 50, params: {seconds: 1}}"
    run = interrupted(place, place.begin(slow), lambda event: isinstance(event, run_events.NodeStarted))
    assert drive_later(place, run, 4000).state.status == "completed"


@pytest.mark.whole
def test_continue_gives_a_run_its_whole_time_again(place: Place) -> None:
    slow = "{id: slow, node: wait, params: {seconds: 1.6}}"
    run = place.drive(place.begin(slow, more="timeout: 3\ncontinue: again\n"))
    assert "TimeSpent" in kinds(run.records)
    assert place.drive(run, "continue").state.status == "completed"


@pytest.mark.whole
@pytest.mark.parametrize("engine", ["embedded"])
def test_the_waits_for_a_limit_without_a_reset_time_go_on_growing(place: Place) -> None:
    (place.folder / "script.yaml").write_text("- {fail: rate-limit, message: too many}\n")
    env = {**place.app.env, "HANDRAIL_SCRIPT": "script.yaml"}
    place.runs = App(str(place.folder), env).runs
    run = place.begin(
        "{id: x, node: llm-prompt, prompt: {inlineTemplate: Go.}, params: {executor: scripted}, rerun: safe}"
    )
    for life in range(3):
        place.runs = App(str(place.folder), env, lambda: place.app.clock() + 4000 * life).runs  # noqa: B023
        run = interrupted(place, run, is_delay)
    waits = [event.until - moment for moment, event in run.records if isinstance(event, run_events.Delayed)]
    assert [round(wait) for wait in waits] == [30, 60, 120]
