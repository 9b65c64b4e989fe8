"""Failures inside Handrail: calls are denied while a workflow is active, else allowed; a person can always cancel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from real.claude import FREE, Claude, ended, new_id
from real.guests.guest import Phase
from real.model import Model, Turn, tool_results
from real.turns import bash, step, write

FAILED = "Handrail's gate failed, so this tool stays blocked while the workflow is active."
UNDECIDED = "Handrail cannot decide about `Write`"
PYTHONS = {
    "fails": "exit 1",
    "shows a traceback": "echo 'Traceback (most recent call last):' >&2; exit 1",
    "is killed": "kill -9 $$",
    "prints garbage": "echo 'It is fine, I think.'",
    "prints broken JSON": """echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse"'""",
    "prints nothing": "exit 0",
    "is missing": None,
}
SPOIL = "for f in {}; do cp $f old; { printf x; cat old old; } >$f; done"
DAMAGE = {
    "card and journal are damaged": SPOIL.replace("{}", "card journal", 1),
    "the pinned plan is damaged": "rm card; " + SPOIL.replace("{}", "plan-*", 1),
    "the pinned plan is missing": "rm card plan-*",
    "the journal cannot be opened": "rm journal; mkdir journal",
    "the journal is missing": "rm journal",
    "the session's folder is missing": "rm -r $PWD",
    "the link is empty": ": >$LINK",
    "the link is damaged": "echo '{\"folder\": 1}' >$LINK",
}


@pytest.fixture(autouse=True)
def _workflow(claude: Claude) -> None:
    """One phase that allows everything, so every denial is caused by a failure."""
    claude.workflow("w", Phase("look"))
    claude.write(".handrail/settings.yaml", "idleStops: 0\n")


def script(claude: Claude, body: str) -> Turn:
    """A turn that runs these commands from a file: Claude Code asks before it runs a command that names `.claude`."""
    file = claude.home / "script.sh"
    file.write_text(body)
    return bash(f"sh {file}")


def break_python(claude: Claude, body: str | None, stub: str = "gate") -> Turn:
    """A turn that replaces the interpreter of a stub by a script with this body; None names a missing program."""
    fake, file = claude.home / "fake-python", claude.home / ".claude" / "skills" / "handrail" / "bin" / stub
    if body is not None:
        fake.write_text(f"#!/bin/sh\n{body}\n")
        fake.chmod(0o755)
    assert sys.executable in file.read_text()
    return script(claude, f"sed -i 's|{sys.executable}|{fake}|' {file}\n")


def damage(claude: Claude, conversation: str, body: str) -> Turn:
    """A turn that runs these commands in the folder of a session to damage its files."""
    sessions = claude.state / "sessions"
    return script(claude, f"LINK={claude.link(conversation)}\ncd {sessions}/*/claude-{conversation} && {body}\n")


def is_written(claude: Claude) -> bool:
    return (claude.project / "written.txt").exists()


def refusals(model: Model, reason: str) -> int:
    return sum(reason in result for result in tool_results(model.received()[-1]))


def freed(claude: Claude, model: Model, conversation: str) -> bool:
    """True if the same call runs in the same conversation after a person cancelled in another terminal."""
    claude.handrail("cancel", "--yes", "--session", f"claude-{conversation}")
    model.script(write(claude), Turn("Done."))
    claude.run("write it", *FREE, "--resume", conversation)
    return is_written(claude)


@pytest.mark.parametrize("name", PYTHONS)
def test_a_failing_gate_denies_until_a_person_cancels(claude: Claude, model: Model, name: str) -> None:
    conversation = new_id()
    model.script(break_python(claude, PYTHONS[name]), write(claude), Turn("I may not."))
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert (refusals(model, FAILED), is_written(claude)) == (1, False)
    assert f"handrail cancel --yes --session claude-{conversation}" in model.last_texts()
    assert freed(claude, model, conversation)


def test_a_gate_that_takes_too_long_is_ended_and_denies(claude: Claude, model: Model) -> None:
    """Here the hook never sees the end of its input."""
    endless = claude.home / "endless"
    os.mkfifo(endless)
    slow = f'sleep 60 >{endless} & exec {sys.executable} "$@" <{endless}'
    model.script(break_python(claude, slow), write(claude), Turn("I may not."))
    claude.run("/workflow w tea", *FREE)
    assert (refusals(model, FAILED), is_written(claude)) == (1, False)


def test_if_the_interpreter_itself_never_answers_the_host_denies(claude: Claude, model: Model) -> None:
    model.script(break_python(claude, "exec sleep 60"), write(claude), Turn("I may not."))
    claude.run("/workflow w tea", *FREE)
    assert not is_written(claude)


def test_a_failing_gate_allows_if_no_workflow_was_started(claude: Claude, model: Model) -> None:
    model.script(break_python(claude, "exit 1"), write(claude), Turn("Done."))
    claude.run("write it", *FREE)
    assert is_written(claude)


def test_other_failing_hooks_block_nothing_and_the_gate_still_denies(claude: Claude, model: Model) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"))
    conversation = new_id()
    model.script(break_python(claude, "exit 1", "event"), Turn("A stop."))
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    model.script(write(claude), Turn("Done."))
    assert claude.run("write it", *FREE, "--resume", conversation).result == "Done."
    assert (refusals(model, "Write is not allowed in the phase Look of W."), is_written(claude)) == (1, False)


@pytest.mark.parametrize("name", DAMAGE)
def test_an_unreadable_session_denies_until_a_person_cancels(claude: Claude, model: Model, name: str) -> None:
    conversation = new_id()
    model.script(damage(claude, conversation, DAMAGE[name]), write(claude), Turn("I may not."))
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert (refusals(model, UNDECIDED), is_written(claude)) == (1, False), tool_results(model.received()[-1])
    assert freed(claude, model, conversation)


def test_a_damaged_session_is_cancelled_in_the_conversation_and_others_continue(claude: Claude, model: Model) -> None:
    damaged, healthy = new_id(), new_id()
    model.script(damage(claude, damaged, DAMAGE["card and journal are damaged"]), Turn("So."))
    claude.run("/workflow w tea", *FREE, "--session-id", damaged)
    model.script(write(claude), step("next"), Turn("Done."))
    assert claude.run("/workflow w coffee", *FREE, "--session-id", healthy).result == "Done."
    assert (claude.at(healthy), is_written(claude)) == ("done", True)
    ran = claude.run("/cancel-workflow", *FREE, "--resume", damaged)
    assert "Its files are now in" in ran.result
    assert not claude.link(damaged).exists()


def servers(claude: subprocess.Popen[str]) -> list[int]:
    """The processes of our MCP server that the program has started."""
    argv = ["ps", "-o", "pid=,args=", "--ppid", str(claude.pid)]
    rows = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()
    return [int(row.split()[0]) for row in rows if "handrail mcp" in row]


def test_a_killed_server_is_restarted_and_the_workflow_continues(claude: Claude, model: Model) -> None:
    conversation = new_id()
    model.script(Turn("I think. " * 20, slow=0.1, tools=step("status").tools), step("next"), Turn("Done."))
    with claude.spawn("/workflow w tea", *FREE, "--session-id", conversation) as process:
        model.wait(1)
        (server,) = servers(process)
        os.kill(server, signal.SIGKILL)
        ran = ended(process)
    assert (ran.result, claude.at(conversation)) == ("Done.", "done")


@pytest.fixture
def small_disk(claude: Claude, tmp_path: Path) -> Iterator[Path]:
    """A small disk for Handrail's files that a test can fill."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "handrail-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    claude.handrail("uninstall", "claude")
    claude.env["HANDRAIL_HOME"] = str(place)
    claude.state = place / "state"
    claude.handrail("install", "claude")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path) -> str:
    return f"cat /dev/zero >{disk}/ballast 2>/dev/null; true\n"


def test_on_a_full_disk_the_gate_denies_and_nothing_moves(claude: Claude, model: Model, small_disk: Path) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"), Phase("build"))
    conversation = new_id()
    long = step("next", "🔧" * 2_000)  # larger than the rest of the journal's last block
    model.script(script(claude, fill(small_disk)), write(claude), long, Turn("It is full."))
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    _, denied, moved = tool_results(model.received()[-1])
    assert "Write is not allowed in the phase Look of W." in denied
    assert "No space left on device" in moved
    assert claude.at(conversation) == "look"
    (small_disk / "ballast").unlink()
    model.script(step("next"), write(claude), step("next"), Turn("Done."))
    assert claude.run("go on", *FREE, "--resume", conversation).result == "Done."
    assert is_written(claude)


def test_a_person_can_cancel_on_a_full_disk(claude: Claude, model: Model, small_disk: Path) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"))
    conversation = new_id()
    model.script(script(claude, fill(small_disk)), Turn("It is full."))
    claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert freed(claude, model, conversation)


def test_a_failed_start_on_a_full_disk_leaves_the_conversation_free(
    claude: Claude, model: Model, small_disk: Path
) -> None:
    subprocess.run(["sh", "-c", fill(small_disk)], check=True)
    conversation = new_id()
    model.script(Turn("never said"))
    ran = claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    assert "No space left on device" in ran.result
    model.script(write(claude), Turn("Done."))
    claude.run("write it", *FREE, "--session-id", new_id())
    assert is_written(claude)
    assert not claude.link(conversation).exists()
