"""Prompts that flows use by name: from the project or the user. A run keeps the text that it began with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import Project

FLOW = """\
phases:
- id: ask
  steps:
  - {id: x, node: llm-prompt, prompt: {templateRef: plans/small, vars: {task: {ref: params.task}}}}
"""
SCRIPT = """\
prompts:
- {match: "Plan tea", play: [{say: the prompt of the project}]}
- {match: "Think about tea", play: [{say: the prompt of the user}]}
- {match: "Plan cake", play: [{say: another text}]}
"""


@pytest.fixture
def asking(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.write("script.yaml", SCRIPT)
    project.write(".handrail/flows/ask.yaml", FLOW)
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    return project


def ask(project: Project) -> Any:
    data = project.json("run", "ask", "tea", "--agent", "scripted")
    return data["phases"][0]["steps"][0]["value"]["output"]


def user_prompt(project: Project, text: str) -> Path:
    file = project.home / "config" / "prompts" / "plans" / "small.md"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_prompt_of_the_project_wins_over_one_of_the_user(asking: Project) -> None:
    user_prompt(asking, "Think about {task}.\n")
    assert ask(asking) == "the prompt of the user"
    asking.write(".handrail/prompts/plans/small.md", "Plan {task}.\n")
    assert ask(asking) == "the prompt of the project"


def test_a_name_that_does_not_exist_is_a_problem_with_a_suggestion(asking: Project) -> None:
    asking.write(".handrail/prompts/plans/smal.md", "Plan {task}.\n")
    (problem,) = asking.json("validate", code=2)["problems"]
    assert (problem["code"], problem["hint"]) == ("prompt-unknown", "did you mean `plans/smal`?")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\xff", "byte 0xff is not UTF-8"),
        (b"a\x00b", "contains a NUL byte"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_a_problem(asking: Project, content: bytes, told: str) -> None:
    asking.write(".handrail/prompts/plans/small.md", "").write_bytes(content)
    (problem,) = asking.json("validate", code=2)["problems"]
    assert problem["code"] == "prompt-broken"
    assert told in problem["message"]


def test_a_link_out_of_the_folder_of_prompts_is_not_read(asking: Project) -> None:
    asking.write("secret.txt", "Plan {task}. Not for agents.")
    place = asking.write(".handrail/prompts/plans/other.md", "x").with_name("small.md")
    place.symlink_to(asking.folder / "secret.txt")
    (problem,) = asking.json("validate", code=2)["problems"]
    assert problem["code"] == "prompt-broken"


def test_placeholders_and_values_have_to_fit(asking: Project) -> None:
    asking.write(".handrail/prompts/plans/small.md", "Plan {taks}.\n")
    problems = asking.json("validate")["problems"]
    assert [problem["code"] for problem in problems] == ["template-unknown", "template-unused"]


def test_a_run_keeps_the_text_of_its_prompts(asking: Project) -> None:
    file = asking.write(".handrail/prompts/plans/small.md", "Plan {task}.\n")
    asking.write("script.yaml", "- crash: true\n")
    run = asking.json("run", "ask", "tea", "--agent", "scripted", code=1)["run"]
    file.write_text("Plan cake.\n")
    asking.write("script.yaml", SCRIPT)
    said = asking.run("resume", run)
    assert said.code == 0
    assert "small.md" in said.err, "the changed file is named"
    value = asking.json("log", run)["events"]
    assert any("the prompt of the project" in str(event) for event in value)


def test_a_dry_run_shows_the_whole_prompt(asking: Project) -> None:
    asking.write(".handrail/prompts/plans/small.md", "Plan {task}, in three steps.\n")
    said = asking.run("run", "ask", "tea", "--agent", "scripted", "--dry-run")
    assert "Plan tea, in three steps." in said.out
