"""Repositories in which a worktree cannot be made, or only just: a clear error, or it works."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from driven.worktrees.grounds import EDIT, Ground, git, problems
from steps.nodes.repositories import Checkout, isolate
from support import Project


def refused(project: Project, *argv: str) -> str:
    said = project.run("run", "edit", "--worktree", *argv)
    assert (said.code, said.out, "Traceback" in said.err) == (1, "", False), said
    assert project.json("runs")["runs"] == [], "no run was begun"
    return said.err


@pytest.fixture
def bare(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that is not in a repository."""
    isolate(monkeypatch)
    project.write(".handrail/flows/edit.yaml", EDIT)
    return project


def test_a_folder_that_is_in_no_repository(bare: Project) -> None:
    assert "is not in a Git repository" in refused(bare)


def test_a_repository_without_commits(bare: Project) -> None:
    Checkout(bare.folder)
    assert "the repository has no commit yet" in refused(bare)


def test_a_bare_repository(bare: Project) -> None:
    git(bare.folder, "init", "-q", "--bare", ".")
    assert "has no checked-out files, as in a bare repository" in refused(bare)


def test_an_unknown_base(ground: Ground) -> None:
    assert "there is no branch, tag or commit `nope`" in refused(ground.project, "--base", "nope")
    assert "there is no branch, tag or commit `--all`" in refused(ground.project, "--base=--all")


def test_a_branch_that_is_in_the_way(ground: Ground) -> None:
    ground.main.git("branch", "handrail")
    told = refused(ground.project)
    assert "the branch `handrail` exists, so git cannot make the branch `handrail/r-" in told
    assert "git branch -m handrail OTHER" in told


def test_a_base_on_a_remote(ground: Ground) -> None:
    ground.main.git("update-ref", "refs/remotes/origin/far", ground.first)
    tree = ground.started("edit", "--base", "far")
    assert (tree["base"], tree["status"]) == (None, "completed")


def programs(folder: Path, script: str | None) -> str:
    """A PATH with the tools of the system and another git; without git if there is no script."""
    folder.mkdir()
    for name in ("sh", "test", "env"):
        os.symlink(f"/bin/{name}" if os.path.exists(f"/bin/{name}") else f"/usr/bin/{name}", folder / name)
    if script is not None:
        (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "git").chmod(stat.S_IRWXU)
    return str(folder)


def test_a_git_that_is_too_old(ground: Ground) -> None:
    ground.patch.setenv("PATH", programs(ground.project.home / "old", "echo git version 2.17.1"))
    assert "worktrees need git 2.23 or newer, found `git version 2.17.1`" in refused(ground.project)


def test_no_git(ground: Ground) -> None:
    ground.patch.setenv("PATH", programs(ground.project.home / "none", None))
    assert "the program `git` is not installed or not on the PATH" in refused(ground.project)


@pytest.mark.whole
def test_a_submodule(ground: Ground, tmp_path: Path) -> None:
    whole = Checkout(tmp_path / "whole")
    whole.commit()
    git(whole.folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(ground.project.folder), "part")
    part = whole.folder / "part"
    git(part, "config", "user.name", "Ada")
    git(part, "config", "user.email", "ada@example.com")
    (part / ".handrail" / "flows").mkdir(parents=True)
    (part / ".handrail" / "flows" / "edit.yaml").write_text(EDIT)
    ground.patch.chdir(part)
    assert ground.started("edit", "--merge")["status"] == "completed"
    assert git(part, "log", "--format=%s") == "Add tea\nfirst\n"
    assert git(part, "for-each-ref", "--format=%(refname:short)", "refs/heads/") == "main\n"
    assert ground.listed == []


@pytest.mark.whole
def test_repositories_of_submodules_in_a_worktree_are_not_lost(ground: Ground, tmp_path: Path) -> None:
    part = Checkout(tmp_path / "part")
    part.commit()
    allow = ("-c", "protocol.file.allow=always")
    git(ground.project.folder, *allow, "submodule", "add", "-q", str(part.folder), "part")
    ground.main.commit("with a part")
    tree = ground.started("look", "--keep")
    git(tree["path"], *allow, "submodule", "update", "-q", "--init")
    said = ground.run("worktree", "remove", tree["run"])
    assert (said.code, "would lose repositories of submodules" in said.err) == (1, True)
    assert ground.run("worktree", "remove", tree["run"], "--force").code == 0
    assert ground.remains == []


def test_a_worktree_of_the_person(ground: Ground) -> None:
    other = ground.project.folder.parent / "other"
    ground.main.git("worktree", "add", "-q", "-b", "side", str(other))
    (other / ".handrail" / "flows").mkdir(parents=True)
    (other / ".handrail" / "flows" / "edit.yaml").write_text(EDIT)
    ground.patch.chdir(other)
    before = ground.person
    tree = ground.started("edit", "--merge")
    assert (tree["base"], tree["status"], ground.person) == ("side", "completed", before)
    assert git(other, "log", "--format=%s") == "Add tea\nfirst\n"


def test_paths_with_spaces_and_newlines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path.resolve() / "a b\nc 'd"
    folder.mkdir()
    ground = Ground(Project(folder, monkeypatch, capsys), monkeypatch)
    tree = ground.started("edit")
    assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"
    ground.patch.chdir(tree["path"])
    assert [one["run"] for one in ground.listed] == [tree["run"]]
    ground.patch.chdir(ground.project.folder)
    assert problems(ground) == []
    assert ground.json("worktree", "merge", tree["run"])["commit"] == ground.main.head
    assert ground.remains == []


def test_a_state_folder_inside_of_the_repository(ground: Ground) -> None:
    inside = ground.project.folder / "home"
    ground.project.home.rename(inside)
    ground.patch.setenv("HANDRAIL_HOME", str(inside))
    said = ground.run("run", "edit", "--worktree")
    assert (said.code, "would be inside of" in said.err, "worktree: {folder: PATH}" in said.err) == (1, True, True)
