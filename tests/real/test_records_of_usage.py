"""What each real agent used, read from its own record of the conversation: Handrail needs that after it was killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, Usage
from handrail.extensions.registry import Registry
from real.calling import job, nothing_left, only, performed, write
from real.hosts import HOSTS, Seat

MODELS = {"copilot": "fake-1", "opencode": "fake/fake-1", "pi": "fake/fake-1"}


@pytest.fixture(params=["claude", "codex", "copilot", "gemini", "opencode", "pi"])
def seat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seat]:
    host = HOSTS[request.param]
    with host.protocol() as model:
        found = Seat(host, tmp_path, model)
        found.env |= {"PATH": f"{host.program.parent}{os.pathsep}{found.env['PATH']}"}
        yield found
        nothing_left(found)


def test_the_record_has_what_the_agent_reported_since_a_moment(seat: Seat) -> None:
    name = seat.host.name
    begun = time.time() - 1
    seat.model.script(write(seat, Usage(1000, 50, 400)), Turn("It is written.", usage=Usage(1200, 20, 1000)))
    said = performed(seat, job(seat, model=MODELS.get(name)))
    session, reported = only(said, "session")["id"], only(said, "usage")
    executor: Any = Registry().executor(name)
    known = {**reported, "usd": None} if name == "claude" else reported
    assert executor.spent(session, seat.env, begun) == known
    assert executor.spent(session, seat.env, time.time() + 60) is None
    assert executor.spent("01a1e197-3365-7790-9ad7-6707fe4a0388", seat.env, begun) is None
