"""Who calls a command: the agent in its own shell is refused, a person in another folder reaches the conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from real.claude import Claude, ended, new_id
from real.guests.guest import HANDRAIL, Phase
from real.model import Model, Turn, tool_results
from real.turns import bash, write

SKIP = ("--dangerously-skip-permissions",)
LOOSENING = ["cancel --yes", "start w other --replace", "reload", "uninstall claude", "prune --keep 0 --yes"]
PLAIN = f"env -i HOME=$HOME PATH=$PATH {HANDRAIL} cancel --yes"


@pytest.fixture
def guarded(claude: Claude) -> Claude:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"), Phase("build"))
    return claude


def test_an_agent_cannot_loosen_its_own_leash_from_its_shell(guarded: Claude, model: Model) -> None:
    """The last command has none of the agent's variables: the agent's process above is enough."""
    conversation = new_id()
    session = f"--session claude-{conversation}"
    own = [f"{HANDRAIL} {words}{f' {session}' if words in LOOSENING[:3] else ''}" for words in LOOSENING]
    commands = [*own, f"{PLAIN} {session}", f"printf '#!/bin/sh\\n{own[0]}\\n' > sly.sh; setsid sh sly.sh"]
    model.script(*(bash(f"{command}; echo code $?") for command in commands), write(guarded), Turn("1"), Turn("2"))
    guarded.run("/workflow w tea", *SKIP, "--session-id", conversation)
    *said, denied = tool_results(model.received()[len(commands) + 1])
    for words, result in zip([*LOOSENING, "cancel", "cancel"], said, strict=True):
        assert f"only a person may run `handrail {words.split()[0]}" in result, result
        assert result.rstrip().endswith("code 1"), result
    assert "it was started by `claude`" in said[-2]
    assert "Write is not allowed in the phase Look of W." in denied
    status = guarded.status(conversation)
    assert status["status"] == "active"
    assert "handrail cancel" in status["refusedCommands"]
    assert "an agent tried `handrail cancel`" in guarded.handrail("status", *session.split()).stdout


def test_a_person_cancels_a_conversation_from_another_folder(guarded: Claude, model: Model, tmp_path: Path) -> None:
    conversation, elsewhere = new_id(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    model.script(write(guarded), Turn("I wait.", tools=write(guarded).tools, held=True), Turn("Done."))
    with guarded.spawn("/workflow w tea", *SKIP, "--session-id", conversation) as process:
        model.wait(2)
        said = guarded.handrail("--project", str(elsewhere), "cancel", "--yes", "--session", f"claude-{conversation}")
        model.release()
        ran = ended(process)
    assert "cancelled" in said.stdout, said
    assert ran.result == "Done."
    assert (guarded.project / "written.txt").exists()
    assert guarded.at(conversation) == "cancelled"
    assert not guarded.link(conversation).exists()
