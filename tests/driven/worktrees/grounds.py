"""A project in a repository for the tests of worktrees. Its definitions are not committed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.doctor.examination import ExamChoice, Subject, examine
from steps.nodes.repositories import Checkout, isolate
from support import Project, Said

EDIT = """\
params: {text: {default: tea}, file: {default: out.txt}}
phases:
- id: work
  steps:
  - {id: edit, node: write-file, params: {path: "${params.file}", text: "${params.text}\\n"}}
  - {id: check, node: command, params: {argv: [test, -f, "${params.file}"]}}
  - {id: commit, node: git-commit, params: {message: "Add ${params.text}", files: ["${params.file}"]}}
"""
LOOK = """\
phases:
- id: work
  steps:
  - {id: look, node: command, params: {argv: [pwd]}}
"""
ASK = """\
phases:
- id: work
  steps:
  - {id: edit, node: write-file, params: {path: out.txt, text: tea}}
  - id: ask
    node: user-input
    params: {formId: ask, title: T, fields: [{id: why, type: text, label: Why}], outputFile: .handrail/answers.json}
  - {id: commit, node: git-commit, params: {message: Add tea, files: [out.txt]}}
"""


class Ground:
    """A project in a repository with one commit, and its Handrail home."""

    def __init__(self, project: Project, patch: pytest.MonkeyPatch) -> None:
        isolate(patch)
        self.project = project
        self.patch = patch
        self.main = Checkout(project.folder)
        self.main.write(".gitignore", ".handrail\n")
        self.main.write("kept.txt", "one\n")
        self.first = self.main.commit()
        for name, text in {"edit": EDIT, "look": LOOK, "ask": ASK}.items():
            project.write(f".handrail/flows/{name}.yaml", text)

    def run(self, *argv: str) -> Said:
        return self.project.run(*argv)

    def json(self, *argv: str, code: int = 0) -> dict[str, Any]:
        return self.project.json(*argv, code=code)

    def started(self, *argv: str, code: int = 0) -> dict[str, Any]:
        """The worktree of a new run, with the id and the status of the run."""
        found = self.json("run", *argv, "--worktree", code=code)
        return {**found["worktree"], "run": found["run"], "status": found["status"], "error": found["error"]}

    @property
    def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json("worktrees")["worktrees"]
        return found

    @property
    def branches(self) -> list[str]:
        return self.main.git("for-each-ref", "--format=%(refname:short)", "refs/heads/").split()

    @property
    def person(self) -> tuple[str, str, str]:
        """What a run in a worktree must not change: the branch, the commit and the files of the person's checkout."""
        return self.main.git("branch", "--show-current"), self.main.head, self.main.git("status", "--porcelain")

    @property
    def remains(self) -> list[str]:
        """Everything on the disk that belongs to a worktree."""
        state = self.project.home / "state"
        entries = Path(self.main.git("rev-parse", "--git-common-dir").strip())
        entries = (self.main.folder / entries / "worktrees").resolve()
        folders = [state / "trees", state / "worktrees", entries]
        files = [str(path) for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
        return [*files, *(branch for branch in self.branches if branch.startswith("handrail/"))]


def git(folder: str | Path, *argv: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    ended = subprocess.run(["git", *who, *argv], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def problems_of(said: Said) -> list[str]:
    """The messages of the checks of `handrail doctor --json` that are about worktrees."""
    checks = json.loads(said.out)["checks"]
    return [one["message"] for one in checks if one["id"] == "worktrees" and one["status"] != "ok"]


def problems(ground: Ground) -> list[str]:
    """The same, without the checks of agents."""
    subject = Subject(App(str(ground.project.folder), os.environ))
    checks = asyncio.run(examine(subject, ExamChoice(only=("worktrees",))))
    return [one.message for one in checks if one.status != "ok"]
