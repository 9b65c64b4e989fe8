"""What is special to Copilot CLI as a host: its limits, its permissions, and texts that it passes on without a hook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, tool_turn
from real.guests.copilot import Copilot
from real.guests.guest import Phase, mark
from real.screen import Screen
from real.waiting import until

CLOSED = "tools:\n  blacklist: [edit, write]"


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Copilot]:
    found = Copilot(tmp_path)
    found.handrail("install", "copilot")
    found.workflow("w", Phase("look", CLOSED), Phase("build"))
    yield found
    found.close()


def test_a_subagent_of_a_subagent_is_gated(guest: Copilot) -> None:
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(
        tool_turn(guest.subagent("delegate it")),
        tool_turn(guest.subagent("write deep.txt")),
        guest.write("deep.txt"),
        guest.step("next"),
        Turn("I could not."),
        Turn("Neither could I."),
        Turn("Then I stop."),
    )
    guest.start("w tea")
    texts = [request.text for request in guest.model.received()]
    assert len(texts) == 7
    assert "is not allowed in the phase Look of W" in texts[3]
    assert "Only the main conversation" in texts[4]
    assert not guest.made("deep.txt")
    assert guest.at() == "look"


def test_a_run_goes_on_after_the_limit_of_the_host(guest: Copilot) -> None:
    """Copilot CLI lets a hook send the agent on eight times; then the run writes the next prompt."""
    work = [turn for n in range(9) for turn in (guest.shell(f"echo {n}"), Turn(f"stop {n}"))]
    guest.model.script(*work, guest.step("next"), guest.step("next"), Turn("Done."))
    ended = guest.handrail("run", "w", "tea", "--agent", "copilot", "--json", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    data: dict[str, Any] = json.loads(ended.stdout)
    value = data["phases"][0]["steps"][0]["value"]
    assert (value["status"], value["calls"]) == ("done", 2)


CRASH = """\
until rm {saved}/*/events.jsonl; do sleep 0.1; done
p=$PPID
until grep -q output-format=json /proc/$p/cmdline; do p=$(sed -n s/^PPid:.//p /proc/$p/status); done
kill -9 $p
"""
"""Deletes what Copilot CLI has saved, and kills it."""


def test_a_conversation_that_was_killed_before_it_was_saved_begins_again_in_its_phase(guest: Copilot) -> None:
    script = guest.file("crash.sh", CRASH.format(saved=guest.home / ".copilot" / "session-state"))
    turns = (guest.step("next"), guest.shell(f"sh {script.name}"), guest.step("next"), Turn("Done."))
    guest.model.script(*turns)
    ended = guest.handrail("run", "w", "tea", "--agent", "copilot", "--json", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    value = json.loads(ended.stdout)["phases"][0]["steps"][0]["value"]
    assert (value["status"], value["calls"]) == ("done", 2)
    begun_again = guest.model.received()[2].text
    assert mark("w", "build") in begun_again
    assert mark("w", "look") not in begun_again


def test_a_person_is_asked_about_other_tools_but_not_about_ours(guest: Copilot) -> None:
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(guest.step("next"), guest.shell("touch asked"), Turn("Done."))
    argv = [str(guest.seat.host.program)]
    with Screen(argv, guest.project, guest.env, "/ commands") as screen:
        screen.say("/workflow w tea")
        screen.wait("Do you want to run this command?")
        assert guest.at() == "build"
        assert "W > • Build [2/2]" in screen.wait("Build"), "the status line"
        screen.key("Enter")
        until((guest.project / "asked").exists, "the command to run")


def test_the_status_line_says_why_the_agent_may_stop(guest: Copilot) -> None:
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(Turn("I stop here."), guest.shell("echo on"), Turn("And here."))
    with guest.screen() as screen:
        screen.say("/workflow w tea")
        screen.wait("W > • Look [1/2] · Handrail lets the agent stop: no progress")


def test_commands_that_are_typed_while_the_agent_works(guest: Copilot) -> None:
    """Copilot CLI passes them to the model and calls no hook."""
    waits = "touch here; while [ ! -e go ]; do sleep 0.1; done"
    guest.model.script(guest.shell(waits), Turn("I am done with it."))
    with guest.screen() as screen:
        screen.say("wait for me")
        until((guest.project / "here").exists, "the command to run")
        screen.say("/workflow w tea")
        until(lambda: len(guest.model.received()) >= 2, "two requests")
        screen.wait("I am done with it.")
        assert not guest.sessions()
        assert "no workflow began" in guest.told()
        (guest.project / "go").touch()


def test_a_cancel_that_is_typed_while_the_agent_works_lets_it_stop(guest: Copilot) -> None:
    waits = "touch here; while [ ! -e go ]; do sleep 0.1; done"
    guest.model.script(guest.shell(waits), Turn("I stop now."), Turn("never said"))
    with guest.screen() as screen:
        screen.say("/workflow w tea")
        until((guest.project / "here").exists, "the command to run")
        screen.say("/cancel-workflow")
        screen.wait("I stop now.")
        (guest.project / "go").touch()
        screen.wait("esc interrupt", gone=True)
        screen.say("/cancel-workflow")
        guest.until_at("cancelled")
    assert "type the command again" in guest.told()
