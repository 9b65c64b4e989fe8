"""What is special to OpenCode as a host: `opencode run`, which ends at the first stop of the agent, and `/undo`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn
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


def test_undo_goes_back_to_the_phase_before(opencode: OpenCode) -> None:
    opencode.model.script(Turn("A stop."))
    opencode.file(".handrail/settings.yaml", "idleStops: 0\n")
    thread = opencode.thread(opencode.start("w tea"))
    opencode.model.script(opencode.step("next"), Turn("Another stop."))
    opencode.run("go on", thread)
    assert opencode.at() == "build"
    opencode.model.script(opencode.write("bound.txt"), Turn("I may not."))
    with opencode.screen(thread) as screen:
        screen.wait("Another stop.")
        screen.say("/undo")
        screen.wait("1 message reverted")
        screen.wait("go on")
        screen.key("Enter")
        screen.wait("I may not.")
    assert opencode.at() == "look"
    assert not opencode.made("bound.txt")
