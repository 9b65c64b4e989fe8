"""The recipe for a command: one function, one row in the table."""

from __future__ import annotations

import pytest

from handrail.cli import table
from support import Project


@pytest.fixture
def greeting(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    row = ("cli.toy_command:greet", "Greet somebody.")
    monkeypatch.setitem(table.COMMANDS, "greet", row)
    monkeypatch.setitem(table.SECTIONS["Begin"], "greet", row)
    return project


def test_a_command_gets_the_project_and_says_what_it_is_told_to(greeting: Project) -> None:
    assert greeting.run("greet", "Ada").out == "hello Ada\n"
    assert greeting.json("greet", "Ada") == {"hello": "Ada", "project": str(greeting.folder)}


def test_the_help_lists_it_and_a_slip_finds_it(greeting: Project) -> None:
    assert "greet" in greeting.run("help", "all").out
    assert "did you mean `greet`?" in greeting.run("gret", "Ada").err
    assert greeting.run("greet").code == 2
