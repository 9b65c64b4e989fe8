"""Codex as a host, beyond the common tests: models that call tools from scripts, the trust of hooks, tools without
hooks, and commands that are typed while the agent works."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from handrail.agents.codex.offline import KEY
from handrail.agents.probe.scripted_model import ScriptedCall, Turn, tool_turn
from real.guests.codex import Codex
from real.guests.guest import Phase, mark
from real.waiting import until

PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+x\n*** End Patch\n"


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Codex]:
    guest = Codex(tmp_path)
    guest.handrail("install", "codex")
    yield guest
    guest.close()


def script(text: str) -> ScriptedCall:
    """A call of a model that writes scripts, which call the tools."""
    return "functions__exec", text


def use_scripts(codex: Codex) -> None:
    codex.config.write_text(codex.config.read_text().replace('model = "gpt-5.5"', 'model = "gpt-6.1-sol"'))


def test_a_model_that_calls_tools_from_scripts_is_held_to_the_phases(codex: Codex) -> None:
    use_scripts(codex)
    codex.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    patch = script(f"text(await tools.apply_patch({json.dumps(PATCH)}))")
    codex.model.script(
        tool_turn(patch),
        tool_turn(script("text(await tools.exec_command({cmd: 'echo seen > shell.txt'}))")),
        Turn("I stop here."),
        codex.step("next", "looked"),
        tool_turn(patch),
        codex.step("next", "built"),
        Turn("All done."),
    )
    ran = codex.start("w tea")
    assert "All done." in ran.out
    assert codex.at() == "done"
    texts = [request.text for request in codex.model.received()]
    assert mark("w", "look") in texts[0]
    assert "is not allowed in the phase Look of W" in texts[1]
    assert "is not done yet" in texts[3]
    assert (codex.made("shell.txt"), codex.made("patched.txt")) == (True, True)


@pytest.mark.parametrize("is_guided", [False, True], ids=["installed", "of a run"])
def test_a_shell_that_stays_open_takes_no_input(codex: Codex, is_guided: bool) -> None:
    """No hook sees what is typed into a running program, so no program may have a terminal."""
    use_scripts(codex)
    codex.workflow("w", Phase("look"))
    typing = (
        "const r = await tools.exec_command({cmd: 'sh', tty: true, yield_time_ms: 1000});"
        "try { await tools.write_stdin({session_id: r.session_id, chars: 'touch hole.txt\\n', yield_time_ms: 1000}) }"
        "catch (e) { text(String(e)) }"
    )
    codex.model.script(tool_turn(script(typing)), codex.step("next"), Turn("Done."))
    if is_guided:
        codex.handrail("uninstall", "codex")
        codex.handrail("run", "w", "tea", "--agent", "codex")
    else:
        codex.start("w tea")
    assert codex.at() == "done"
    assert not codex.made("hole.txt")


def test_a_patch_in_the_shell_is_a_patch(codex: Codex) -> None:
    codex.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"))
    codex.file(".handrail/settings.yaml", "idleStops: 0\n")
    codex.model.script(codex.shell(f"apply_patch <<'EOF'\n{PATCH}EOF"), codex.shell("echo ran > ran.txt"), Turn("stop"))
    codex.start("w tea")
    assert (codex.made("patched.txt"), codex.made("ran.txt")) == (False, True)
    assert "apply_patch is not allowed in the phase Look of W" in codex.told()


def test_a_list_that_allows_only_reading_allows_commands_that_only_read(codex: Codex) -> None:
    codex.workflow("w", Phase("look", "tools:\n  whitelist: [read, search]"))
    codex.file(".handrail/settings.yaml", "idleStops: 0\n")
    codex.file("a.txt", "what a.txt says\n")
    codex.model.script(codex.shell("cat a.txt | head -3"), codex.shell("cat a.txt > b.txt"), Turn("stop"))
    codex.start("w tea")
    assert "what a.txt says" in codex.told()
    assert not codex.made("b.txt")


def test_hooks_of_the_person_keep_the_trust_that_they_have(codex: Codex) -> None:
    """Two hooks of the person: one is trusted, one is not. Installing Handrail changes neither."""
    codex.handrail("uninstall", "codex")
    own = [{"hooks": [{"type": "command", "command": f"touch {codex.home}/{name}"}]} for name in ("yes", "no")]
    listed = codex.home / ".codex" / "hooks.json"
    listed.write_text(json.dumps({"hooks": {"Stop": own}}))
    hook = {"async": False, "command": own[0]["hooks"][0]["command"], "timeout": 600, "type": "command"}
    text = json.dumps({"event_name": "stop", "hooks": [hook]}, sort_keys=True, separators=(",", ":"))
    trust = f'[hooks.state."{listed}:stop:0:0"]\ntrusted_hash = "sha256:{sha256(text.encode()).hexdigest()}"\n'
    codex.config.write_text(f"{codex.config.read_text()}\n{trust}")
    codex.handrail("install", "codex")
    codex.workflow("w", Phase("look"))
    codex.model.script(codex.step("next"), Turn("Done."))
    codex.start("w tea")
    assert codex.at() == "done"
    assert ((codex.home / "yes").exists(), (codex.home / "no").exists()) == (True, False)


def test_a_workflow_does_not_move_while_codex_skips_the_gate(codex: Codex) -> None:
    """Codex trusts a hook at its place in the list. Another hook before ours moves it, and Codex skips it silently."""
    codex.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    listed = codex.home / ".codex" / "hooks.json"
    hooks = json.loads(listed.read_text())
    hooks["hooks"]["PreToolUse"].insert(0, {"hooks": [{"type": "command", "command": "true"}]})
    listed.write_text(json.dumps(hooks))
    codex.file(".handrail/settings.yaml", "idleStops: 0\n")
    codex.model.script(codex.step("next"), Turn("I stop."))
    thread = codex.thread(codex.start("w tea"))
    assert codex.at() == "look"
    assert "the hooks of Handrail do not run here" in codex.told()
    codex.handrail("install", "codex")
    codex.model.script(codex.write("bound.txt"), codex.step("next"), Turn("I stop."))
    codex.run("go on", thread)
    assert codex.at() == "build"
    assert not codex.made("bound.txt")


def test_settings_that_codex_wrote_meanwhile_survive_uninstalling(codex: Codex) -> None:
    codex.model.script(Turn("Hello."))
    with codex.screen() as screen:
        screen.say("/permissions")
        screen.wait("Full Access")
    before = codex.config.read_text()
    codex.config.write_text(before + '\n[mcp_servers.handrail.tools.workflow_step]\napproval_mode = "approve"\n')
    codex.handrail("uninstall", "codex")
    left = codex.config.read_text()
    assert "handrail" not in left
    assert 'model = "gpt-5.5"' in left
    ran = codex.run("hello")
    assert ran.code == 0, ran


def test_a_cancel_that_is_typed_while_the_agent_works_comes_after_the_call(codex: Codex) -> None:
    codex.workflow("w", Phase("look"))
    codex.model.script(codex.shell("touch here; until [ -e gone ]; do sleep 0.1; done"), Turn("never said"))
    with codex.screen() as screen:
        screen.say(f"{codex.start_command} w tea")
        until((codex.project / "here").exists, "the command to run")
        screen.say(codex.cancel_command)
        screen.wait("to be submitted")
        codex.file("gone", "")
        codex.until_at("cancelled")
        screen.wait("Blocked by hook")
        assert len(codex.model.received()) == 1, "the model gets no turn after the cancel"


def test_calls_that_hooks_denied_are_part_of_a_run(codex: Codex) -> None:
    codex.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"))
    codex.model.script(codex.write("bound.txt"), codex.step("next"), Turn("Done."))
    ran = json.loads(codex.handrail("run", "w", "tea", "--agent", "codex", "--json").stdout)
    assert ran["phases"][0]["steps"][0]["value"]["denied"] == 1


def test_an_agent_cannot_cancel_by_resuming_its_own_conversation(codex: Codex) -> None:
    """Codex itself refuses: a conversation that runs cannot be resumed a second time."""
    codex.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"))
    codex.file(".handrail/settings.yaml", "idleStops: 0\n")
    codex.model.script(Turn("A stop."))
    thread = codex.thread(codex.start("w tea"))
    program = f"PATH={codex.env['PATH']} {KEY}=fake codex exec -s danger-full-access --skip-git-repo-check"
    codex.model.script(codex.shell(f"{program} resume {thread} '$cancel-workflow' > inner.txt 2>&1"), Turn("stop"))
    codex.run("go on", thread)
    assert "already has an active writer" in (codex.project / "inner.txt").read_text()
    assert codex.at() == "look"
