"""`handrail init --agent`: the example and an installation for this project, in one command."""

from __future__ import annotations

import pytest

from handrail.extensions.registry import Registry
from support import Project

EXAMPLE = ".handrail/workflows/hello/workflow.yaml"


@pytest.mark.parametrize("agent", Registry().installable())
def test_init_creates_the_example_and_installs_for_this_project(project: Project, agent: str) -> None:
    said = project.run("init", "--agent", agent)
    assert said.code == 0, said.err
    assert (project.folder / EXAMPLE).exists()
    assert f"{agent}: restart it in this project, then ask it: Write a Handrail workflow for this project" in said.err
    assert len(list(project.folder.rglob("write-workflow/SKILL.md"))) == 1
    assert project.run("install", agent, "--project").out == "nothing to do\n"
    assert project.run("uninstall", agent, "--project").code == 0
    assert not list(project.folder.rglob("write-workflow"))
    assert (project.folder / EXAMPLE).exists()


def test_json_has_what_was_created_and_what_was_installed(project: Project) -> None:
    data = project.run("init", "--agent", "codex", "--json").data
    assert EXAMPLE in data["created"]
    assert (data["install"]["agent"], data["install"]["scope"]) == ("codex", "project")
    assert {row["change"] for row in data["install"]["files"]} == {"created"}
    assert list(project.run("init", "--json").data) == ["created", "trusted"]


def test_an_installation_for_all_projects_is_enough(project: Project) -> None:
    assert project.run("install", "pi").code == 0
    said = project.run("init", "--agent", "pi")
    assert said.code == 0
    assert "pi: Handrail is installed for all your projects, so it was not installed for this one" in said.err
    assert not (project.folder / ".pi").exists()
    assert project.run("init", "--agent", "pi", "--json").data == {"created": [], "trusted": True, "install": None}


def test_the_example_workflow_and_the_example_flow_have_two_names(project: Project) -> None:
    assert "`handrail run greet`" in project.run("init").err
    listed = project.json("list")
    own = [row["key"] for row in listed["workflows"] if row["source"] == "project"]
    flows = [row["id"] for row in listed["flows"] if row["source"] == "project"]
    assert (own, flows) == (["hello"], ["greet"])
    assert project.run("run", "greet").code == 0


def test_nothing_is_created_if_the_agent_is_unknown_or_cannot_be_installed(project: Project) -> None:
    said = project.run("init", "--agent", "codxe")
    assert (said.code, said.err) == (
        2, "error: Handrail cannot be installed into `codxe`\nhint: did you mean `codex`?\n"
    )  # fmt: skip
    project.write(".gemini/settings.json", "{ no JSON\n")
    assert project.run("init", "--agent", "gemini").code == 1
    assert not (project.folder / EXAMPLE).exists()
