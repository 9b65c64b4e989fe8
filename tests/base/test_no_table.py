"""A system without `/proc`, such as macOS: the program and its process group are killed, and no wait hangs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from handrail.base import processes
from handrail.base.processes import ProgramResult, RunningProgram, Task, run_task
from support import is_running

FOREVER = "while true; do sleep 0.05; done"
STUBBORN = f"trap '' TERM; {FOREVER}"


@pytest.fixture
def without_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The process table is empty, as on a system without `/proc`."""
    monkeypatch.setattr(processes, "TABLE", str(tmp_path / "no-proc"))
    assert processes.living_processes() == {}


def shell(script: str, timeout: float = 60) -> Task:
    return Task(argv=["/bin/sh", "-c", script], cwd="/", env=dict(os.environ), timeout=timeout)


async def pids_of(program: RunningProgram, count: int) -> list[int]:
    found: list[int] = []
    async for lines in program.lines():
        found += map(int, lines)
        if len(found) >= count:
            break
    return found


async def left_after(script: str, count: int) -> list[int]:
    """The process ids that the program printed and that still run after it was left."""
    async with asyncio.timeout(30):
        async with RunningProgram(shell(script)) as program:
            pids = await pids_of(program, count)
            assert all(map(is_running, pids))
    return list(filter(is_running, pids))


@pytest.mark.whole
@pytest.mark.usefixtures("without_table")
@pytest.mark.parametrize("script", [FOREVER, STUBBORN], ids=["obedient", "stubborn"])
def test_a_program_is_killed_without_a_process_table(script: str) -> None:
    assert asyncio.run(left_after(f"echo $$; {script}", 1)) == []


@pytest.mark.whole
@pytest.mark.usefixtures("without_table")
def test_a_child_of_the_program_is_killed_with_its_group() -> None:
    assert asyncio.run(left_after(f"({STUBBORN}) & echo $!; echo $$; wait", 2)) == []


@pytest.mark.usefixtures("without_table")
def test_a_program_that_runs_too_long_is_killed_without_a_process_table() -> None:
    async def run() -> ProgramResult:
        async with asyncio.timeout(30):
            return await run_task(shell(f"echo $$; {STUBBORN}", timeout=0.5))

    ended = asyncio.run(run())
    assert ended.timed_out
    assert not is_running(int(ended.output))
