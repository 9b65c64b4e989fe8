"""Failures inside Handrail in every host: calls are denied while a workflow is active, else nothing happens."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest, Phase

PYTHONS = {
    "fails": "exit 1",
    "is killed": "kill -9 $$",
    "prints garbage": "echo 'It is fine, I think.'",
    "prints nothing": "exit 0",
    "never answers": "exec sleep 60",
    "is missing": None,
}


@pytest.fixture(autouse=True)
def _workflow(guest: Guest) -> None:
    """One phase that allows everything, so every denial is caused by a failure."""
    guest.workflow("w", Phase("look"))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")


def break_python(guest: Guest, body: str | None) -> None:
    """Replace the interpreter of all stubs by a script with this body; None names a missing program."""
    fake = guest.home / "fake-python"
    if body is not None:
        fake.write_text(f"#!/bin/sh\n{body}\n")
        fake.chmod(0o755)
    broken = 0
    for stub in guest.stubs():
        text = stub.read_text()
        broken += sys.executable in text
        stub.write_text(text.replace(sys.executable, str(fake)))
    assert broken


def begin(guest: Guest) -> str:
    guest.model.script(Turn("A stop."))
    thread = guest.thread(guest.start("w tea"))
    assert guest.at() == "look"
    return thread


def assert_denied(guest: Guest, thread: str) -> None:
    """The model calls a tool and gets its result, but the tool did not run."""
    asked = len(guest.model.received())
    guest.model.script(guest.write("bound.txt"), Turn("I may not."))
    guest.run("write it", thread)
    assert len(guest.model.received()) >= asked + 2, "the call was never tried"
    assert not guest.made("bound.txt")


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", PYTHONS)
def test_a_failing_hook_denies_until_a_person_cancels(guest: Guest, name: str) -> None:
    thread = begin(guest)
    session = guest.session()["session"]
    break_python(guest, PYTHONS[name])
    assert_denied(guest, thread)
    guest.handrail("cancel", "--yes", "--session", session)
    guest.model.script(guest.write("free.txt"), Turn("Done."))
    guest.run("write it", thread)
    assert guest.made("free.txt")


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["fails", "is missing"])
def test_a_failing_hook_does_nothing_without_a_workflow(guest: Guest, name: str) -> None:
    break_python(guest, PYTHONS[name])
    guest.model.script(guest.write("free.txt"), Turn("Done."))
    ran = guest.run("write it")
    assert ran.code == 0, ran
    assert guest.made("free.txt")


@pytest.mark.spread(3)
@pytest.mark.parametrize("what", ["card and journal", "link", "folder"])
def test_damaged_state_denies_until_a_person_cancels(guest: Guest, what: str) -> None:
    thread = begin(guest)
    session = guest.session()["session"]
    damage(guest, what)
    assert_denied(guest, thread)
    guest.handrail("cancel", "--yes", "--session", session)
    guest.model.script(guest.write("free.txt"), Turn("Done."))
    guest.run("write it", thread)
    assert guest.made("free.txt")


def damage(guest: Guest, what: str) -> None:
    folder = next((guest.state / "sessions").glob(f"*/{guest.name}-*"))
    if what == "link":
        guest.links()[0].write_text("")
    elif what == "folder":
        shutil.rmtree(folder)
    else:
        for name in ("card", "journal"):
            _spoil(folder / name)


def _spoil(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(b"x" + data + data)


def test_a_workflow_that_cannot_start_is_stopped_and_says_why(guest: Guest) -> None:
    break_python(guest, "exit 1")
    guest.model.script(Turn("I was told nothing."))
    guest.start("w tea")
    assert not guest.sessions()
    assert not any("DO-w-look-NOW" in request.text for request in guest.model.received())
