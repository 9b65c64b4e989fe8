"""A program ends when it exits, also if a child that it left behind keeps its output open."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from handrail.base import processes
from handrail.base.processes import RunningProgram, Task, run_task
from support import is_running

LEAVES = "trap '' TERM; sleep 600 & sleep 0.5; echo hi"
LEAVES_ERRORS = "sleep 600 >/dev/null & echo hi; exec >&-; sleep 0.5"
DETACHES = "setsid sleep 600 >/dev/null 2>&1 & echo $!"
LONG = 60.0


def task(folder: Path, line: str) -> Task:
    return Task(argv=["sh", "-c", line], cwd=str(folder), env=dict(os.environ), timeout=LONG)


def test_a_command_is_not_late_because_of_what_it_left_behind(tmp_path: Path) -> None:
    ended = asyncio.run(run_task(task(tmp_path, LEAVES)))
    assert (ended.exit_code, ended.timed_out, ended.output) == (0, False, "hi\n")


def test_a_child_that_left_the_group_of_a_short_command_is_killed(tmp_path: Path) -> None:
    ended = asyncio.run(run_task(task(tmp_path, DETACHES)))
    assert ended.exit_code == 0
    end = time.monotonic() + LONG
    while is_running(int(ended.output)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(int(ended.output))


@pytest.mark.parametrize(
    ("newest", "later"),
    [("80", ["51", "80"]), ("50", []), ("20", ["7", "20", "51", "80"]), ("?", ["7", "20", "50", "51", "80"])],
    ids=["in order", "the newest", "from the bottom again", "unknown"],
)
def test_ids_that_were_given_after_another_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, newest: str, later: list[str]
) -> None:
    monkeypatch.setattr(processes, "TABLE", str(tmp_path))
    (tmp_path / "loadavg").write_text(f"0.10 0.20 0.30 1/97 {newest}\n")
    assert processes.later_ids(["7", "20", "50", "51", "80"], 50) == later


@pytest.mark.whole
def test_the_lines_of_a_program_end_with_the_program(tmp_path: Path) -> None:
    async def hear() -> tuple[list[bytes], int | None]:
        async with RunningProgram(task(tmp_path, LEAVES_ERRORS)) as program, asyncio.timeout(LONG):
            return [line async for lines in program.lines() for line in lines], program.exit_code

    assert asyncio.run(hear()) == ([b"hi"], 0)
