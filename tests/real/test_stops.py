"""An agent that ends its turn before the workflow is done: reminded while it makes progress, else it may stop."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

import pytest

from real.claude import FREE, Claude, Ran, ended, new_id
from real.guests.guest import Phase
from real.model import Model, Turn
from real.turns import bash, call, step

LET_GO = "Handrail lets the agent stop: no progress"
REMINDER = re.compile(r"Stop hook additional context: (.*?)\n</system-reminder>", re.DOTALL)


@pytest.fixture(autouse=True)
def _workflow(claude: Claude) -> None:
    claude.workflow("w", Phase("look"), Phase("build"))


def reminders(model: Model) -> list[str]:
    """The reminders that the agent got at its stops."""
    return REMINDER.findall(model.last_texts())


def told(ran: Ran, text: str) -> int:
    """How often this was shown to the person."""
    return sum(text in str(e.get("content")) for e in ran.events if e.get("subtype") == "informational")


def is_answer_to_a_stop(event: dict[str, Any]) -> bool:
    return event.get("subtype") == "hook_response" and event.get("hook_event") == "Stop"


def test_an_agent_that_stops_early_is_reminded_until_the_end(claude: Claude, model: Model) -> None:
    conversation = new_id()
    model.script(Turn("a stop"), step("next"), Turn("a stop"), Turn("again"), step("next"), Turn("Done."))
    ran = claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert (ran.result, claude.at(conversation)) == ("Done.", "done")
    said = reminders(model)
    assert [("Look" in text, "Build" in text) for text in said] == [(True, True), (False, True), (False, True)]
    assert len(set(said)) == 3, "all reminders are different"


def test_no_reminder_repeats_when_a_phase_is_looped(claude: Claude, model: Model) -> None:
    model.script(Turn("a stop"), step("loop"), Turn("a stop"), step("next"), step("next"), Turn("Done."))
    claude.run("/workflow w tea", *FREE)
    assert len(set(reminders(model))) == len(reminders(model)) == 2


def test_an_agent_that_makes_progress_is_always_reminded(claude: Claude, model: Model) -> None:
    turns = [turn for n in range(12) for turn in (bash(f"echo {n}"), Turn(f"stop {n}"))]
    model.script(*turns, step("next"), step("next"), Turn("Done."))
    ran = claude.run("/workflow w tea", *FREE)
    assert ran.result == "Done."
    assert len(set(reminders(model))) == len(reminders(model)) == 12


@pytest.mark.parametrize(("limit", "words"), [(0, ""), (1, " after 1 reminder"), (5, " after 5 reminders")])
def test_an_agent_without_progress_may_stop_with_a_reason(claude: Claude, model: Model, limit: int, words: str) -> None:
    claude.write(".handrail/settings.yaml", f"idleStops: {limit}\n")
    conversation = new_id()
    model.script(*[Turn(f"stop {n}") for n in range(20)])
    ran = claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert (ran.code, ran.result) == (0, f"stop {limit}")
    assert told(ran, f"{LET_GO}{words}.") == 1
    assert claude.at(conversation) == "look"
    assert len(set(reminders(model))) == len(reminders(model)) == limit


def test_a_denied_call_is_not_progress(claude: Claude, model: Model) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [bash]}"), Phase("build"))
    model.script(*[turn for n in range(20) for turn in (bash("true"), Turn(f"stop {n}"))])
    ran = claude.run("/workflow w tea", *FREE)
    assert ran.result == "stop 3"
    assert told(ran, f"{LET_GO} after 3 reminders.") == 1


def test_an_agent_that_stopped_is_reminded_again_after_a_prompt(claude: Claude, model: Model) -> None:
    conversation = new_id()
    model.script(*[Turn(f"stop {n}") for n in range(4)])
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    model.script(Turn("a stop"), step("next"), step("next"), Turn("Done."))
    assert claude.run("go on", *FREE, "--resume", conversation).result == "Done."
    assert len(set(reminders(model))) == len(reminders(model)) == 4


def test_an_agent_whose_model_fails_may_stop(claude: Claude, model: Model) -> None:
    conversation = new_id()
    model.script(step("next"), *[Turn(status=400)] * 20)
    ran = claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert ran.result == "API Error: 400 invalid_request_error"
    assert reminders(model) == []
    assert ran.hooks("Stop") == []
    assert claude.at(conversation) == "build"
    model.script(step("next"), Turn("Done."))
    assert claude.run("go on", *FREE, "--resume", conversation).result == "Done."


def test_an_interrupt_without_a_terminal_is_final(claude: Claude, model: Model) -> None:
    conversation = new_id()
    model.script(step("next"), Turn("I think about it.", held=True), Turn("never said"))
    with claude.spawn("/workflow w tea", *FREE, "--session-id", conversation) as process:
        model.wait(2)
        process.send_signal(signal.SIGINT)
        ended(process)
    assert len(model.received()) == 2
    assert claude.at(conversation) == "build"
    assert claude.link(conversation).exists()


def test_an_agent_that_waits_for_a_background_task_gets_no_reminder(claude: Claude, model: Model) -> None:
    """The task ends after the agent was allowed to stop."""
    work = "while [ ! -e go ]; do sleep 0.1; done"
    model.script(
        call("Bash", command=work, description="work", run_in_background=True),
        Turn("I wait for it."),
        step("next"),
        step("next"),
        Turn("Done."),
    )
    with claude.spawn("/workflow w tea", *FREE) as process:
        assert process.stdout
        for line in process.stdout:
            if is_answer_to_a_stop(json.loads(line)):
                break
        claude.write("go", "")
        ran = ended(process)
    assert ran.result == "Done."
    assert reminders(model) == []
