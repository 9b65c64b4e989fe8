"""`handrail doctor --report` can be pasted into a public issue: nothing private is in it."""

from __future__ import annotations

import platform

import pytest

from doctor.machines import FAULTS, Machine
from handrail import __version__
from support import Project

SENTINELS = {
    "ANTHROPIC_API_KEY": "sk-ant-sentinel-0123456789",
    "GITHUB_TOKEN": "ghp_sentinel0123456789ABCDEF",
    "JIRA_BASE_URL": "https://ada:passw0rd-sentinel@jira.example.com",
    "MY_PASSWORD": "correct-horse-sentinel",
}


@pytest.fixture
def machine(project: Project, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(project, monkeypatch)


def test_a_report_has_versions_findings_and_names_of_settings(machine: Machine) -> None:
    machine.project.write(".handrail/settings.yaml", "idleStops: 2\nroutes:\n  default: claude\nsecretName: x\n")
    machine.state.chmod(0o755)
    said = machine.project.run("doctor", "--report")
    assert said.code == 0
    lines = said.out.splitlines()
    assert f"- Handrail {__version__}" in lines
    assert f"- Python {platform.python_version()}" in lines
    assert "- claude 2.1.325" in lines
    assert "- **warning** `state`: other users can read `<state>`. Fix: run `chmod 700 <state>`." in lines
    assert "- of the project: idleStops, routes, 1 unknown key" in lines
    assert lines.index("### Findings") < lines.index("### Settings")


def test_a_healthy_machine_says_so(machine: Machine) -> None:
    assert "No errors and no warnings." in machine.project.run("doctor", "--report").out


@pytest.mark.whole(11)
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_private_is_in_a_report(machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable, value in SENTINELS.items():
        monkeypatch.setenv(variable, value)
    machine.write(".codex/auth.json", '{"token": "codex-sentinel-0123456789"}').chmod(0o600)
    machine.write(".agentweaver/.env", "GITLAB_TOKEN=glpat-sentinel-0123456789\n")
    machine.project.write(".handrail/flows/glpat-sentinel9876543210.yaml", "nonsense\n")
    FAULTS[name].breaks(machine)
    text = machine.project.run("doctor", "--report").out
    assert "### Findings" in text
    assert "sentinel" not in text
    assert str(machine.home) not in text
    assert str(machine.project.folder) not in text
    assert machine.project.folder.parent.name not in text


def test_a_report_can_be_data(machine: Machine) -> None:
    data = machine.project.json("doctor", "--report")
    assert data["ok"] is True
    assert data["report"].startswith("### Versions\n")
