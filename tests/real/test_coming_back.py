"""Ended, killed, continued and forked conversations: the phase, the gate and the texts stay the same."""

from __future__ import annotations

import json

import pytest

from real.claude import FREE, Claude, Ran, ended, new_id
from real.guests.guest import Phase, mark
from real.model import Model, Turn, tool_results
from real.turns import call, step, write
from real.waiting import until

STOPS = tuple(Turn(f"stop {n}") for n in range(4))
DENIED = "Write is not allowed in the phase Build of W."
BUILD = mark("w", "build")


@pytest.fixture(autouse=True)
def _workflow(claude: Claude) -> None:
    """Three phases. All except the last deny writing."""
    closed = "tools: {blacklist: [write]}"
    claude.workflow("w", Phase("look", closed), Phase("build", closed), Phase("ship"))


def begun(claude: Claude, model: Model, *more: Turn) -> str:
    """A conversation that moved to its second phase, continued, and was allowed to stop."""
    conversation = new_id()
    model.script(step("next"), *more, *STOPS)
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert claude.at(conversation) == "build"
    return conversation


def conversation_of(ran: Ran) -> str:
    return str(next(e["session_id"] for e in ran.events if e.get("subtype") == "init"))


def killed(claude: Claude, model: Model) -> str:
    """A conversation whose program was killed with SIGKILL in its second phase."""
    conversation = new_id()
    before = len(model.received())
    model.script(step("next"), Turn("I think about it.", held=True))
    with claude.spawn("/workflow w tea", *FREE, "--session-id", conversation) as process:
        model.wait(before + 2)
        process.kill()
        ended(process)
    return conversation


def test_a_killed_conversation_is_resumed_in_the_same_phase_with_the_same_gate(claude: Claude, model: Model) -> None:
    conversation = killed(claude, model)
    assert claude.at(conversation) == "build"
    model.script(write(claude), *STOPS)
    claude.run("go on", *FREE, "--resume", conversation)
    assert any(DENIED in result for result in tool_results(model.received()[-1]))
    assert model.last_texts().count(BUILD) == 1
    assert claude.at(conversation) == "build"
    assert not (claude.project / "written.txt").exists()


def test_continuing_the_newest_conversation_moves_that_one(claude: Claude, model: Model) -> None:
    older, newer = begun(claude, model), killed(claude, model)
    model.script(write(claude, "early"), step("next"), write(claude, "late"), step("next"), Turn("Done."))
    ran = claude.run("go on", *FREE, "--continue")
    assert conversation_of(ran) == newer
    assert (claude.at(newer), claude.at(older)) == ("done", "build")
    assert [name for name in ("early", "late") if (claude.project / name).exists()] == ["late"]


def test_a_lost_result_of_a_move_is_repeated_after_resuming(claude: Claude, model: Model) -> None:
    """The program is killed between the move and its result: the session moved, but the history does not show it."""
    reached = claude.home / "reached"
    slow = {"type": "command", "command": f"touch {reached}; exec sleep 60"}
    hooks = {"hooks": {"PostToolUse": [{"matcher": ".*workflow_step", "hooks": [slow]}]}}
    conversation = new_id()
    model.script(step("next"))
    options = ("--session-id", conversation, "--settings", json.dumps(hooks))
    with claude.spawn("/workflow w tea", *FREE, *options) as process:
        until(reached.exists, "the tool's result")
        process.kill()
        ended(process)
    assert claude.at(conversation) == "build"
    model.script(*STOPS)
    claude.run("go on", *FREE, "--resume", conversation)
    assert model.last_texts().count(BUILD) == 1


def test_a_fork_continues_at_the_same_phase_in_its_own_session(claude: Claude, model: Model) -> None:
    parent = begun(claude, model)
    model.script(write(claude), *STOPS)
    fork = conversation_of(claude.run("go on", *FREE, "--resume", parent, "--fork-session"))
    assert fork != parent
    assert any(DENIED in result for result in tool_results(model.received()[-1]))
    assert BUILD in model.last_texts()
    assert (claude.at(parent), claude.at(fork)) == ("build", "build")


def test_a_fork_and_its_parent_move_independently(claude: Claude, model: Model) -> None:
    parent = begun(claude, model)
    model.script(step("next"), write(claude, "by-fork"), *STOPS)
    fork = conversation_of(claude.run("go on", *FREE, "--resume", parent, "--fork-session"))
    assert (claude.at(parent), claude.at(fork)) == ("build", "ship")
    assert (claude.project / "by-fork").exists()
    model.script(write(claude, "by-parent"), step("next"), step("next"), Turn("Done."))
    claude.run("go on", *FREE, "--resume", parent)
    assert (claude.at(parent), claude.at(fork)) == ("done", "ship")
    assert not (claude.project / "by-parent").exists()


def test_a_long_conversation_can_be_forked(claude: Claude, model: Model) -> None:
    parent = begun(claude, model, Turn("words " * 100_000))
    model.script(write(claude), *STOPS)
    fork = conversation_of(claude.run("go on", *FREE, "--resume", parent, "--fork-session"))
    assert claude.at(fork) == "build"
    assert not (claude.project / "written.txt").exists()


def test_a_fork_of_a_conversation_without_a_workflow_has_none(claude: Claude, model: Model) -> None:
    begun(claude, model)
    free = new_id()
    model.script(Turn("Hello."))
    claude.run("hello", *FREE, "--session-id", free)
    model.script(write(claude), Turn("Done."))
    fork = conversation_of(claude.run("go on", *FREE, "--resume", free, "--fork-session"))
    assert (claude.project / "written.txt").exists()
    assert not claude.link(fork).exists()


def test_a_cancel_request_does_not_survive_a_resume(claude: Claude, model: Model) -> None:
    (claude.project / ".handrail" / "settings.yaml").write_text("cancel: agent\n", encoding="utf-8")
    conversation = new_id()
    before = len(model.received())
    model.script(step("cancel"), Turn("Shall I?", held=True))
    with claude.spawn("/workflow w tea", *FREE, "--session-id", conversation) as process:
        model.wait(before + 2)
        process.kill()
        ended(process)
    model.script(step("cancel"), *STOPS)
    claude.run("go on", *FREE, "--resume", conversation)
    assert claude.at(conversation) == "look"


def test_a_tool_call_does_not_repeat_the_phase(claude: Claude, model: Model) -> None:
    conversation = begun(claude, model, call("Read", file_path=str(claude.project / ".handrail")))
    model.script(*STOPS)
    claude.run("go on", *FREE, "--resume", conversation)
    assert model.last_texts().count(BUILD) == 1
