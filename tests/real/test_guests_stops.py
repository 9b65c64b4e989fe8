"""An agent that stops in every host: sent on while it makes progress, let go with a reason, never against a person."""

from __future__ import annotations

import pytest

from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest, Phase
from real.waiting import until

REMINDED = "is not done yet"
THINKING = Turn("I think about it.", hang=True)
"""An answer that ends only if it is interrupted."""


@pytest.fixture(autouse=True)
def _workflow(guest: Guest) -> None:
    guest.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))


@pytest.mark.rarely("opencode")
def test_an_agent_without_progress_may_stop(guest: Guest) -> None:
    guest.file(".handrail/settings.yaml", "idleStops: 2\n")
    guest.model.script(*[Turn(f"stop {n}") for n in range(10)])
    ran = guest.start("w tea")
    assert ran.code == 0, ran
    assert guest.at() == "look"
    assert len(guest.model.received()) == 3
    assert REMINDED in guest.told()


def test_an_agent_that_makes_progress_is_sent_on(guest: Guest) -> None:
    work = [turn for n in range(5) for turn in (guest.shell(f"echo {n}"), Turn(f"stop {n}"))]
    turns = [*work, guest.step("next"), Turn("a stop"), guest.step("next"), Turn("Done.")]
    guest.model.script(*turns)
    guest.start("w tea")
    assert guest.at() == "done"
    assert len(guest.model.received()) == len(turns)


def test_a_blocked_agent_may_stop_and_a_persons_prompt_lets_it_go_on(guest: Guest) -> None:
    guest.model.script(guest.step("blocked", "there is no key"), Turn("I wait for you."), Turn("not asked for"))
    ran = guest.start("w tea")
    assert len(guest.model.received()) == 2
    session = guest.session("tea")
    assert (session["status"], session["reason"]) == ("waiting", "there is no key")
    guest.model.script(guest.step("next"), guest.step("next"), Turn("Done."))
    guest.run("it is in the drawer", guest.thread(ran))
    assert guest.at() == "done"


def test_an_interrupt_by_a_person_is_final_until_the_next_prompt(guest: Guest) -> None:
    guest.model.script(guest.step("next"), THINKING, Turn("never said"))
    with guest.screen() as screen:
        screen.say(f"{guest.start_command} w make tea")
        until(lambda: len(guest.model.received()) >= 2, "two requests")
        screen.wait("I think about it.")
        screen.key(guest.interrupt)
        screen.wait(guest.interrupted)
        assert guest.at() == "build"
        assert len(guest.model.received()) == 2
        guest.model.script(Turn("A short answer."), guest.step("next"), Turn("All done."))
        screen.say("go on")
        screen.wait("All done.")
        guest.until_at("done")
    assert any(REMINDED in request.text for request in guest.model.received()), "after a prompt, it is sent on again"


def test_a_person_cancels_in_the_terminal(guest: Guest) -> None:
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(Turn("I wait for you."))
    with guest.screen() as screen:
        screen.say(f"{guest.start_command} w make tea")
        screen.wait("I wait for you.")
        guest.until_at("look")
        asked = len(guest.model.received())
        screen.say(guest.cancel_command)
        guest.until_at("cancelled")
        guest.model.script(guest.write("free.txt"), Turn("It is written."))
        screen.say("write it")
        screen.wait("It is written.")
    assert guest.made("free.txt")
    assert len(guest.model.received()) - asked in (2, 3), "a host that has no own commands may give the model a turn"
