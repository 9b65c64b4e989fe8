"""Every phase file of a workflow's folder is checked, also if `workflow.yaml` is broken or names it wrongly."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from support import Project

BAD = "tool: {}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


def codes(project: Project) -> list[tuple[str, str]]:
    found = project.run("validate", "--json").data["problems"]
    return [(problem["code"], os.path.basename(problem["file"])) for problem in found]


def test_a_broken_workflow_file_hides_no_problem_of_a_phase_file(project: Project) -> None:
    project.workflow("w", ["a", "b"])
    project.phase("w", "a", BAD)
    project.phase("w", "b", BAD)
    text = (project.folder / ".handrail/workflows/w/workflow.yaml").read_text()
    project.write(".handrail/workflows/w/workflow.yaml", text.replace("phases:\n", "phases:\n\t- a.md\n"))
    assert codes(project) == [("misspelt-key", "a.md"), ("misspelt-key", "b.md"), ("yaml-syntax", "workflow.yaml")]
    project.write(".handrail/workflows/w/workflow.yaml", text.replace("phases:", "phasse:"))
    assert codes(project) == [("misspelt-key", "a.md"), ("misspelt-key", "b.md"), ("misspelt-key", "workflow.yaml")]


def test_a_misspelt_entry_hides_no_problem_of_the_file_it_means(project: Project) -> None:
    project.workflow("w", ["tset"])
    (project.folder / ".handrail/workflows/w/tset.md").unlink()
    project.phase("w", "test", BAD)
    assert codes(project) == [("misspelt-key", "test.md"), ("file-missing", "workflow.yaml")]


def test_a_phase_file_that_no_entry_names_is_a_warning(project: Project) -> None:
    project.workflow("w", ["a"])
    project.write(".handrail/workflows/w/README.md", "---\ntitle: About\n---\nText.\n")
    assert codes(project) == []
    past = time.time() - 60
    for path in project.folder.rglob("*"):
        os.utime(path, (past, past))
    assert codes(project) == []
    project.phase("w", "forgotten", BAD)
    assert codes(project) == [("phase-unused", "forgotten.md")]
    assert project.run("start", "w", "task").code == 0


def test_a_phase_file_that_another_workflow_names_is_used(project: Project) -> None:
    project.workflow("w", ["a"])
    project.phase("w", "b")
    project.workflow("v", ["c"])
    text = (project.folder / ".handrail/workflows/v/workflow.yaml").read_text()
    project.write(".handrail/workflows/v/workflow.yaml", text + "  - ../w/b.md\n")
    assert codes(project) == []
