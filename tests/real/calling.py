"""Calls a real agent as flows call it, and finds processes that are left. Shared by the tests of the executors."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, Usage, tool_turn
from handrail.extensions.contracts import AgentJob, AgentSaid
from handrail.extensions.registry import Registry
from handrail.settings.secrets import allowed_variables
from handrail.steps.nodes.agents.agent_jobs import call_agent
from real.hosts import Seat
from real.waiting import LONG, until

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
STUBBORN = "trap '' TERM INT HUP; echo begun > begun.txt; while :; do sleep 0.1; done"
"""A command that writes a file when it begins and ignores signals."""
NOISE = r"""#!/bin/sh
echo 'Welcome!'; echo '{not json'; echo '[1]'; echo null; echo '{}'; printf '\377\376\n'; echo 'bye' >&2
exec "$REAL" "$@"
"""
OWN = ("REAL",)
"""Variables that only the tests use."""
Heard = list[AgentSaid]


def job(seat: Seat, prompt: str = "Do it.", **changes: Any) -> AgentJob:
    env = allowed_variables(seat.env, (*Registry().executor(seat.host.name).ENVIRONMENT, *OWN))
    return replace(AgentJob(prompt=prompt, cwd=str(seat.project), env=env, timeout=LONG), **changes)


def hear(seat: Seat, given: AgentJob) -> AsyncIterator[AgentSaid]:
    return call_agent(Registry().executor(seat.host.name), given)


async def perform(seat: Seat, given: AgentJob) -> Heard:
    return [said async for said in hear(seat, given)]


def performed(seat: Seat, given: AgentJob) -> Heard:
    return ended(asyncio.run(perform(seat, given)))


def ended(said: Heard) -> Heard:
    assert [one.kind for one in said].count("finished") == 1
    assert said[-1].kind == "finished"
    return said


def timed_out(seat: Seat, given: AgentJob, is_time: Callable[[Heard], object]) -> Heard:
    """A call that times out as soon as `is_time` is true, no matter how long the program needs until then."""
    said: Heard = []
    clock = Clock()

    async def perform() -> None:
        async for one in hear(seat, given):
            said.append(one)

    async def run() -> None:
        performing = asyncio.create_task(perform())
        await asyncio.to_thread(until, lambda: is_time(said), lambda: f"its time; it said {said}")
        clock.skipped += given.timeout
        await performing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", clock)
        asyncio.run(run())
    assert ended(said)[-1].data["outcome"] == "timeout"
    return said


class Clock:
    """A monotonic clock that a test can move forward."""

    def __init__(self) -> None:
        self.real = time.monotonic
        self.skipped = 0.0

    def __call__(self) -> float:
        return self.real() + self.skipped


def told(said: Heard, kind: str) -> list[dict[str, Any]]:
    return [one.data for one in said if one.kind == kind]


def only(said: Heard, kind: str) -> dict[str, Any]:
    """The only event of a kind. Of the usage, which is told again and again, the last one counts."""
    (found,) = told(said, kind)[-1:] if kind == "usage" else told(said, kind)
    return found


def every(said: Heard, kind: str, name: str) -> list[Any]:
    return [data[name] for data in told(said, kind)]


def has_begun(seat: Seat) -> bool:
    """True if the `STUBBORN` command of a turn is running."""
    return (seat.project / "begun.txt").exists()


def write(seat: Seat, usage: Usage | None = None) -> Turn:
    return tool_turn(seat.host.write(seat.project / "made.txt", "made\n"), text="I write it.", usage=usage)


def shell(seat: Seat, command: str, usage: Usage | None = None) -> Turn:
    return tool_turn(seat.host.shell(command), usage=usage)


def make_noisy(seat: Seat, folder: Path) -> None:
    """Let the program print noise before its events."""
    wrapper = folder / "bin" / seat.host.name
    wrapper.parent.mkdir()
    wrapper.write_text(NOISE)
    wrapper.chmod(0o755)
    seat.env |= {"PATH": f"{wrapper.parent}{os.pathsep}{seat.env['PATH']}", "REAL": str(seat.host.program)}


def left_over(seat: Seat) -> list[str]:
    """The command lines of processes that have the mark of a call and this home in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            env = (folder / "environ").read_bytes().split(b"\0") if folder.name.isdigit() else []
            if f"HOME={seat.home}".encode() in env and any(one.startswith(b"HANDRAIL_CALL=") for one in env):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [line for line in found if line]


def nothing_left(seat: Seat) -> None:
    """Wait, because a killed process may need a moment to disappear."""
    until(lambda: not left_over(seat), lambda: f"the end of {left_over(seat)}")
