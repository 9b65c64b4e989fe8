"""An agent that cannot go on says so, and a person answers; a person cancels, keeps or moves a session."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys

import pytest

from handrail.extensions.callers import OPEN
from handrail.extensions.registry import Registry
from support import Project

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
WAIT = 60.0
AGENT, (VARIABLE, *_) = next((name, variables) for name, (variables, _) in Registry().signs().items() if variables)


@pytest.fixture
def ship(project: Project) -> Project:
    project.workflow("ship", ["plan", "build", "check"], 'completionMessage: "RELEASE IS OUT"\n')
    project.phase("ship", "plan", "tools:\n  blacklist: [edit]\n")
    project.json("start", "ship", "version 2", "--session", "s")
    return project


def test_a_blocked_session_waits_for_a_person_with_reason_and_question(ship: Project) -> None:
    view = ship.json("blocked", "there is no key", "--question", "Where is the key?", "--session", "s")
    assert (view["status"], view["reason"], view["question"]) == ("waiting", "there is no key", "Where is the key?")
    assert view["phase"]["id"] == "plan"
    assert view["statusLine"] == "Ship > • Plan [1/3]"
    said = ship.run("status").out
    assert "? The agent cannot go on: there is no key" in said
    assert "`handrail unblock --note 'your answer'`" in said


def test_a_blocked_session_stays_gated_and_cannot_be_left(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    assert json.loads(ship.run("gate", "edit", "--session", "s").out)["allow"] is False
    assert ship.json("next", code=1)["refused"] == "waiting"
    assert ship.json("loop", code=1)["refused"] == "waiting"
    assert ship.json("status")["path"] == [["ship", 0]]


def test_an_answer_is_in_the_context_of_the_agent_until_the_phase_is_left(ship: Project) -> None:
    ship.json("blocked", "there is no key", "--question", "Where is it?")
    assert "there is no key. It asks: Where is it?" in ship.run("context").out
    view = ship.json("unblock", "--note", "in the drawer")
    assert (view["status"], view["question"]) == ("active", None)
    assert "**A person answered: in the drawer**" in ship.run("context").out
    ship.json("next")
    assert "in the drawer" not in ship.run("context").out


def test_a_session_is_answered_by_its_id(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    assert ship.json("answer", "s", "in", "the", "drawer")["note"] == "A person answered: in the drawer"


def test_a_session_that_asks_nothing_takes_no_answer(ship: Project) -> None:
    assert ship.json("unblock", code=1)["refused"] == "not-asked"


def test_blocked_is_not_done_and_ends_no_workflow(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    (session,) = ship.json("sessions", "--active")["sessions"]
    assert session["status"] == "waiting"
    assert "?" in ship.run("sessions").out
    assert ship.run("start", "ship", "other", "--session", "s").code == 1


def test_a_person_cancels_a_blocked_session(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    assert ship.json("cancel", "--yes")["status"] == "cancelled"


def test_a_cancelled_workflow_never_says_that_it_is_done(ship: Project) -> None:
    view = ship.json("cancel", "--yes")
    assert "RELEASE IS OUT" not in view["message"]
    assert view["message"].startswith("Ship was cancelled by a script in the phase Plan.")
    assert "RELEASE IS OUT" not in ship.run("status", "--session", "s").out


def test_the_end_of_a_workflow_still_says_its_message(ship: Project) -> None:
    for _ in range(3):
        view = ship.json("next", "--session", "s")
    assert "RELEASE IS OUT" in view["message"]


def test_the_log_says_who_did_what(ship: Project) -> None:
    ship.json("next", "--summary", "planned")
    ship.json("loop")
    ship.json("blocked", "there is no key", "--question", "Where is it?")
    ship.json("unblock", "--reason", "in the drawer")
    ship.json("goto", "check", "--reason", "only this is left")
    ship.json("cancel", "--yes")
    said = ship.run("log", "s").out
    assert "a script starts over at • Plan [1/3]" in said
    assert "a script cannot go on in Plan: there is no key. It asks: Where is it?" in said
    assert "a script answered: in the drawer" in said
    assert "a script moved it to • Check [3/3]: only this is left" in said
    assert "the workflow was cancelled by a script in Check" in said


def test_a_person_moves_a_session_to_any_phase(ship: Project) -> None:
    for summary in ("planned", "built"):
        ship.json("next", "--summary", summary)
    view = ship.json("goto", "build", "--reason", "the build is wrong")
    assert (view["phase"]["id"], view["steps"]) == ("build", 3)
    assert view["summaries"] == [{"phase": "Plan", "summary": "planned"}]
    assert "**A person moved the workflow here: the build is wrong**" in ship.run("context").out
    assert ship.json("goto", "3", "--reason", "it is right")["phase"]["id"] == "check"
    assert ship.json("goto", "Plan", "--reason", "again")["phase"]["id"] == "plan"


def test_phases_that_a_person_skips_are_not_shown_as_done(ship: Project) -> None:
    ship.json("next")
    ship.json("goto", "check", "--note", "no time")
    assert [
        line.strip() for line in ship.run("status").out.splitlines() if line.startswith("  ") and " • " in line
    ] == ["✓ 1. • Plan", "· 2. • Build (skipped)", "● 3. • Check"]
    ship.json("goto", "plan", "--reason", "once more")
    ship.json("goto", "check", "--reason", "no")
    assert ship.run("status").out.count("(skipped)") == 2
    ship.json("goto", "build", "--reason", "there is time")
    ship.json("next")
    assert "✓ 2. • Build\n" in ship.run("status").out
    assert "! A person skipped: Plan\n" in ship.run("next").out


def test_next_while_the_session_waits_says_how_to_answer(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    assert "`handrail unblock --note 'your answer'`" in ship.run("next").out


def test_next_while_the_session_waits_says_that_it_was_refused(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    said = ship.run("next")
    assert said.code == 1
    assert "\nRefused: the session stays in this phase until a person has answered.\n? " in said.out


def test_an_answer_without_a_run_names_the_session_that_waits(ship: Project) -> None:
    assert "hint: `handrail list` shows what can be run" in ship.run("answer", "last", "x").err
    ship.json("blocked", "there is no key")
    said = ship.run("answer", "last", "go on")
    assert said.code == 1
    assert "hint: session `s` waits: `handrail unblock --session s --note TEXT`" in said.err


def test_a_move_ends_the_wait_for_a_person(ship: Project) -> None:
    ship.json("blocked", "there is no key")
    view = ship.json("goto", "build", "--reason", "it needs no key")
    assert (view["status"], view["question"]) == ("active", None)


def test_a_move_to_a_phase_that_is_not_there_names_the_phases(ship: Project) -> None:
    said = ship.run("goto", "biuld", "--reason", "x")
    assert said.code == 1
    assert "Ship has no phase `biuld`" in said.err
    assert "`2` build" in said.err


def test_a_phase_that_is_there_twice_is_named_by_its_number(project: Project) -> None:
    project.workflow("inner", ["look"], "show: workflows\n")
    project.workflow("twice", ["@inner", "build", "@inner"])
    project.json("start", "twice", "it")
    said = project.run("goto", "look", "--reason", "x")
    assert "`1.1`, `3.1`" in said.err
    assert project.json("goto", "3.1", "--reason", "x")["path"] == [["twice", 2], ["inner", 0]]


ONLY_PEOPLE = [("goto", "build", "--reason", "x"), ("unblock",), ("answer", "s", "yes"), ("cancel", "--yes")]


@pytest.mark.parametrize("argv", ONLY_PEOPLE, ids=" ".join)
def test_an_agent_may_not_answer_or_move(ship: Project, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]) -> None:
    ship.json("blocked", "there is no key")
    (ship.home / "state" / OPEN).unlink()
    monkeypatch.setenv(VARIABLE, "1")
    said = ship.run(*argv)
    assert said.code == 1
    assert "only a person may run" in said.err
    assert ship.json("status")["status"] == "waiting"


def test_an_agent_may_say_that_it_is_blocked(ship: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (ship.home / "state" / OPEN).unlink()
    monkeypatch.setenv(VARIABLE, "1")
    assert ship.json("blocked", "there is no key")["by"] == f"agent:{AGENT}"


def test_a_person_is_told_by_the_channels_of_the_settings(ship: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    told, script = ship.folder / "told.json", ship.folder / "tell.py"
    script.write_text(f"import sys; open({str(told)!r}, 'wb').write(sys.stdin.buffer.read())\n")
    settings = ship.home / "config" / "settings.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"notify:\n- command: [{sys.executable}, {script}]\n")
    (ship.home / "state" / OPEN).unlink()
    monkeypatch.setenv(VARIABLE, "1")
    ship.json("blocked", "the key 1234 is refused")
    alert = json.loads(told.read_text())
    assert (alert["kind"], alert["session"]) == ("need", "s")
    assert alert["text"] == "Ship version 2: the agent is blocked and asks you"


def test_a_reason_is_needed(ship: Project) -> None:
    assert ship.run("blocked", " ").code == 2
    assert ship.run("goto", "build", "--reason", "").code == 2
    assert ship.run("goto", "build").code == 2


@pytest.mark.parametrize(("answer", "phase"), [("y", "plan"), ("n", "build")])
def test_on_a_terminal_a_person_is_asked_before_a_loop(ship: Project, answer: str, phase: str) -> None:
    ship.json("next")
    screen, inside = pty.openpty()
    argv = [HANDRAIL, "loop", "--session", "s"]
    child = subprocess.Popen(argv, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    seen = b""
    while b"[y/N]" not in seen:
        ready, _, _ = select.select([screen], [], [], WAIT)
        assert ready, seen
        seen += os.read(screen, 4096)
    assert b"Go back to the first phase?" in seen
    os.write(screen, answer.encode() + b"\n")
    assert child.wait(WAIT) == (0 if answer == "y" else 1)
    os.close(screen)
    assert ship.json("status")["phase"]["id"] == phase


def test_a_loop_without_a_terminal_or_with_yes_asks_nobody(ship: Project) -> None:
    ship.json("next")
    assert ship.json("loop")["phase"]["id"] == "plan"
    assert ship.json("loop", "--yes")["phase"]["id"] == "plan"
