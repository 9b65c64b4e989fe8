"""`handrail doctor` calls the installed hook of every agent, but never a changed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.machines import Machine
from handrail.extensions.registry import Registry
from support import Project


@pytest.fixture
def machine(project: Project, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(project, monkeypatch)


@pytest.mark.parametrize("agent", Registry().installable())
def test_the_hook_of_every_agent_answers_for_the_user_and_for_a_project(machine: Machine, agent: str) -> None:
    machine.project.run("uninstall", agent)
    assert machine.project.run("install", agent, "--project").code == 0
    found = machine.doctor("--only", f"{agent}.hook.project")
    assert found[f"{agent}.hook.project"]["message"].startswith("the hook answers"), found
    assert machine.project.run("install", agent).code == 0
    both = {id_: check["status"] for id_, check in machine.doctor("--only", "hook").items() if id_.startswith(agent)}
    assert both == {f"{agent}.hook.user": "ok", f"{agent}.hook.project": "skipped"}


def test_a_changed_stub_is_never_called(machine: Machine, tmp_path: Path) -> None:
    trap = tmp_path / "called"
    for stub in machine.gate.parent.iterdir():
        stub.write_text(f"touch {trap}\n")
    found = machine.doctor("--only", "hooks")
    assert (found["claude.user"]["status"], found["claude.hook.user"]["status"]) == ("error", "skipped")
    assert not trap.exists()


def test_a_project_cannot_make_the_doctor_run_its_own_stub(machine: Machine, tmp_path: Path) -> None:
    """A repository brings files in the places of ours, and Handrail is not installed for it."""
    trap = tmp_path / "called"
    for name in ("gate", "command", "event", "status"):
        machine.project.write(f".claude/handrail/bin/{name}", f"touch {trap}\n")
    found = machine.doctor()
    assert "claude.hook.project" not in found
    assert not trap.exists()


def test_installing_after_the_record_was_damaged_does_not_repeat_our_status_line(machine: Machine) -> None:
    status = machine.gate.with_name("status")
    machine.sh("handrail install claude")  # the program of the tests may have another name than that of `handrail`
    before = status.read_text()
    machine.record.write_text("{")
    machine.sh("handrail install claude")
    assert status.read_text() == before
    machine.sh("handrail uninstall claude")
    assert not status.exists()
    settings = machine.home / ".claude" / "settings.json"
    assert not settings.exists() or str(status) not in settings.read_text()
