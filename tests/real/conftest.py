"""A scripted model, and Claude Code with Handrail in its own home, for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from real.claude import Claude
from real.guests import GUESTS
from real.guests.guest import Guest
from real.hosts import NODE
from real.model import Model


@pytest.fixture
def model() -> Iterator[Model]:
    scripted = Model([])
    yield scripted
    scripted.close()


@pytest.fixture
def bare(tmp_path: Path, model: Model) -> Claude:
    """The program without Handrail."""
    assert (NODE / "claude").exists(), "the agents are not installed; run scripts/agents"
    return Claude(tmp_path, model)


@pytest.fixture
def claude(bare: Claude) -> Claude:
    """The program with Handrail installed for the user."""
    bare.handrail("install", "claude")
    return bare


@pytest.fixture(params=GUESTS)
def guest(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guest]:
    """Each agent in turn, with Handrail installed for the user."""
    found = GUESTS[request.param](tmp_path)
    found.handrail("install", found.name)
    yield found
    found.close()
