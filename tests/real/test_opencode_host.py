"""What is special to OpenCode as a host: `opencode run`, which ends at the first stop of the agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.models.turn import Turn
from real.guests.guest import Phase
from real.guests.opencode import OpenCode


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[OpenCode]:
    guest = OpenCode(tmp_path)
    guest.handrail("install", "opencode")
    guest.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    yield guest
    guest.close()


def test_the_command_run_is_gated_and_ends_at_a_stop(opencode: OpenCode) -> None:
    """Nobody can send the agent on there, so the workflow stays where it is."""
    opencode.model.script(opencode.write("bound.txt"), Turn("A stop."))
    argv = [str(opencode.seat.host.program), "run", "--format", "json", "--auto", "--command", "workflow", "w", "tea"]
    ran = opencode.seat.ended(opencode.spawn_argv(argv))
    assert ran.code == 0, ran
    assert not opencode.made("bound.txt")
    assert "is not allowed in the phase Look of W" in opencode.model.received()[1].text
    assert opencode.at() == "look"
