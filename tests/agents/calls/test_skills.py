"""The skills that come with Handrail: what they show is valid, and agents get them."""

from __future__ import annotations

import re
from pathlib import Path

from handrail import STEP_TOOL, TOOLS
from handrail.agents import recipes
from support import Project

TEXT = recipes.skill_files()["write-workflow/SKILL.md"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_workflow_that_the_skill_shows_is_valid(project: Project) -> None:
    folder = ".handrail/workflows/change"
    project.write(f"{folder}/workflow.yaml", blocks("yaml")[0])
    project.write(f"{folder}/build.md", blocks("markdown")[0])
    project.write(f"{folder}/plan.md", "---\nid: plan\nname: Plan\nemoji: x\n---\nPlan it.\n")
    said = project.run("validate", "--strict")
    assert said.code == 0, said.err + said.out


def test_the_skill_ends_with_the_commands_that_judge_the_result() -> None:
    assert "`handrail validate --strict`" in TEXT.split("## 4. Check")[1]
    assert all(f"`{tool}`" in TEXT for tool in TOOLS)
    assert STEP_TOOL not in TEXT, "the skill is for writing a workflow, not for following one"


def test_claude_code_gets_the_skill(project: Project) -> None:
    assert project.run("install", "claude").code == 0
    path = Path(project.folder.parent, "user/.claude/skills/handrail/skills/write-workflow/SKILL.md")
    assert path.read_text() == TEXT
