"""Driving a run never blocks the event loop: other tasks run while it waits for a lock or for programs to end."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable
from pathlib import Path

import pytest

from handrail.app import App
from handrail.base import locks
from handrail.base.errors import RefusedError
from handrail.base.files import make_private
from handrail.base.processes import processes_with
from handrail.driven.engines.embedded import process_locks
from handrail.driven.runs.request import RunRequest
from handrail.settings.folders import file_name

FLOW = """phases:
- id: a
  steps:
  - {id: x, node: write-file, params: {path: made.md, text: hi}, makes: [made.md]}
"""


async def ticks_during(work: Awaitable[object]) -> int:
    """How often another task could run, once per 10 ms."""
    count = 0

    async def tick() -> None:
        nonlocal count
        while True:
            await asyncio.sleep(0.01)
            count += 1

    ticking = asyncio.ensure_future(tick())
    try:
        await work
    finally:
        ticking.cancel()
    return count


def test_publishing_waits_for_the_shelf_without_blocking(tmp_path: Path) -> None:
    flow = tmp_path / ".handrail" / "flows" / "demo.yaml"
    flow.parent.mkdir(parents=True)
    flow.write_text(FLOW)
    app = App(str(tmp_path), {"HOME": str(tmp_path), "HANDRAIL_HOME": str(tmp_path / "home")})
    app.trust.grant(0.0)
    run = app.runs.begin(app.flows, app.flows.find("demo"), RunRequest(params={}, scope="s"), "r-1")
    shelf = os.path.join(app.runs.shelves.folder, file_name("s"))
    make_private(shelf)
    handle = locks.acquire(os.path.join(shelf, "lock"))
    assert handle is not None

    async def story() -> int:
        asyncio.get_running_loop().call_later(0.5, os.close, handle)
        return await ticks_during(app.runs.drive(run))

    assert asyncio.run(story()) >= 5
    assert app.runs.load("r-1").state.artifacts


def test_a_run_with_another_driver_is_refused_without_blocking(tmp_path: Path) -> None:
    async def take() -> None:
        with pytest.raises(RefusedError, match="is driven by"):
            async with process_locks.run_locked(str(tmp_path)):
                pass

    async def story() -> int:
        async with process_locks.run_locked(str(tmp_path)):
            return await ticks_during(take())

    assert asyncio.run(story()) >= 3


def test_killing_programs_does_not_block(tmp_path: Path) -> None:
    """A child that does not end immediately: it is reaped only after the event loop has run."""

    async def story() -> int:
        entry = f"HANDRAIL_RUN=r-{os.getpid()}"
        child = await asyncio.create_subprocess_exec("sleep", "60", env={"HANDRAIL_RUN": entry.partition("=")[2]})
        begin = time.monotonic()
        while not processes_with(entry) and time.monotonic() - begin < 10:
            await asyncio.sleep(0.01)
        count = await ticks_during(process_locks.Programs(str(tmp_path)).end(f"r-{os.getpid()}"))
        assert await child.wait() == -9
        return count

    assert asyncio.run(story()) >= 1
