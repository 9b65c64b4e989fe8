"""A program ends when it exits, also if a child that it left behind keeps its output open."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from handrail.base.processes import RunningProgram, Task, run_task

LEAVES = "trap '' TERM; sleep 600 & sleep 0.5; echo hi"
LEAVES_ERRORS = "sleep 600 >/dev/null & echo hi; exec >&-; sleep 0.5"
LONG = 60.0


def task(folder: Path, line: str) -> Task:
    return Task(argv=["sh", "-c", line], cwd=str(folder), env=dict(os.environ), timeout=LONG)


def test_a_command_is_not_late_because_of_what_it_left_behind(tmp_path: Path) -> None:
    ended = asyncio.run(run_task(task(tmp_path, LEAVES)))
    assert (ended.exit_code, ended.timed_out, ended.output) == (0, False, "hi\n")


@pytest.mark.whole
def test_the_lines_of_a_program_end_with_the_program(tmp_path: Path) -> None:
    async def hear() -> tuple[list[bytes], int | None]:
        async with RunningProgram(task(tmp_path, LEAVES_ERRORS)) as program, asyncio.timeout(LONG):
            return [line async for line in program.lines()], program.exit_code

    assert asyncio.run(hear()) == ([b"hi\n"], 0)
