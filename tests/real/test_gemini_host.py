"""Gemini CLI as a host: what no other host has. `test_guests_*.py` have the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn, tool_turn
from real.guests.gemini import Gemini, Typed
from real.guests.guest import Phase
from real.waiting import until

LOOPS = 6
"""After this number of identical calls, Gemini CLI ends the turn."""


@pytest.fixture
def gemini(tmp_path: Path) -> Iterator[Gemini]:
    guest = Gemini(tmp_path)
    guest.handrail("install", "gemini")
    guest.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    yield guest
    guest.close()


def test_the_loop_detector_ends_a_turn_and_the_next_prompt_goes_on(gemini: Gemini) -> None:
    """Gemini CLI warns the model at the fifth identical call, ends the turn at the next one, and runs no hook then."""
    gemini.file(".handrail/settings.yaml", "idleStops: 3\n")
    gemini.model.script(*[gemini.shell("echo again")] * (LOOPS + 2))
    ran = gemini.start("w tea")
    assert "Loop detected" in ran.out
    assert len(gemini.model.received()) == LOOPS
    assert gemini.at() == "look"
    gemini.model.script(gemini.write("bound.txt"), gemini.step("next"), gemini.step("next"), Turn("All done."))
    gemini.run("go on", gemini.thread(ran))
    assert not gemini.made("bound.txt")
    assert gemini.at() == "done"


def test_settings_with_comments_hold_the_agent(gemini: Gemini) -> None:
    gemini.handrail("uninstall", "gemini")
    settings = gemini.home / ".gemini" / "settings.json"
    settings.write_text(settings.read_text().replace("{", "{ // mine\n", 1))
    gemini.handrail("install", "gemini")
    assert "// mine" in settings.read_text()
    gemini.model.script(gemini.write("bound.txt"), gemini.step("next"), Turn("I stop."))
    gemini.start("w tea")
    assert not gemini.made("bound.txt")
    assert gemini.at() == "build"


def test_a_run_goes_on_after_the_loop_detector(gemini: Gemini) -> None:
    gemini.file(".handrail/settings.yaml", "idleStops: 3\n")
    again = [gemini.shell("echo again")] * LOOPS
    gemini.model.script(*again, gemini.step("next"), gemini.step("next"), Turn("All done."))
    ended = gemini.handrail("run", "w", "tea", "--agent", "gemini", "--json", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert gemini.at() == "done"
    assert "You were interrupted." in gemini.told()


def test_workflow_step_asks_for_no_permission(gemini: Gemini) -> None:
    """A person who is asked for every other tool is not asked for this one."""
    gemini.model.script(gemini.step("next"), gemini.step("next"), Turn("All done."))
    argv = [str(gemini.seat.host.program), "--skip-trust"]
    with Typed(argv, gemini.project, gemini.env, "1 MCP server", sign=">") as screen:
        screen.say("/workflow w tea")
        screen.wait("All done.")
        gemini.until_at("done")


def test_a_run_that_may_only_read_can_call_workflow_step(gemini: Gemini) -> None:
    step = {"id": "go", "node": "workflow-run", "params": {"workflow": "w", "task": "tea", "permissions": "read"}}
    flow = {"phases": [{"id": "all", "steps": [step]}]}
    gemini.file(".handrail/flows/f.json", json.dumps(flow))
    gemini.model.script(gemini.step("next"), gemini.write("bound.txt"), gemini.step("next"), Turn("All done."))
    ended = gemini.handrail("run", "f", "--agent", "gemini", "--json", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert gemini.at() == "done"
    assert not gemini.made("bound.txt")


def test_a_subagent_is_told_about_the_phase_in_every_request(gemini: Gemini) -> None:
    gemini.model.script(
        tool_turn(gemini.subagent("look around")),
        gemini.shell("echo sub"),
        gemini.report("It is round."),
        gemini.step("next"),
        gemini.step("next"),
        Turn("All done."),
    )
    gemini.start("w tea")
    texts = [request.text for request in gemini.model.received()]
    told = ["You work for a conversation that follows this workflow" in text for text in texts]
    assert told == [False, True, True, False, False, False]
    assert gemini.at() == "done"


def test_the_model_cannot_name_another_conversation(gemini: Gemini) -> None:
    gemini.model.script(Turn("A stop."))
    other = gemini.thread(gemini.start("w coffee"))
    forged = ("mcp_handrail_workflow_step", {"action": "next", "session_id": other})
    gemini.model.script(tool_turn(forged), Turn("A stop."))
    gemini.run("go on")
    assert "No workflow is active in this conversation" in gemini.told()
    gemini.model.script(tool_turn(forged), Turn("A stop."))
    gemini.start("w tea")
    assert (gemini.at("coffee"), gemini.at("tea")) == ("look", "build")


def test_a_server_with_our_name_in_the_project_is_gated_like_any_other(gemini: Gemini) -> None:
    gemini.workflow("w", Phase("look", "tools:\n  whitelist: [read]"))
    script, called = str(Path(__file__).parent / "step_server.py"), gemini.home / "called"
    server = {"command": sys.executable, "args": [script, str(called)], "trust": True}
    gemini.file(".gemini/settings.json", json.dumps({"mcpServers": {"handrail": server}}))
    gemini.model.script(gemini.step("next"), Turn("A stop."))
    gemini.start("w tea")
    assert gemini.at() == "look"
    assert not called.exists()
    assert "is not allowed in the phase Look of W" in gemini.told()


def test_the_person_sees_where_the_workflow_stands(gemini: Gemini) -> None:
    gemini.model.script(gemini.step("next"), Turn("A stop."))
    with gemini.screen() as screen:
        screen.say("/workflow w tea")
        screen.wait("A stop.")
        gemini.model.script(Turn("Another stop."))
        screen.say("go on")
        screen.wait("W > • Build [2/2]")


def test_a_person_interrupts_a_command_and_cancels(gemini: Gemini) -> None:
    """Gemini CLI takes no command of a person while the agent works."""
    gemini.file(".handrail/settings.yaml", "idleStops: 3\n")
    gemini.model.script(gemini.shell("touch here; sleep 300"), Turn("never said"))
    with gemini.screen() as screen:
        screen.say("/workflow w tea")
        until((gemini.project / "here").exists, "the command to run")
        screen.key("Escape")
        screen.wait("Request cancelled")
        screen.say("/cancel-workflow")
        gemini.until_at("cancelled")
    assert len(gemini.model.received()) == 1, "nobody sent the agent on"
