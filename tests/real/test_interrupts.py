"""A person acts in the terminal while the agent works: Esc is final, and a typed cancel is carried out."""

from __future__ import annotations

import re

import pytest

from real.claude import FREE, Claude, new_id
from real.guests.guest import Phase
from real.model import Model, Turn
from real.terminal import Terminal
from real.turns import bash, call, step
from real.waiting import until
from support import is_running

THINKING = Turn("I think about it.\n\nAnd on.\n\n", held=True)
"""An answer that ends only if it is interrupted or released."""
INTERRUPTED = "Interrupted"


@pytest.fixture(autouse=True)
def _workflow(claude: Claude) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"), Phase("build"))


def at_work(terminal: Terminal, model: Model, *turns: Turn) -> None:
    """Bring the agent to its second phase, where it is in the middle of an answer."""
    model.script(step("next"), *turns, Turn("never said"))
    terminal.say("/workflow w make tea")
    terminal.wait("I think about it.")


def test_an_interrupt_of_an_answer_is_final_until_the_next_prompt(claude: Claude, model: Model) -> None:
    conversation = new_id()
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        at_work(terminal, model, THINKING)
        terminal.key("Escape")
        terminal.wait(INTERRUPTED)
        assert len(model.received()) == 2
        assert claude.at(conversation) == "build"
        terminal.wait("W > • Build [2/2]")
        model.script(Turn("A short answer."), step("next"), Turn("All done."))
        terminal.say("go on")
        terminal.wait("All done.")
    assert claude.at(conversation) == "done"
    assert "W is not done yet" in model.last_texts(), "after a prompt, the agent gets reminders again"


def test_an_interrupt_of_a_tool_is_final(claude: Claude, model: Model) -> None:
    conversation = new_id()
    running = claude.project / "running"
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        model.script(bash(f"touch {running}; sleep 60"), Turn("never said"))
        terminal.say("/workflow w make tea")
        until(running.exists, "the command to run")
        terminal.key("Escape")
        terminal.wait(INTERRUPTED)
        assert len(model.received()) == 1
        assert claude.at(conversation) == "look"


def test_an_interrupt_cancels_a_running_check_and_the_workflow_stays_active(claude: Claude, model: Model) -> None:
    claude.workflow("w", Phase("look", "exit:\n  - run: 'echo $$ >checking; exec sleep 60'"), Phase("build"))
    conversation = new_id()
    checking = claude.project / "checking"
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        model.script(step("next"), Turn("never said"))
        terminal.say("/workflow w make tea")
        until(lambda: checking.exists() and checking.read_text().strip(), "the check to run")
        terminal.key("Escape")
        terminal.wait(INTERRUPTED)
        until(lambda: not is_running(int(checking.read_text())), "the check to end")
        assert (len(model.received()), claude.at(conversation)) == (1, "look")
        checking.unlink()
        model.script(step("status"), Turn("A short answer."))
        terminal.say("where are we?")
        terminal.wait("A short answer.")
    assert "**Phase:** • Look [1/2]" in model.last_texts()


def test_a_background_task_does_not_resume_an_interrupted_agent(claude: Claude, model: Model) -> None:
    conversation = new_id()
    work = {"command": "while [ ! -e go ]; do sleep 0.1; done", "description": "wait", "run_in_background": True}
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        model.script(call("Bash", **work), THINKING, Turn("So it is over."), Turn("never said"))
        terminal.say("/workflow w make tea")
        terminal.wait("I think about it.")
        terminal.key("Escape")
        terminal.wait(INTERRUPTED)
        claude.write("go", "")
        terminal.wait("So it is over.")
        terminal.until(lambda screen: re.search("✻ .* for .*s", screen), "the end of the turn")
        assert len(model.received()) == 3
        model.script(Turn("A short answer."), step("next"), step("next"), Turn("All done."))
        terminal.say("go on")
        terminal.wait("All done.")
    assert claude.at(conversation) == "done"


def test_a_workflow_that_replaces_an_interrupted_one_is_enforced(claude: Claude, model: Model) -> None:
    """A typed command counts as a prompt of the person."""
    claude.workflow("other", Phase("only"))
    conversation = new_id()
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        at_work(terminal, model, THINKING)
        terminal.key("Escape")
        terminal.wait(INTERRUPTED)
        model.script(Turn("A short answer."), step("next"), Turn("All done."))
        terminal.say("/workflow --replace other make coffee")
        terminal.wait("All done.")
    assert claude.at(conversation) == "done"
    assert "Other is not done yet" in model.last_texts()


def test_a_cancel_typed_while_the_agent_works_is_carried_out(claude: Claude, model: Model) -> None:
    conversation = new_id()
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        at_work(terminal, model, THINKING)
        terminal.say_during_a_turn("/cancel-workflow")
        until(lambda: '"operation":"enqueue"' in claude.transcript(conversation).read_text(), "the queue to be written")
        model.release()
        screen = terminal.wait("was cancelled in the phase Build")
    assert claude.at(conversation) == "cancelled"
    assert not claude.link(conversation).exists()
    assert len(model.received()) == 2, screen
    assert not re.search("never said", screen)


def test_a_prompt_typed_while_the_agent_works_does_not_end_the_workflow(claude: Claude, model: Model) -> None:
    conversation = new_id()
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        at_work(terminal, model, THINKING, Turn("A short answer."), step("next"), Turn("All done."))
        terminal.say_during_a_turn("use oolong")
        model.release()
        terminal.wait("All done.")
    assert claude.at(conversation) == "done"
    assert "use oolong" in model.last_texts()


def test_a_cancel_between_turns_needs_no_model(claude: Claude, model: Model) -> None:
    conversation = new_id()
    claude.write(".handrail/settings.yaml", "idleStops: 0\n")
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        model.script(Turn("A stop."))
        terminal.say("/workflow w make tea")
        terminal.wait("lets the agent stop")
        terminal.say("/cancel-workflow")
        terminal.wait("was cancelled in the phase Look")
        terminal.wait("W > ", gone=True)
    assert (claude.at(conversation), len(model.received())) == ("cancelled", 1)
