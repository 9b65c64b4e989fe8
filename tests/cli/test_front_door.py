"""The help: what a newcomer sees first, how to see the rest, and that former names of commands still work."""

from __future__ import annotations

import re

import pytest

from handrail.cli import table
from support import Project

FLOW = """
phases:
- {id: one, steps: [{id: x, node: set, params: {value: 1}}]}
- {id: two, steps: [{id: y, node: set, params: {value: 2}}]}
"""


def listed(text: str) -> list[str]:
    commands = text[text.index("Begin:") :]
    return re.findall(r"^  ([a-z]+)  +[A-Z]", commands, re.MULTILINE)


def test_the_first_view_of_the_help_has_the_commands_of_the_first_day(project: Project) -> None:
    for argv in (("--help",), ("help",)):
        assert sorted(listed(project.run(*argv).out)) == sorted(table.MAIN)
    assert len(table.MAIN) == 17
    assert "`handrail help all` lists" in project.run("--help").out


def test_help_all_lists_every_command_that_a_person_types(project: Project) -> None:
    hidden = {"hook", "mcp", "serve"}
    assert set(listed(project.run("help", "all").out)) == table.COMMANDS.keys() - hidden
    assert "Serve the tool" in project.run("mcp", "--help").out


def test_help_explains_a_command_and_names_the_nearest_one(project: Project) -> None:
    assert project.run("help", "runs").out == project.run("runs", "--help").out
    said = project.run("help", "rnus")
    assert (said.code, "did you mean `runs`?" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("former", "today"),
    [
        (("phases", "two"), ("show", "two", "--phases")),
        (("phases", "two", "--json"), ("show", "two", "--phases", "--json")),
        (("estimate", "two"), ("run", "two", "--dry-run")),
        (("plugin", "new", "--help"), ("plugins", "new", "--help")),
        (("worktree", "--json"), ("worktrees", "list", "--json")),
        (("distrust",), ("trust", "--remove")),
        (("marketplace", "."), ("install", "--marketplace", ".")),
    ],
)
def test_a_former_name_does_the_same(project: Project, former: tuple[str, ...], today: tuple[str, ...]) -> None:
    project.write(".handrail/flows/two.yaml", FLOW)
    assert project.run(*today) == project.run(*former)


def test_the_phases_of_a_flow_are_listed_in_order(project: Project) -> None:
    project.write(".handrail/flows/two.yaml", FLOW)
    phases = [{"id": "one", "steps": ["x"]}, {"id": "two", "steps": ["y"]}]
    assert project.json("show", "two", "--phases") == {"phases": phases}


def test_trust_is_taken_back_alone(project: Project) -> None:
    said = project.run("trust", "--remove", "--below")
    assert (said.code, "`--remove` works alone" in said.err) == (2, True)
