"""Every way to install, with the real program: the gate works, and foreign hooks and servers still work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.agents.claude.offline import STEP
from real.claude import FREE, LIMIT, Claude, new_id
from real.guests.guest import HANDRAIL, Phase, mark
from real.model import Model, Turn, tool_results
from real.terminal import Terminal
from real.turns import NOTES, call, step, write

DENIED = "Write is not allowed in the phase Look of W."
IN_PROJECT = "mcp__handrail__workflow_step"
CLOSED = Phase("look", "tools: {blacklist: [write]}")


@pytest.fixture(autouse=True)
def _workflow(bare: Claude) -> None:
    bare.workflow("w", CLOSED, Phase("build"))


def program(claude: Claude, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a command: `claude plugin ...`."""
    command = [claude.program, *argv]
    return subprocess.run(
        command, cwd=claude.project, env=claude.env, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def holds(claude: Claude, model: Model, tool: str = STEP) -> bool:
    """True if a workflow is started, gated, moved and finished."""
    go_on = call(tool, action="next")
    model.script(write(claude, "early"), go_on, write(claude, "late"), go_on, Turn("All done."))
    conversation = new_id()
    free = ("--allowedTools", FREE[1] + ",mcp__theirs__add")
    ran = claude.run("/workflow w tea", *free, "--session-id", conversation)
    assert ran.result == "All done.", (ran.result, ran.err)
    assert DENIED in tool_results(model.received()[-1])[0]
    assert [name for name in ("early", "late") if (claude.project / name).exists()] == ["late"]
    return claude.at(conversation) == "done"


def test_a_project_installation_works_beside_foreign_hooks_and_servers(bare: Claude, model: Model) -> None:
    ran = bare.project / "their-hook-ran"
    theirs = {"matcher": "Write", "hooks": [{"type": "command", "command": f"touch {ran}"}]}
    local = {"hooks": {"PreToolUse": [theirs]}, "enabledMcpjsonServers": ["theirs"]}
    bare.write(".claude/settings.local.json", json.dumps(local))
    server = {"command": sys.executable, "args": [str(NOTES), str(bare.project / "added.txt")], "alwaysLoad": True}
    bare.write(".mcp.json", json.dumps({"mcpServers": {"theirs": server}}))
    bare.handrail("install", "claude", "--project")
    assert holds(bare, model, IN_PROJECT)
    assert ran.exists()
    model.script(call("mcp__theirs__add", text="a note"), Turn("Done."))
    bare.run("add a note", "--allowedTools", "mcp__theirs__add")
    assert (bare.project / "added.txt").read_text() == "a note\n"


def test_both_installations_together_work_and_say_everything_once(bare: Claude, model: Model) -> None:
    bare.handrail("install", "claude")
    bare.handrail("install", "claude", "--project")
    assert holds(bare, model, IN_PROJECT), "Claude Code starts a server once, under the project's name"
    go_on = call(IN_PROJECT, action="next")
    model.script(Turn("A stop."), go_on, go_on, Turn("Done."))
    bare.run("/workflow w tea", *FREE)
    assert model.last_texts().count("W is not done yet") == 1
    assert model.last_texts().count(mark("w", "look")) == 1


def test_another_configuration_folder_is_respected(bare: Claude, model: Model, tmp_path: Path) -> None:
    bare.env["CLAUDE_CONFIG_DIR"] = str(tmp_path / "elsewhere")
    bare.handrail("install", "claude")
    assert not (bare.home / ".claude" / "skills").exists()
    assert holds(bare, model)
    bare.handrail("uninstall", "claude")
    assert list((tmp_path / "elsewhere" / "skills").rglob("*")) == [tmp_path / "elsewhere" / "skills" / "handrail"]


def test_the_plugin_and_the_marketplace_pass_claudes_validation(claude: Claude, tmp_path: Path) -> None:
    claude.handrail("marketplace", str(tmp_path / "market"))
    plugin = claude.home / ".claude" / "skills" / "handrail"
    for folder in (plugin, tmp_path / "market", tmp_path / "market" / "plugins" / "handrail"):
        said = program(claude, "plugin", "validate", str(folder), "--strict")
        assert (said.returncode, "Validation passed" in said.stdout) == (0, True), said.stdout + said.stderr


def test_the_plugin_from_the_marketplace_works(bare: Claude, model: Model, tmp_path: Path) -> None:
    bare.env["PATH"] = f"{os.path.dirname(HANDRAIL)}{os.pathsep}{bare.env['PATH']}"
    bare.handrail("marketplace", str(tmp_path / "market"))
    for argv in (["marketplace", "add", str(tmp_path / "market")], ["install", "handrail@handrail"]):
        said = program(bare, "plugin", *argv)
        assert said.returncode == 0, said.stdout + said.stderr
    assert holds(bare, model)


def test_uninstalling_during_a_workflow_ends_the_gate(claude: Claude, model: Model) -> None:
    """The running program still has its hooks, but their stubs no longer exist."""
    conversation = new_id()
    model.script(write(claude, "early"), Turn("I think.", held=True), write(claude, "late"), Turn("Done."))
    with claude.spawn("/workflow w tea", *FREE, "--session-id", conversation) as process:
        model.wait(2)
        claude.handrail("uninstall", "claude")
        model.release()
        out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, out
    model.script(write(claude, "late"), Turn("Done."))
    claude.run("go on", *FREE, "--resume", conversation)
    assert [name for name in ("early", "late") if (claude.project / name).exists()] == ["late"]


def test_an_existing_status_line_is_shown_with_ours(bare: Claude, model: Model) -> None:
    line = {"type": "command", "command": "grep -q session_id && printf 'MINE gets input'"}
    (bare.home / ".claude" / "settings.json").write_text(json.dumps({"statusLine": line}))
    bare.write(".handrail/settings.yaml", "idleStops: 0\n")
    bare.handrail("install", "claude")
    with Terminal(bare, *FREE) as terminal:
        terminal.wait("MINE gets input")
        model.script(step("next"), Turn("A stop."))
        terminal.say("/workflow w make tea")
        terminal.wait("W > • Build [2/2]")
        assert "MINE gets input" in terminal.screen
    bare.handrail("uninstall", "claude")
    assert json.loads((bare.home / ".claude" / "settings.json").read_text())["statusLine"] == line
