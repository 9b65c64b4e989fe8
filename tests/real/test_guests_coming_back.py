"""Conversations that come back in every host: resumed, killed, forked, compacted."""

from __future__ import annotations

import os
import signal

import pytest

from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest, Phase, mark
from real.waiting import until

BUILD = mark("w", "build")
DENIED = "is not allowed in the phase Build of W"


@pytest.fixture(autouse=True)
def _workflow(guest: Guest) -> None:
    closed = "tools:\n  blacklist: [edit, write]"
    guest.workflow("w", Phase("look"), Phase("build", closed), Phase("ship"))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")


def begin(guest: Guest) -> str:
    """Go to the second phase, where the agent stops. Returns the agent's id of the conversation."""
    guest.model.script(guest.step("next"), Turn("A stop."))
    thread = guest.thread(guest.start("w tea"))
    assert guest.at() == "build"
    return thread


@pytest.mark.rarely("opencode")
def test_a_resumed_conversation_is_held_to_its_phase(guest: Guest) -> None:
    thread = begin(guest)
    guest.model.script(guest.write("bound.txt"), guest.step("next"), guest.step("next"), Turn("All done."))
    guest.run("go on", thread)
    assert not guest.made("bound.txt")
    assert DENIED in guest.told()
    assert BUILD in guest.told()
    assert guest.at() == "done"


def test_a_killed_conversation_goes_on_where_it_was(guest: Guest) -> None:
    thread = begin(guest)
    guest.model.script(guest.shell("touch here; sleep 30"), Turn("never said"))
    with guest.spawn("go on", thread) as process:
        until((guest.project / "here").exists, "the command to run")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert guest.at() == "build"
    guest.model.script(guest.write("bound.txt"), guest.step("next"), guest.step("next"), Turn("All done."))
    guest.run("go on", thread)
    assert not guest.made("bound.txt")
    assert BUILD in guest.told()
    assert guest.at() == "done"


@pytest.mark.rarely("opencode")
def test_a_fork_has_its_own_workflow(guest: Guest) -> None:
    """The fork continues at its parent's phase, and the parent stays where it is."""
    thread = begin(guest)
    guest.model.script(guest.write("bound.txt"), guest.step("next"), Turn("A stop."))
    guest.fork(thread, "go on")
    assert not guest.made("bound.txt")
    phases = sorted(str(session["phase"]["id"]) for session in guest.sessions())
    assert phases == ["build", "ship"]


def test_a_compacted_conversation_gets_its_phase_again(guest: Guest) -> None:
    thread = begin(guest)
    with guest.screen(thread) as screen:
        guest.compact(screen)
        guest.model.script(guest.write("bound.txt"), Turn("I may not."))
        screen.say("go on")
        screen.wait("I may not.")
    assert not guest.made("bound.txt")
    assert BUILD in guest.told()
    assert guest.at() == "build"
