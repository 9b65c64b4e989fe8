"""`git-worktree` in real repositories: steps of a flow work in it, and it is merged, kept or removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.repositories import Checkout, isolate
from steps.nodes.test_git_commit import KILL_DRIVER
from support import Project

PLACE = "${steps.a.apart.value.path}"
WORK = [
    {"id": "apart", "node": "git-worktree", "params": {"setup": [["touch", "ready"]]}},
    {"id": "edit", "node": "command", "params": {"argv": ["sh", "-c", "echo two > kept.txt"], "cwd": PLACE}},
    {"id": "agent", "node": "scripted-prompt", "prompt": {"inlineTemplate": "go"}, "params": {"cwd": PLACE}},
    {"id": "status", "node": "git-status", "params": {"outputFile": ".handrail/s.json", "cwd": PLACE}},
    {
        "id": "commit",
        "node": "git-commit",
        "params": {"message": "Tea", "files": ["kept.txt", "new.txt"], "cwd": PLACE},
    },
]
SCRIPT = [{"tool": "write", "input": {"path": "new.txt", "content": "new\n"}}, {"say": "done"}]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    isolate(monkeypatch)
    made = Project(tmp_path.resolve(), monkeypatch, capsys)
    script = made.home.parent / "script.yaml"
    script.write_text(json.dumps(SCRIPT))
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(script))
    return made


@pytest.fixture
def checkout(project: Project) -> Checkout:
    made = Checkout(project.folder)
    made.write(".gitignore", "/.handrail\nready\n")
    made.write("kept.txt", "one\n")
    made.commit()
    return made


def run(project: Project, *steps: dict[str, Any], code: int = 0) -> dict[str, Any]:
    flow = {"phases": [{"id": "a", "steps": list(steps)}]}
    project.write(".handrail/flows/f.json", json.dumps(flow))
    return project.json("run", "f", code=code)


def act(action: str, **params: Any) -> dict[str, Any]:
    return {"id": action, "node": "git-worktree", "params": {"action": action, **params}}


def value(ended: dict[str, Any], step: str) -> Any:
    return next(one["value"] for one in ended["phases"][0]["steps"] if one["id"] == step)


@pytest.mark.whole
def test_commands_git_and_agents_work_in_it(project: Project, checkout: Checkout) -> None:
    ended = run(project, *WORK, act("keep"))
    tree = value(ended, "apart")
    assert tree == {**value(ended, "keep"), "commit": checkout.head}
    assert (tree["branch"], tree["base"]) == (f"handrail/{ended['run']}", "main")
    assert checkout.git("log", "--format=%s", tree["branch"]) == "Tea\nfirst\n"
    assert {one["file"] for one in value(ended, "status")["files"]} == {"kept.txt", "new.txt"}
    assert (checkout.git("status", "--porcelain"), checkout.subjects) == ("", ["first"])
    assert Path(tree["path"], "ready").exists()


@pytest.mark.whole
def test_it_is_merged_and_removed(project: Project, checkout: Checkout) -> None:
    ended = run(project, *WORK, act("merge"), act("remove"))
    assert (checkout.subjects, value(ended, "merge")["commit"]) == (["Tea", "first"], checkout.head)
    assert not Path(value(ended, "apart")["path"]).exists()
    assert checkout.git("for-each-ref", "--format=%(refname:short)", "refs/heads/") == "main\n"
    assert project.json("worktrees")["worktrees"] == []


def test_removing_does_not_lose_commits(project: Project, checkout: Checkout) -> None:
    ended = run(project, *WORK, act("remove"), code=1)
    assert "would lose 1 commit" in ended["error"]
    assert Path(value(ended, "apart")["path"]).is_dir()
    assert checkout.subjects == ["first"]


@pytest.mark.whole
def test_several_worktrees_are_told_apart_by_their_branches(project: Project, checkout: Checkout) -> None:
    both = [{**act("create", branch=name), "id": name} for name in ("tea", "milk")]
    ended = run(project, *both, act("remove"), code=1)
    assert "name its branch in `branch`" in ended["error"]
    ended = run(
        project, *[{**act("create", branch=name), "id": name} for name in ("one", "two")], act("remove", branch="one")
    )
    assert [one["branch"] for one in project.json("worktrees")["worktrees"] if one["run"] == ended["run"]] == ["two"]
    assert checkout.subjects == ["first"]


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"action": "create", "base": "nope"}, "there is no branch, tag or commit `nope`"),
        ({"action": "create", "branch": "main"}, "the branch `main` exists already"),
        ({"action": "create", "branch": "a..b"}, "cannot be the name of a branch"),
        ({"action": "create", "setup": [["false"]]}, "the setup command `false` ended with 1"),
        ({"action": "merge"}, "no step of this run made a worktree"),
    ],
)
def test_what_cannot_work_is_said(project: Project, checkout: Checkout, params: dict[str, Any], told: str) -> None:
    ended = run(project, {"id": "x", "node": "git-worktree", "params": params}, code=1)
    assert told in ended["error"]
    assert checkout.subjects == ["first"]


def test_a_step_cannot_work_in_the_worktree_of_another_run(project: Project, checkout: Checkout) -> None:
    other = value(run(project, WORK[0]), "apart")["path"]
    step = {"id": "x", "node": "command", "params": {"argv": ["pwd"], "cwd": "${params.place}"}}
    project.write(".handrail/flows/g.json", json.dumps({"phases": [{"id": "a", "steps": [step]}]}))
    ended = project.json("run", "g", "--param", f"place={other}", code=1)
    assert "`cwd`" in ended["error"]
    assert checkout.subjects == ["first"]


@pytest.mark.whole
def test_it_is_made_once_if_handrail_is_killed_meanwhile(project: Project, checkout: Checkout) -> None:
    """The hook kills Handrail while git makes the worktree, and git goes on alone."""
    checkout.hook("post-checkout", f'GIT_DIR="{checkout.folder}/.git"\n{KILL_DRIVER}')
    project.write(".handrail/flows/f.json", json.dumps({"phases": [{"id": "a", "steps": [WORK[0], act("keep")]}]}))
    assert project.process("run", "f").code == -9
    ended = project.json("resume", "last")
    (tree,) = project.json("worktrees")["worktrees"]
    assert (tree["run"], tree["state"], tree["path"]) == (ended["run"], "no changes", value(ended, "keep")["path"])
    branches = checkout.git("for-each-ref", "--format=%(refname:short)", "refs/heads/").split()
    assert branches == [f"handrail/{ended['run']}", "main"]
