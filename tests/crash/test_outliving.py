"""A program that outlives its killed driver: the next driver notices it and waits; no second program is started."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from crash.cases import Case
from crash.conftest import Stage
from crash.flows import command, phase
from support import is_running

SECONDS = 30
BEGIN, END = "a/x a/x", "a/x a/x ended"


class Lingering:
    """A run whose first step runs until it reads a line from a pipe. Both pipes are open at both ends here."""

    def __init__(self, stage: Stage, rerun: str, verb: str = "linger") -> None:
        staying = command("x", verb, more=f"rerun: {rerun}")
        self.case: Case = stage.small(phase("a", staying) + phase("b", command("y", "say", "y")))
        self.pipes = {name: self._pipe(name) for name in ("BEGUN", "GATE")}
        self.drivers: list[subprocess.Popen[str]] = []
        self.watchdogs: list[threading.Timer] = []

    def _pipe(self, name: str) -> int:
        path = str(self.case.folder / name)
        os.mkfifo(path)
        self.case.env[name] = path
        return os.open(path, os.O_RDWR)

    def drive(self) -> subprocess.Popen[str]:
        """A driver that is killed if the test fails."""
        driver = self.case.start("resume", "--events")
        self.drivers.append(driver)
        self.watchdogs.append(threading.Timer(SECONDS, driver.kill))
        self.watchdogs[-1].start()
        return driver

    def begun(self) -> list[int]:
        """The processes of a program that has started."""
        ready, _, _ = select.select([self.pipes["BEGUN"]], [], [], SECONDS)
        assert ready
        return [int(word) for word in os.read(self.pipes["BEGUN"], 100).split()]

    def outlive(self) -> list[int]:
        """Kill only the driver, while its program is running and the journal has its start."""
        driver, pids = self.drive(), self.begun()
        while not self.case.paths_of("NodeStarted"):
            assert driver.poll() is None
        driver.kill()
        driver.communicate(timeout=SECONDS)
        assert all(map(is_running, pids))
        return pids

    def release(self) -> None:
        os.write(self.pipes["GATE"], b"\n")

    def close(self) -> None:
        for watchdog in self.watchdogs:
            watchdog.cancel()
        for driver in self.drivers:
            driver.kill()
            driver.communicate(timeout=SECONDS)
        for handle in self.pipes.values():
            os.close(handle)


def noticed(driver: subprocess.Popen[str]) -> str:
    """What a driver prints when it notices the program. The driver keeps running."""
    assert driver.stdout is not None
    for line in driver.stdout:
        event = json.loads(line)
        if event["type"] == "Noticed":
            return str(event["text"])
    raise AssertionError("it noticed nothing")


def ended(driver: subprocess.Popen[str]) -> int:
    driver.communicate(timeout=SECONDS)
    return driver.returncode


@pytest.fixture
def safe(stage: Stage) -> Iterator[Lingering]:
    lingering = Lingering(stage, "safe")
    yield lingering
    lingering.close()


@pytest.fixture
def asking(stage: Stage) -> Iterator[Lingering]:
    lingering = Lingering(stage, "ask")
    yield lingering
    lingering.close()


@pytest.fixture
def orphan(stage: Stage) -> Iterator[Lingering]:
    lingering = Lingering(stage, "safe", "orphan")
    yield lingering
    lingering.close()


def gone(pids: list[int]) -> bool:
    """True if these processes have ended. A killed process takes a moment to end."""
    for pid in pids:
        for _ in range(200):
            if not is_running(pid):
                break
        else:
            return False
    return True


def test_a_second_driver_says_which_process_it_waits_for(safe: Lingering) -> None:
    pids = safe.outlive()
    text = noticed(safe.drive())
    assert "still running" in text
    assert "; Handrail waits until it ends, `handrail stop " in text
    assert str(pids[0]) in text
    assert f"`handrail stop {safe.case.id}`" in text


def test_a_second_program_starts_only_after_the_first_has_ended(safe: Lingering) -> None:
    first = safe.outlive()
    driver = safe.drive()
    noticed(driver)
    assert safe.case.lines() == [BEGIN]
    safe.release()
    second = safe.begun()
    assert second[0] != first[0]
    assert safe.case.lines() == [BEGIN, END, BEGIN]
    safe.release()
    assert ended(driver) == 0
    assert safe.case.lines() == [BEGIN, END, BEGIN, END, "b/y b/y"]


def test_a_program_that_started_just_before_the_kill_is_noticed(orphan: Lingering) -> None:
    """The journal may not have its start yet, but the program holds its lock."""
    assert ended(orphan.drive()) == -signal.SIGKILL
    orphan.begun()
    second = orphan.drive()
    noticed(second)
    assert orphan.case.lines() == [BEGIN]
    orphan.release()
    assert ended(second) == -signal.SIGKILL
    assert orphan.case.lines() == [BEGIN, END, BEGIN]
    pids = orphan.begun()
    orphan.release()
    assert gone(pids)


def test_after_a_program_with_rerun_ask_has_ended_a_person_is_asked(asking: Lingering) -> None:
    asking.outlive()
    driver = asking.drive()
    noticed(driver)
    assert asking.case.run.state.questions == {}
    asking.release()
    assert ended(driver) == 4
    assert asking.case.lines() == [BEGIN, END]
    assert list(asking.case.run.state.questions) == ["a/x"]


def test_nobody_waits_for_a_program_that_has_ended(asking: Lingering) -> None:
    pids = asking.outlive()
    asking.release()
    assert gone(pids)
    assert ended(asking.drive()) == 4
    assert asking.case.paths_of("Noticed") == []


@pytest.mark.whole
def test_a_driver_that_waits_for_a_program_is_the_only_driver(safe: Lingering) -> None:
    safe.outlive()
    driver = safe.drive()
    noticed(driver)
    said = safe.case.process("resume")
    assert said.code == 1
    assert f"driven by process {driver.pid}" in said.err
    assert safe.case.lines() == [BEGIN]


@pytest.mark.whole
def test_a_third_driver_waits_for_the_program_if_the_second_was_killed(safe: Lingering) -> None:
    safe.outlive()
    second = safe.drive()
    noticed(second)
    second.kill()
    second.communicate(timeout=SECONDS)
    third = safe.drive()
    safe.release()
    safe.begun()
    assert safe.case.lines() == [BEGIN, END, BEGIN]
    safe.release()
    assert ended(third) == 0


def test_stop_kills_a_program_that_outlived_its_driver_and_its_children(safe: Lingering) -> None:
    pids = safe.outlive()
    said = safe.case.process("stop", "--json")
    assert said.data["status"] == "cancelled"
    assert gone(pids)
    assert safe.case.lines() == [BEGIN]


@pytest.mark.whole
def test_a_stopped_run_can_be_resumed(safe: Lingering) -> None:
    safe.outlive()
    safe.case.process("stop")
    driver = safe.drive()
    safe.begun()
    safe.release()
    assert ended(driver) == 0
    assert safe.case.lines() == [BEGIN, BEGIN, END, "b/y b/y"]


@pytest.mark.whole
def test_stop_ends_the_waiting_driver_and_kills_the_program(safe: Lingering) -> None:
    pids = safe.outlive()
    driver = safe.drive()
    noticed(driver)
    assert safe.case.process("stop", "--json").data["status"] == "cancelled"
    assert ended(driver) == 1
    assert gone(pids)
    assert safe.case.lines() == [BEGIN]
