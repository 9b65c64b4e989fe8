"""Stories about definitions: listing, showing, explaining, checking."""

from __future__ import annotations

import json

import pytest

from handrail.source.codes import problem_kinds
from support import Project


def test_list_names_source_and_file_of_everything(project: Project) -> None:
    project.workflow("mine", ["a", "b"])
    data = project.json("list")
    mine = next(row for row in data["workflows"] if row["key"] == "mine")
    assert mine == {
        "key": "mine",
        "command": "mine",
        "name": "Mine",
        "show": "user",
        "source": "project",
        "file": ".handrail/workflows/mine/workflow.yaml",
        "phases": 2,
        "state": "ok",
        "runs": [],
    }
    assert {row["source"] for row in data["workflows"]} == {"project", "builtin"}
    assert data["problems"] == []


def test_a_project_workflow_shadows_the_built_in_one_with_the_same_key(project: Project) -> None:
    project.workflow("bug-fix", ["a"])
    data = project.json("list")
    assert [row["source"] for row in data["workflows"] if row["key"] == "bug-fix"] == ["project"]
    assert data["shadowed"][0]["source"] == "builtin"
    assert "shadowed:" in project.run("list").out


def test_the_handrail_folder_comes_before_the_pi_folder(project: Project) -> None:
    project.workflow("w", ["a"], root=".pi/workflows")
    assert project.json("show", "w")["stops"][0]["id"] == "a"
    project.workflow("w", ["b"])
    assert project.json("show", "w")["stops"][0]["id"] == "b"


def test_the_users_folders_are_read(project: Project) -> None:
    project.workflow("w", ["a"], root="../home/config/workflows")
    project.workflow("p", ["a"], root="../user/.pi/agent/workflows")
    sources = {row["key"]: row["source"] for row in project.json("list")["workflows"]}
    assert (sources["w"], sources["p"]) == ("user", "user")


def test_a_broken_definition_does_not_hide_the_healthy_ones(project: Project) -> None:
    project.workflow("good", ["a"])
    project.write(".handrail/workflows/bad/workflow.yaml", "name: [")
    data = project.json("list")
    assert "good" in {row["key"] for row in data["workflows"]}
    assert [problem["code"] for problem in data["problems"]] == ["yaml-syntax"]
    assert project.run("start", "good", "x").code == 0


def test_a_broken_project_definition_falls_back_to_the_healthy_one_and_says_so(project: Project) -> None:
    project.write(".handrail/workflows/bug-fix/workflow.yaml", "name: 3")
    said = project.run("start", "bug-fix", "x")
    assert said.code == 0
    assert "has errors" in said.err
    assert "builtin" in said.err


def test_starting_a_broken_workflow_names_the_command_that_shows_why(project: Project) -> None:
    project.write(".handrail/workflows/bad/workflow.yaml", "name: 3")
    said = project.run("start", "bad", "x")
    assert said.code == 2
    assert "handrail validate .handrail/workflows/bad" in said.err


def test_show_prints_a_tree_and_a_diagram(project: Project) -> None:
    project.workflow("inner", ["b"], "show: workflows\n")
    project.workflow("outer", ["a", "@inner"])
    assert project.run("show", "outer").out == ("Outer (outer)\n  1. • A\n  2. Inner (inner)\n    1. • B\n")
    diagram = project.run("show", "outer", "--mermaid").out
    assert 'subgraph g1_0["Inner"]' in diagram
    assert "p0 --> p1" in diagram


def test_explain_knows_every_code(project: Project) -> None:
    for code, rule in problem_kinds().items():
        said = project.run("explain", code)
        assert said.code == 0
        assert rule.cure in said.out


def test_explain_suggests_the_nearest_code(project: Project) -> None:
    said = project.run("explain", "wrong-tpye")
    assert said.code == 1
    assert "did you mean `wrong-type`?" in said.err


def test_schemas_name_every_key(project: Project) -> None:
    assert {"name", "commandName", "phases"} <= set(project.json("schema", "workflow")["properties"])
    assert project.json("schema", "phase")["required"] == ["id", "name", "emoji"]


@pytest.mark.whole
def test_init_makes_a_project_that_validates_and_overwrites_nothing(project: Project) -> None:
    created = project.json("init")["created"]
    assert {".handrail/workflows/hello/workflow.yaml", ".handrail/flows/greet.yaml"} <= set(created)
    assert project.json("list")["flows"][0]["id"] == "greet"
    assert project.json("run", "greet")["status"] == "completed"
    checked = {"workflows": 5, "flows": 1, "settings": 1, "schemas": 0, "playbooks": 0, "projects": 1}
    found = project.json("validate")
    assert found == {"ok": True, "problems": [], "notes": [], "checked": checked, "trusted": True}
    project.write(".handrail/settings.yaml", "idleStops: 7\n")
    assert project.json("init")["created"] == []
    assert (project.folder / ".handrail/settings.yaml").read_text() == "idleStops: 7\n"


def test_settings_are_checked_like_definitions(project: Project) -> None:
    project.write(".handrail/settings.yaml", "idleStop: 7\nidleStops: many\n")
    said = project.run("validate", "--json")
    assert said.code == 2
    assert [p["code"] for p in said.data["problems"]] == ["misspelt-key", "wrong-type"]


def test_the_built_in_workflows_have_no_problems(project: Project) -> None:
    assert project.json("validate")["problems"] == []
    for row in project.json("list")["workflows"]:
        assert project.json("show", row["key"])["stops"]


def test_the_catalog_does_not_depend_on_the_cache(project: Project) -> None:
    project.workflow("w", ["a", "b"])
    cold = project.json("list")
    caches = list((project.home / "cache" / "catalog").iterdir())
    assert caches
    assert project.json("list") == cold
    for cache in caches:
        cache.write_bytes(cache.read_bytes()[:-7] + b"garbage")
    assert project.json("list") == cold
    for cache in caches:
        cache.write_text(json.dumps({"root": 1}))
    assert project.json("list") == cold


def test_a_wrong_command_line_gets_a_usage_hint(project: Project) -> None:
    assert "did you mean `start`?" in project.run("strat").err
    said = project.run("start", "--json")
    assert said.code == 2
    assert said.data["error"]["code"] == "usage"


def test_help_and_completion_are_printed(project: Project) -> None:
    assert "Guided sessions:" in project.run().out
    for shell in ("bash", "zsh", "fish"):
        assert "handrail" in project.run("completion", shell).out


@pytest.mark.whole
def test_workflow_names_complete(project: Project) -> None:
    project.workflow("flow", ["a"])
    project.workflow("flop", ["a"])
    project.workflow("flu", ["a"], "show: workflows\n")
    said = project.process(_HANDRAIL_COMPLETE="bash_complete", COMP_WORDS="handrail start fl", COMP_CWORD="2")
    assert [line.split(",")[1] for line in said.out.split()] == ["flop", "flow"]


@pytest.mark.parametrize("command", ["run", "show", "start"])
def test_a_name_with_a_typing_error_has_a_suggestion(project: Project, command: str) -> None:
    said = project.run(command, "plan-build-reviw", *([] if command == "show" else ["x"]))
    assert said.code == 1
    assert "hint: did you mean `plan-build-review`?" in said.err


def test_help_of_the_hook_is_no_error(project: Project) -> None:
    said = project.process("hook", "--help")
    assert (said.code, said.out.startswith("usage: handrail hook AGENT")) == (0, True)
