"""What a phase denies does not run in any host: in the main conversation, in subagents, through other tools."""

from __future__ import annotations

import pytest

from handrail.agents.probe.scripted_model import Turn, tool_turn
from real.guests.guest import Guest, Phase

PROTECTED = "which belongs to Handrail or controls its hooks"


@pytest.mark.spread(2)
@pytest.mark.parametrize("rule", ["blacklist: [edit, write, bash]", "whitelist: [read]"])
def test_a_denied_call_does_not_run_and_the_model_is_told_why(guest: Guest, rule: str) -> None:
    guest.workflow("w", Phase("look", f"tools:\n  {rule}"), Phase("build"))
    guest.model.script(
        guest.write("one.txt"),
        guest.shell("echo two > two.txt"),
        guest.step("next"),
        guest.write("three.txt"),
        guest.step("next"),
        Turn("Done."),
    )
    guest.start("w tea")
    assert [name for name in ("one.txt", "two.txt", "three.txt") if guest.made(name)] == ["three.txt"]
    texts = [request.text for request in guest.model.received()]
    assert texts[2].count("is not allowed in the phase Look of W") == 2
    assert guest.at() == "done"


def test_a_subagent_is_gated_and_cannot_move_the_workflow(guest: Guest) -> None:
    guest.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(
        tool_turn(guest.subagent("write sub.txt"), text="I delegate."),
        guest.write("sub.txt"),
        guest.step("next"),
        guest.report("I could not."),
        Turn("Then I stop."),
    )
    guest.start("w tea")
    assert not guest.made("sub.txt")
    assert guest.at() == "look"
    texts = [request.text for request in guest.model.received()]
    assert any("is not allowed in the phase Look of W" in text for text in texts[2:])
    assert len(texts) == 5, "the subagent's turns are its own"
    assert any("main conversation" in text for text in texts[3:])


@pytest.mark.spread(2)
@pytest.mark.parametrize("phase", ["tools:\n  blacklist: [fetch]", "tools:\n  whitelist: [write, bash]"])
def test_files_that_control_the_hooks_are_protected_in_every_phase(guest: Guest, phase: str) -> None:
    guest.workflow("w", Phase("look", phase))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    own, host = next(iter(guest.settings())), guest.seat.host
    guest.model.script(
        tool_turn(host.write(own, "planted")),
        tool_turn(host.shell(f"echo planted > {own}")),
        tool_turn(host.write(guest.state / "planted", "x")),
        Turn("I stop."),
    )
    guest.start("w tea")
    assert not own.exists() or "planted" not in own.read_text()
    assert not (guest.state / "planted").exists()
    assert guest.told().count(PROTECTED) == 3
    assert guest.at() == "look"


@pytest.mark.rarely("opencode")
def test_two_conversations_are_independent(guest: Guest) -> None:
    guest.workflow("quiet", Phase("first", "tools:\n  blacklist: [edit, write]"), Phase("second"))
    guest.workflow("loud", Phase("first"), Phase("second", "tools:\n  blacklist: [edit, write]"))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(Turn("A stop."))
    quiet = guest.thread(guest.start("quiet tea"))
    guest.model.script(Turn("A stop."))
    loud = guest.thread(guest.start("loud coffee"))
    for thread, name in ((quiet, "quiet.txt"), (loud, "loud.txt")):
        guest.model.script(guest.write(name), Turn("A stop."))
        guest.run("write it", thread)
    assert (guest.made("quiet.txt"), guest.made("loud.txt")) == (False, True)
    guest.model.script(guest.step("next"), Turn("A stop."))
    guest.run("go on", loud)
    assert (guest.at("tea"), guest.at("coffee")) == ("first", "second")
    guest.handrail("cancel", "--yes", "--session", guest.session("tea")["session"])
    for thread, name in ((quiet, "freed.txt"), (loud, "bound.txt")):
        guest.model.script(guest.write(name), Turn("A stop."))
        guest.run("write it", thread)
    assert (guest.made("freed.txt"), guest.made("bound.txt")) == (True, False)
