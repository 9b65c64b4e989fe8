"""`handrail doctor` finds what is broken, and says how to repair it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support import Project


@pytest.fixture
def machine(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project on a machine with two agents that can say their version."""
    folder = project.folder.parent / "programs"
    folder.mkdir()
    for name, version in (("claude", "2.1.9 (Claude Code)"), ("codex", "Codex CLI 0.9.1-rc.2.")):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho '{version}'\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return project


def checks(project: Project, *argv: str, code: int = 0) -> dict[str, dict[str, Any]]:
    data = project.json("doctor", *argv, code=code)
    assert data["ok"] is (code == 0)
    return {check["id"]: check for check in data["checks"]}


def home(project: Project) -> Path:
    return project.folder.parent / "user"


def test_a_machine_in_working_order(machine: Project) -> None:
    found = checks(machine)
    assert {name: check["status"] for name, check in found.items() if name not in ("git", "identity")} == {
        "python": "ok",
        "index-lock": "ok",
        "disk": "ok",
        "notify": "skipped",
        "state": "ok",
        "locks": "ok",
        "links": "ok",
        "config": "ok",
        "playbook": "skipped",
        "agentweaver": "ok",
        "plugins": "skipped",
        "variables": "ok",
        **{f"services.{name}": "skipped" for name in ("jira", "github", "gitlab", "telegram")},
        "settings": "ok",
        "definitions": "ok",
        "sessions": "ok",
        "runs": "ok",
        "leftovers": "ok",
        "worktrees": "ok",
        "trust": "ok",
        "claude.program": "ok",
        "claude.version": "warning",
        "claude.login": "skipped",
        "claude.installed": "skipped",
        "claude.probe": "skipped",
        "codex.program": "ok",
        "codex.version": "warning",
        "codex.login": "skipped",
        "codex.installed": "skipped",
        "codex.probe": "skipped",
        **{f"{name}.program": "skipped" for name in ("copilot", "gemini", "opencode", "pi")},
    }
    assert found["claude.program"]["message"].startswith("2.1.9 at ")
    assert found["codex.program"]["message"].startswith("0.9.1-rc.2 at ")


def test_a_person_reads_the_fix_below_the_problem(machine: Project) -> None:
    machine.write(".handrail/workflows/w/workflow.yaml", "name: W\n")
    said = machine.run("doctor")
    assert said.code == 5
    lines = said.out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("✗ definitions"))
    assert lines[at + 1].strip() == "run `handrail validate`, which shows each place"


def test_wrong_settings_and_wrong_definitions_are_two_checks(machine: Project) -> None:
    machine.write(".handrail/settings.yaml", "idleStops: many\n")
    found = checks(machine, code=5)
    assert (found["settings"]["status"], found["definitions"]["status"]) == ("error", "ok")


def test_a_named_agent_has_to_be_there_and_installed(machine: Project) -> None:
    assert checks(machine, "pi", code=5)["pi.program"]["status"] == "error"
    found = checks(machine, "claude", code=5)
    assert found["claude.installed"]["fix"] == "run `handrail install claude`"
    assert not [name for name in found if name.startswith("codex")]
    machine.run("install", "claude")
    assert checks(machine, "claude")["claude.user"]["status"] == "ok"


def test_a_misspelt_agent_is_bad_usage(machine: Project) -> None:
    said = machine.run("doctor", "cluade")
    assert (said.code, "claude" in said.err) == (2, True)


def test_a_changed_stub_is_found(machine: Project) -> None:
    machine.run("install", "claude")
    gate = home(machine) / ".claude" / "skills" / "handrail" / "bin" / "gate"
    gate.write_text("exit 0\n")
    found = checks(machine, code=5)["claude.user"]
    assert str(gate) in found["message"]
    machine.run("install", "claude")
    assert checks(machine)["claude.user"]["status"] == "ok"


def test_a_stub_whose_interpreter_is_gone_is_found(machine: Project) -> None:
    machine.run("install", "claude")
    gate = home(machine) / ".claude" / "skills" / "handrail" / "bin" / "gate"
    gate.write_text(gate.read_text().replace(sys.executable, "/nowhere/bin/python3"))
    assert "`/nowhere/bin/python3`, which does not exist" in checks(machine, code=5)["claude.user"]["message"]


def test_hooks_that_codex_does_not_trust_are_found(machine: Project) -> None:
    machine.run("install", "codex")
    assert "trusts its hooks" in checks(machine)["codex.user"]["message"]
    config = home(machine) / ".codex" / "config.toml"
    config.write_text(config.read_text().replace("trusted_hash", "other_hash"))
    assert "does not trust these hooks" in checks(machine, code=5)["codex.user"]["message"]


def test_a_program_that_does_not_start_is_found(machine: Project) -> None:
    program = machine.folder.parent / "programs" / "claude"
    program.write_text("#!/bin/sh\nexit 3\n")
    found = checks(machine, code=5)["claude.program"]
    assert "ended with exit code 3" in found["message"]


def test_a_session_that_cannot_be_read_is_found(machine: Project) -> None:
    machine.workflow("w", ["look"])
    machine.json("start", "w", "x", "--session", "s1")
    folder = next((machine.home / "state" / "sessions").glob("*/s1"))
    for name in ("card", "journal"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(b"x" + data + data)
    found = checks(machine, code=5)["sessions"]
    assert found["message"] == "cannot be read: s1"
    assert "--session s1" in found["fix"]


def test_a_state_folder_that_others_can_read_is_a_warning(machine: Project) -> None:
    state = machine.home / "state"
    state.chmod(0o755)
    found = checks(machine)["state"]
    assert (found["status"], found["fix"]) == ("warning", f"run `chmod 700 {state}`")


def test_a_file_of_a_killed_process_is_left_over(machine: Project) -> None:
    left = machine.home / "state" / "card.12.new"
    left.write_text("half")
    found = checks(machine)["leftovers"]
    assert found["status"] == "warning"
    assert str(left) in found["message"]


def test_a_probe_needs_an_agent_that_is_there(machine: Project) -> None:
    assert machine.run("doctor", "--probe").code == 2
    assert machine.run("doctor", "claude", "--program", "x").code == 2
    said = machine.run("doctor", "pi", "--probe")
    assert (said.code, "`pi` is not on the PATH" in said.err) == (1, True)


def test_an_agent_can_be_chosen_like_a_check(machine: Project) -> None:
    assert {name.partition(".")[0] for name in checks(machine, "--only", "codex")} == {"codex"}
    assert not [name for name in checks(machine, "--skip", "codex") if name.startswith("codex")]
