"""What a person sees and types in the terminal: the status line, the title, the commands."""

from __future__ import annotations

import pytest

from real.claude import FREE, Claude, new_id
from real.guests.guest import Phase
from real.model import Model, Turn
from real.terminal import Terminal
from real.turns import step, write


@pytest.fixture(autouse=True)
def _workflow(claude: Claude) -> None:
    claude.workflow("release", Phase("plan"), "@review", Phase("ship"))
    claude.workflow("review", Phase("analyse"), Phase("judge"), head="show: workflows\n")
    claude.workflow("other", Phase("only"))
    claude.write(".handrail/settings.yaml", "idleStops: 0\n")


def test_the_status_line_and_the_title_follow_the_workflow(claude: Claude, model: Model) -> None:
    with Terminal(claude, *FREE) as terminal:
        model.script(Turn("A stop."))
        terminal.say("/workflow release the login page")
        terminal.wait("Release > • Plan [1/3]")
        terminal.until(lambda _: "Workflow: the login page" in terminal.title, "the title of the window")
        terminal.wait("── Workflow: the login page ─")
        model.script(step("next"), Turn("Second stop."))
        terminal.say("go on")
        terminal.wait("Release > Review [2/3] > • Analyse [1/2]")
        model.script(step("next"), step("next"), Turn("Third stop."))
        terminal.say("go on")
        terminal.wait("Release > • Ship [3/3]")
        model.script(step("next"), Turn("All done."))
        terminal.say("finish it")
        terminal.wait("Release is done.")
        terminal.wait("Release > ", gone=True)


def test_the_command_without_arguments_lists_the_workflows(claude: Claude, model: Model) -> None:
    with Terminal(claude) as terminal:
        terminal.say("/workflow")
        screen = terminal.wait("starts a workflow. Available workflows:")
        terminal.wait("release  Release")
        terminal.wait("other  Other")
    assert "review  Review" not in screen
    assert model.received() == []


def test_a_wrong_name_gets_a_suggestion(claude: Claude, model: Model) -> None:
    with Terminal(claude) as terminal:
        terminal.say("/workflow relaese the login page")
        terminal.wait("did you mean `release`?")
        terminal.say("/workflow release")
        terminal.wait("The task is missing: /workflow release TASK")
    assert model.received() == []


def test_a_second_workflow_has_to_be_asked_for_twice(claude: Claude, model: Model) -> None:
    conversation = new_id()
    with Terminal(claude, "--session-id", conversation, *FREE) as terminal:
        model.script(Turn("A stop."))
        terminal.say("/workflow release the login page")
        terminal.wait("lets the agent stop")
        terminal.say("/workflow other make tea")
        screen = terminal.wait("Release > • Plan [1/3] is active for: the login page")
        assert "/workflow --replace other make tea" in screen
        assert "Workflow: the login page ─" in terminal.screen, "nothing was started, so the title stays"
        assert (claude.status(conversation)["workflow"], len(model.received())) == ("release", 1)
        model.script(write(claude), Turn("Another stop."))
        terminal.say("/workflow --replace other make tea")
        terminal.wait("Other > • Only [1/1]")
        terminal.wait("Workflow: make tea ─")
    assert claude.status(conversation)["workflow"] == "other"


def test_a_task_with_quotes_and_shell_signs_arrives_as_it_was_typed(claude: Claude, model: Model) -> None:
    conversation = new_id()
    task = 'it\'s "hot" $(touch owned) `touch owned` {description} ünï 🫖 & <b>'
    with Terminal(claude, "--session-id", conversation) as terminal:
        model.script(Turn("A stop."))
        terminal.say(f"/workflow other {task}")
        terminal.wait("Other > • Only [1/1]")
        model.wait(1)
    assert claude.status(conversation)["task"] == task
    assert f"**Task:** {task}" in model.last_texts()
    assert not (claude.project / "owned").exists()
