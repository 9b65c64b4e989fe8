"""Several calls in one message of the model: a phase is left only after the model was told what to do in it."""

from __future__ import annotations

from handrail.agents.probe.scripted_model import Turn, tool_turn
from real.guests.guest import Guest, Phase


def test_one_message_makes_at_most_one_move(guest: Guest) -> None:
    guest.workflow("w", *(Phase(id_) for id_ in ("one", "two", "three", "four")))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    steps = [guest.step_call("next", f"{number}") for number in range(3)]
    guest.model.script(tool_turn(*steps), Turn("I stop."))
    guest.start("w tea")
    assert guest.at() == "two"


def test_a_call_beside_a_move_is_not_judged_by_the_phase_before(guest: Guest) -> None:
    guest.workflow("w", Phase("one"), Phase("two", "tools:\n  blacklist: [edit, write]"), Phase("three"))
    host = guest.seat.host
    beside = tool_turn(guest.step_call("next"), host.write(guest.project / "beside.txt", "x"))
    guest.model.script(beside, guest.step("next"), guest.write("later.txt"), guest.step("next"), Turn("Done."))
    guest.start("w tea")
    assert not guest.made("beside.txt")
    assert (guest.made("later.txt"), guest.at()) == (True, "done")
