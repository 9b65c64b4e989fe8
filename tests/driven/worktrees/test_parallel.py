"""Parallel runs in one repository do not touch each other, nor the checkout of the person."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from driven.worktrees.grounds import Ground, git

RUNS = 4
WORK = """\
params: {name: {required: true}}
phases:
- id: work
  steps:
  - {id: edit, node: llm-prompt, prompt: {inlineTemplate: "write ${params.name}"}, params: {executor: scripted}}
  - {id: check, node: command, params: {argv: [sh, -c, "test \\"$(ls *.txt | wc -l)\\" -eq 2"]}}
  - {id: look, node: git-status, params: {outputFile: ".handrail/scopes/status.json"}}
  - {id: commit, node: git-commit, params: {message: "Add ${params.name}", files: ["${params.name}.txt"]}}
"""
HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")


def begin(ground: Ground, name: str, *options: str) -> subprocess.Popen[str]:
    script = ground.project.home.parent / f"{name}.yaml"
    script.write_text(
        json.dumps([{"tool": "write", "input": {"path": f"{name}.txt", "content": f"{name}\n"}}, {"say": "done"}])
    )
    env = {**os.environ, "HANDRAIL_SCRIPT": str(script)}
    argv = [HANDRAIL, "run", "work", "--param", f"name={name}", "--worktree", "--json", "--quiet", *options]
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(started: list[subprocess.Popen[str]]) -> list[dict[str, object]]:
    found = []
    for process in started:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, (out, err)
        found.append(json.loads(out))
    return found


@pytest.fixture
def names(ground: Ground) -> list[str]:
    ground.project.write(".handrail/flows/work.yaml", WORK)
    return [f"tea{number}" for number in range(RUNS)]


def test_parallel_runs_see_only_their_own_work(ground: Ground, names: list[str]) -> None:
    ground.main.write("kept.txt", "not committed\n")
    before = ground.person
    ended = finished([begin(ground, name) for name in names])
    assert ground.person == before
    for name, run in zip(names, ended, strict=True):
        tree = run["worktree"]
        assert isinstance(tree, dict)
        assert git(tree["path"], "log", "--format=%s") == f"Add {name}\nfirst\n"
        assert sorted(path.name for path in Path(tree["path"]).glob("*.txt")) == ["kept.txt", f"{name}.txt"]
    assert len({str(run["run"]) for run in ended}) == RUNS
    assert len(ground.listed) == RUNS


@pytest.mark.whole
def test_parallel_runs_merge_one_after_the_other(ground: Ground, names: list[str]) -> None:
    finished([begin(ground, name, "--merge") for name in names])
    assert sorted(path.name for path in ground.project.folder.glob("*.txt")) == [
        "kept.txt",
        *(f"{n}.txt" for n in names),
    ]
    assert {f"Add {name}" for name in names} <= set(ground.main.subjects)
    assert (ground.main.git("status", "--porcelain"), ground.remains) == ("", [])
