"""A reader that closes its end of a pipe does not end the command that writes into it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from support import Project

pytestmark = pytest.mark.usefixtures("_buffered")
HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
GATED = """\
phases:
- id: a
  steps:
  - {id: first, node: set, params: {n: 1}}
  - {id: wait, node: command, params: {argv: [/bin/sh, -c, 'read line < gate; echo $line > log']}}
  - {id: last, node: command, params: {argv: [/bin/sh, -c, 'echo last >> log']}}
"""


@pytest.fixture(params=["buffered", "unbuffered"])
def _buffered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python keeps what it could not write, and writes it again when it ends, unless it does not buffer."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    if request.param == "unbuffered":
        monkeypatch.setenv("PYTHONUNBUFFERED", "1")


def gated(project: Project) -> None:
    """A flow that goes on when a line is written to the pipe `gate`."""
    project.write(".handrail/flows/gated.yaml", GATED)
    os.mkfifo(project.folder / "gate")


def open_gate(project: Project, driver: subprocess.Popen[bytes]) -> None:
    """Let the run go on as soon as it waits. If it has ended, there is nobody to read."""
    while driver.poll() is None:
        try:
            handle = os.open(project.folder / "gate", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.01)
            continue
        os.write(handle, b"go\n")
        os.close(handle)
        return


def test_a_run_goes_on_when_the_reader_of_its_events_leaves(project: Project) -> None:
    gated(project)
    with subprocess.Popen([HANDRAIL, "run", "gated", "--events"], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        driver.stdout.readline()
        driver.stdout.close()
        open_gate(project, driver)
    assert driver.returncode == 0
    assert (project.folder / "log").read_text().split() == ["go", "last"]
    assert project.json("runs")["runs"][0]["status"] == "completed"


@pytest.mark.whole
def test_a_run_goes_on_when_both_streams_are_closed_by_their_readers(project: Project) -> None:
    gated(project)
    argv = [HANDRAIL, "run", "gated", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        assert driver.stderr is not None
        driver.stderr.readline()
        driver.stdout.close()
        driver.stderr.close()
        open_gate(project, driver)
    assert driver.returncode == 0
    assert project.json("runs")["runs"][0]["status"] == "completed"


@pytest.mark.whole
def test_a_run_whose_streams_are_closed_from_the_start_ends_as_usual(project: Project) -> None:
    project.write(".handrail/flows/one.yaml", "phases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {n: 1}}\n")
    ended = subprocess.run(["/bin/sh", "-c", f"'{HANDRAIL}' run one --events >&- 2>&-"], check=False)
    assert ended.returncode == 0
    assert project.json("runs")["runs"][0]["status"] == "completed"


@pytest.mark.whole
@pytest.mark.parametrize("form", [(), ("--events",)], ids=["a story", "events"])
def test_following_a_log_ends_when_the_reader_leaves(project: Project, form: tuple[str, ...]) -> None:
    gated(project)
    driver = subprocess.Popen([HANDRAIL, "run", "gated", "--events"], stdout=subprocess.PIPE)
    assert driver.stdout is not None
    while b"a/wait" not in driver.stdout.readline():
        pass
    for lines in (1, 4):  # leaves while it prints, and while it waits
        log = subprocess.Popen(
            [HANDRAIL, "log", "last", "--follow", *form], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert log.stdout is not None
        assert log.stderr is not None
        for _ in range(lines):
            log.stdout.readline()
        log.stdout.close()
        assert log.stderr.read() == b"", "it ends although the run still goes on"
        assert log.wait() == 0
        log.stderr.close()
    open_gate(project, driver)
    driver.communicate()
    assert driver.returncode == 0


@pytest.mark.whole
def test_a_full_disk_behind_stdout_is_reported_and_the_run_ends_first(project: Project) -> None:
    project.write(".handrail/flows/one.yaml", "phases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {n: 1}}\n")
    with open("/dev/full", "w") as full:
        ended = subprocess.run([HANDRAIL, "run", "one", "--json"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 1
    assert b"No space left" in ended.stderr
    assert project.json("runs")["runs"][0]["status"] == "completed"


STREAMS = {
    "2>/dev/full": 0,
    "2>&-": 0,
    ">&-": 0,
    "<&- >&- 2>&-": 0,
    "--events >/dev/full": 0,
    ">/dev/full": 1,
    "--json >/dev/full": 1,
    ">/dev/full 2>/dev/full": 1,
}
"""What a shell does with the streams, and the exit code. That the result cannot be printed is an error at the end."""


@pytest.mark.whole(4)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
@pytest.mark.parametrize("streams", STREAMS)
def test_a_full_or_closed_stream_does_not_end_a_run(project: Project, streams: str) -> None:
    steps = "".join(
        f"  - {{id: {id_}, node: command, params: {{argv: [/bin/sh, -c, {id_}]}}}}\n" for id_ in ("ls", "id")
    )
    project.write(".handrail/flows/two.yaml", f"phases:\n- id: a\n  steps:\n{steps}")
    ended = in_shell(f"run two {streams}")
    assert ended.returncode == STREAMS[streams], ended
    assert project.json("runs")["runs"][0]["status"] == "completed"
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
@pytest.mark.usefixtures("project")
def test_an_error_that_cannot_be_printed_as_json_is_said_on_stderr() -> None:
    ended = in_shell("run nothing --json >/dev/full")
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert "Traceback" not in ended.stderr


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run Handrail as a shell does that changes its streams."""
    argv = ["/bin/sh", "-c", f"{HANDRAIL} {line}"]
    return subprocess.run(argv, capture_output=True, text=True, check=False)
