"""Six real agents, killed while they work: no process stays, and finished steps are not repeated."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn
from real.hosts import HOSTS, Seat
from real.measured import NAMES, TWO, Driver
from real.waiting import LONG, until

SETTINGS = "passEnv: [CODEX_FAKE_KEY]\n"
every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def driver(name: str, tmp_path: Path) -> Iterator[Driver]:
    host = HOSTS[name.removeprefix("acp:")]
    with host.protocol() as model:
        driver = Driver(Seat(host, tmp_path, model), name)
        driver.write(".handrail/flows/two.yaml", TWO)
        driver.write(".handrail/settings.yaml", SETTINGS)
        yield driver


@pytest.mark.spread(2)
@every
@pytest.mark.parametrize("victim", ["agent", "handrail"])
def test_after_a_kill_the_first_step_is_not_repeated(name: str, driver: Driver, victim: str) -> None:
    process, word = driver.at_work()
    try:
        if name == "copilot":
            until(lambda: len(conversations(driver)) == 2, "the conversation on disk")
        run = driver.run("runs")["runs"][0]["run"]
        if victim == "agent":
            for pid in below(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert process.wait(LONG) == 1
            assert driver.run("runs")["runs"][0]["reason"] == "crash at a/second"
        else:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(LONG)
            driver.run("stop", run)
    finally:
        process.kill()
    assert driver.nothing_left(word)
    driver.seat.model.script(Turn("Second done."))
    done = driver.run("resume", run)
    first, second = done["phases"][0]["steps"]
    assert (first["attempts"], first["value"]["output"]) == (1, "First done.")
    assert second["value"]["output"] == "Second done."
    asked = driver.seat.model.received()[-1].text
    assert "You were interrupted" in asked
    assert "The first thing." not in asked, name
    assert driver.nothing_left(word)


def conversations(driver: Driver) -> list[Path]:
    """What Copilot CLI has saved: it can resume nothing else."""
    return list(driver.seat.home.glob(".copilot/session-state/*/events.jsonl"))


@pytest.mark.parametrize("name", ["copilot"])
def test_a_conversation_that_was_killed_before_it_was_saved_is_begun_again(driver: Driver) -> None:
    process, word = driver.at_work()
    until(lambda: len(conversations(driver)) == 2, "the conversation on disk")
    run = driver.run("runs")["runs"][0]["run"]
    for pid in below(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert process.wait(LONG) == 1
    assert driver.nothing_left(word)
    max(conversations(driver), key=lambda path: path.stat().st_mtime).unlink()
    driver.seat.model.script(Turn("Second done."))
    assert driver.run("resume", run)["phases"][0]["steps"][1]["value"]["output"] == "Second done."
    asked = driver.seat.model.received()[-1].text
    assert "The second thing." in asked
    assert "The first thing." not in asked


def below(pid: int) -> list[int]:
    """All descendants of a process, the youngest first, without processes that detached themselves."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split() if name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[1]) == pid:
            found = [*below(int(name)), int(name), *found]
    return found
