"""Only one process drives a run, however many try or probe."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from crash.accounts import account
from crash.conftest import Stage, Whole
from handrail.driven.engines.embedded import process_locks

CHILD = Path(__file__).parent / "children" / "looking.py"
TIMES = 3_000


@pytest.mark.whole
def test_many_simultaneous_resumes_run_each_step_once(stage: Stage, whole: Whole) -> None:
    case = stage.case()
    drivers = [case.start("resume", "--quiet", "--answers", str(case.answers)) for _ in range(6)]
    said = [driver.communicate(timeout=120)[1] for driver in drivers]
    assert sorted(driver.returncode for driver in drivers) == [0, 1, 1, 1, 1, 1], said
    assert all("is driven by" in err or "is already completed" in err for err in said if err)
    assert account(case) == whole.wanted
    assert case.logged() == whole.logged


async def hold(folder: str, times: int) -> None:
    for _ in range(times):
        async with process_locks.run_locked(folder):
            pass


def test_probing_a_run_does_not_prevent_driving_it(tmp_path: Path) -> None:
    argv = [sys.executable, str(CHILD), str(tmp_path)]
    asyncio.run(hold(str(tmp_path), 1))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as looker:
        assert looker.stdout is not None
        assert looker.stdout.readline() == "looking\n"
        asyncio.run(hold(str(tmp_path), TIMES))
        looker.communicate(timeout=60)
