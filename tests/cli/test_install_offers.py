"""`handrail install` without an agent offers the agents whose programs are on the PATH."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from support import Project

HANDRAIL = str(Path(sys.executable).parent / "handrail")
WAIT = 60.0


@pytest.fixture
def program(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project on a machine with one agent."""
    folder = project.folder.parent / "programs"
    folder.mkdir()
    path = folder / "claude"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return project


def test_without_a_terminal_the_agent_has_to_be_named(program: Project) -> None:
    said = program.run("install")
    assert said.code == 2
    assert said.err == "error: name the agent\nhint: found on the PATH: `handrail install claude`\n"


def test_without_an_agent_on_the_machine_the_possible_ones_are_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project.folder))
    said = project.run("install")
    assert said.code == 1
    assert said.err.startswith("error: no agent was found on the PATH\nhint: install one of these first: claude")


@pytest.mark.parametrize(("answer", "is_installed"), [("y", True), ("n", False)])
def test_on_a_terminal_the_person_chooses(program: Project, answer: str, is_installed: bool) -> None:
    screen, inside = pty.openpty()
    child = subprocess.Popen([HANDRAIL, "install"], stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    seen = b""
    while b"[Y/n]" not in seen:
        ready, _, _ = select.select([screen], [], [], WAIT)
        assert ready, seen
        seen += os.read(screen, 4096)
    assert b"Install Handrail into claude?" in seen
    os.write(screen, answer.encode() + b"\n")
    assert child.wait(WAIT) == 0
    os.close(screen)
    assert (program.folder.parent / "user" / ".claude" / "skills" / "handrail").exists() is is_installed
