"""Conversations in the terminal: cleared, resumed, compacted, branched."""

from __future__ import annotations

import re

import pytest

from real.claude import FREE, Claude, new_id
from real.guests.guest import Phase, mark
from real.model import Model, Turn, tool_results
from real.terminal import Terminal
from real.turns import step, write

DENIED = "Write is not allowed in the phase Build of W."
LET_GO = "Handrail lets the agent stop"
BUILD = mark("w", "build")


@pytest.fixture(autouse=True)
def _workflow(claude: Claude) -> None:
    closed = "tools: {blacklist: [write]}"
    claude.workflow("w", Phase("look", closed), Phase("build", closed), Phase("ship"))
    claude.write(".handrail/settings.yaml", "idleStops: 1\n")


def begin(terminal: Terminal, model: Model) -> None:
    """Start a workflow and go to its second phase, where the agent may stop."""
    model.script(step("next"), Turn("one stop"), Turn("two stops"))
    terminal.say("/workflow w make tea")
    terminal.wait(LET_GO)


def test_a_cleared_conversation_has_no_workflow_and_the_old_one_keeps_it(claude: Claude, model: Model) -> None:
    old = new_id()
    with Terminal(claude, "--session-id", old, *FREE) as terminal:
        begin(terminal, model)
        terminal.wait("W > • Build [2/3]")
        terminal.say("/clear")
        terminal.wait(LET_GO, gone=True)
        model.script(write(claude, "free.txt"), Turn("It is written."))
        terminal.say("write it")
        terminal.wait("It is written.")
        assert (claude.project / "free.txt").exists()
        terminal.wait("W > ", gone=True)
        assert claude.at(old) == "build"
        terminal.say(f"/resume {old}")
        terminal.wait("W > • Build [2/3]")
        model.script(write(claude, "bound.txt"), Turn("I may not."), Turn("Really not."))
        terminal.say("write it too")
        terminal.wait("Really not.")
        assert DENIED in tool_results(model.received()[-1])[-1]
        assert model.last_texts().count(BUILD) == 1
        assert not (claude.project / "bound.txt").exists()


def test_a_compacted_conversation_gets_its_phase_again(claude: Claude, model: Model) -> None:
    conversation = new_id()
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        begin(terminal, model)
        model.script(Turn("A summary of it all."), Turn("And more of it."))
        terminal.say("/compact")
        terminal.wait("Compacted")
        model.script(write(claude), Turn("I may not."), Turn("Really not."))
        terminal.say("write it")
        terminal.wait("Really not.")
        terminal.until(lambda _: model.last_texts().count(BUILD) == 1, "the phase's instructions")
        assert DENIED in tool_results(model.received()[-1])[-1]
    model.script(write(claude), Turn("I may not."), Turn("Really not."))
    claude.run("write it", *FREE, "--resume", conversation)
    assert model.last_texts().count(BUILD) == 1
    assert not (claude.project / "written.txt").exists()


def test_a_branch_continues_at_the_same_phase_in_its_own_session(claude: Claude, model: Model) -> None:
    old = new_id()
    with Terminal(claude, "--session-id", old, *FREE) as terminal:
        begin(terminal, model)
        terminal.say("/branch")
        screen = terminal.wait("You are now in the new branch")
        found = re.search(r"session ([0-9a-f-]{36})", screen)
        assert found
        model.script(write(claude, "early.txt"), step("next"), write(claude, "late.txt"), Turn("1"), Turn("I rest."))
        terminal.say("go on")
        terminal.wait("I rest.")
        terminal.wait("W > • Ship [3/3]")
    assert (claude.at(old), claude.at(found[1])) == ("build", "ship")
    assert not (claude.project / "early.txt").exists()
    assert (claude.project / "late.txt").exists()
