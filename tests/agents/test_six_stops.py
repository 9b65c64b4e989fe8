"""Six real agents, stopped and killed in the middle: nothing stays behind, and what is finished is not done again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.hosts import HOSTS, Seat
from agents.measured import Driver
from agents.models.turn import Turn, calls

FLOW = """\
phases:
- id: a
  steps:
  - {id: first, node: llm-prompt, prompt: 'The first thing.'}
  - {id: second, node: llm-prompt, prompt: 'The second thing.'}
"""
SETTINGS = "passEnv: [FAKE_KEY]\n"
every = pytest.mark.parametrize("name", sorted(HOSTS))


@pytest.fixture
def driver(name: str, tmp_path: Path) -> Iterator[Driver]:
    with HOSTS[name].protocol() as model:
        driver = Driver(Seat(HOSTS[name], tmp_path, model))
        driver.write(".handrail/flows/ask.yaml", FLOW)
        driver.write(".handrail/settings.yaml", SETTINGS)
        yield driver


def at_work(driver: Driver) -> tuple[subprocess.Popen[bytes], str]:
    """The flow in its second step, whose tool will not end by itself and ignores SIGTERM; a word of the tool's."""
    seat, pid = driver.seat, driver.seat.project / "pid"
    stubborn = seat.host.shell(f"trap '' TERM INT; echo $$ > {pid}; while true; do sleep 1; done")
    seat.model.script(Turn("First done."), calls(stubborn))
    model = ("--model", "fake/fake-1") if seat.host.name == "pi" else ()
    process = subprocess.Popen(
        driver.argv("run", "ask", "--agent", seat.host.name, *model),
        cwd=seat.project,
        env=driver.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None, driver.run("runs")
        time.sleep(0.05)
    return process, str(pid)


def is_gone(word: str) -> bool:
    """Is there no process any more that was started with this word? A sandbox may number processes its own way."""
    for _ in range(200):
        if not any(word.encode() in read(f"/proc/{name}/cmdline") for name in os.listdir("/proc") if name.isdigit()):
            return True
        time.sleep(0.05)
    return False


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def marked(driver: Driver) -> list[str]:
    """Every process that was started for a call of this driver and is still there."""
    wanted = f"HOME={driver.seat.home}".encode()
    found = []
    for name in os.listdir("/proc"):
        try:
            env = Path(f"/proc/{name}/environ").read_bytes().split(b"\0") if name.isdigit() else []
        except OSError:
            continue
        if wanted in env and any(entry.startswith(b"HANDRAIL_CALL=") for entry in env):
            found.append(Path(f"/proc/{name}/cmdline").read_text().replace("\0", " "))
    return found


@every
def test_stop_ends_the_agent_and_a_tool_that_ignores_it(name: str, driver: Driver) -> None:
    process, tool = at_work(driver)
    try:
        run = driver.run("runs")["runs"][0]["run"]
        assert driver.run("stop", run)["status"] == "cancelled"
        process.wait(60)
    finally:
        process.kill()
    assert is_gone(tool)
    assert marked(driver) == [], name


@every
@pytest.mark.parametrize("victim", ["agent", "handrail"])
def test_after_a_kill_the_first_step_is_not_done_again(name: str, driver: Driver, victim: str) -> None:
    process, tool = at_work(driver)
    try:
        run = driver.run("runs")["runs"][0]["run"]
        if victim == "agent":
            for pid in below(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert process.wait(60) == 1
            assert driver.run("runs")["runs"][0]["reason"] == "crash at a/second"
        else:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(60)
            driver.run("stop", run)
    finally:
        process.kill()
    assert is_gone(tool)
    driver.seat.model.script(Turn("Second done."))
    done = driver.run("resume", run)
    first, second = done["phases"][0]["steps"]
    assert (first["attempts"], first["value"]["output"]) == (1, "First done.")
    assert second["value"]["output"] == "Second done."
    asked = driver.seat.model.received()[-1].text
    assert "You were cut off" in asked
    assert "The first thing." not in asked, name
    assert marked(driver) == []


def below(pid: int) -> list[int]:
    """Everything that a process started, the youngest first, but not what left it."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split() if name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[1]) == pid:
            found = [*below(int(name)), int(name), *found]
    return found
