"""`git-branch` with real repositories: created or found, never moved, and never with changes that nobody allowed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.repositories import Checkout, isolate
from steps.nodes.steps import failed, step
from steps.nodes.test_git_commit import KILL_DRIVER
from support import Project


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    isolate(monkeypatch)
    made = Checkout(tmp_path / "checkout")
    made.write("kept.txt", "one\n")
    made.commit()
    return made


def env() -> dict[str, str]:
    return dict(os.environ)


def branch(checkout: Checkout, name: str, **params: Any) -> Any:
    return step("git-branch", {"name": name, **params}, checkout.folder, env())


def refused(checkout: Checkout, name: Any, **params: Any) -> tuple[str, str]:
    error = failed("git-branch", {"name": name, **params}, checkout.folder, env())
    return error.code, error.message


def test_a_new_branch_from_what_is_checked_out(checkout: Checkout) -> None:
    value = branch(checkout, "feature/tea")
    assert value == {"branch": "feature/tea", "created": True, "commit": checkout.head, "previous": "main"}
    assert checkout.git("branch", "--show-current") == "feature/tea\n"


def test_running_it_again_changes_nothing(checkout: Checkout) -> None:
    branch(checkout, "tea")
    checkout.write("new.txt", "x\n")
    ours = checkout.commit("second")
    checkout.write("kept.txt", "not committed\n")
    value = branch(checkout, "tea", base="main")
    assert (value["created"], value["commit"], checkout.head) == (False, ours, ours)
    assert (checkout.folder / "kept.txt").read_text() == "not committed\n"


def test_a_branch_that_exists_is_found_and_not_moved(checkout: Checkout) -> None:
    first = checkout.head
    checkout.git("branch", "old")
    checkout.write("kept.txt", "two\n")
    checkout.commit("second")
    value = branch(checkout, "old", base="main")
    assert value == {"branch": "old", "created": False, "commit": first, "previous": "main"}


@pytest.mark.parametrize("base", ["main", "v1", "origin/side", "side", "commit"])
def test_a_new_branch_from_a_base(checkout: Checkout, base: str) -> None:
    first = checkout.head
    checkout.git("tag", "-m", "tag", "v1")
    checkout.git("update-ref", "refs/remotes/origin/side", first)
    checkout.git("switch", "-q", "-c", "other")
    checkout.write("kept.txt", "two\n")
    checkout.commit("second")
    value = branch(checkout, "tea", base=first if base == "commit" else base)
    assert (value["commit"], value["previous"]) == (first, "other")
    with pytest.raises(AssertionError):
        checkout.git("rev-parse", "--abbrev-ref", "tea@{upstream}")


@pytest.mark.parametrize("change", ["changed", "staged", "new"])
def test_uncommitted_changes_are_refused_unless_they_are_allowed(checkout: Checkout, change: str) -> None:
    checkout.write("new.txt" if change == "new" else "kept.txt", "2\n")
    if change == "staged":
        checkout.git("add", "-A")
    code, message = refused(checkout, "tea")
    assert (code, "uncommitted changes" in message) == ("git-dirty", True)
    assert checkout.git("branch", "--list", "tea") == ""
    before = checkout.git("status", "--porcelain")
    assert branch(checkout, "tea", allowDirty=True)["created"] is True
    assert checkout.git("status", "--porcelain") == before


def test_changes_that_git_would_overwrite_are_kept(checkout: Checkout) -> None:
    checkout.git("branch", "old")
    checkout.write("kept.txt", "two\n")
    checkout.commit("second")
    checkout.write("kept.txt", "three\n")
    code, message = refused(checkout, "old", allowDirty=True)
    assert (code, "would be overwritten" in message) == ("git-failed", True)
    assert (checkout.folder / "kept.txt").read_text() == "three\n"


@pytest.mark.parametrize(
    "name", ["-d", "--orphan", "a b", "a..b", "HEAD", "@{-1}", "@", "x.lock", "/x", "x/", "a\0b", "a~1", "x" * 300, "-"]
)
def test_what_cannot_be_the_name_of_a_branch(checkout: Checkout, name: str) -> None:
    checkout.git("switch", "-q", "-c", "other")
    code, message = refused(checkout, name)
    assert (code, "cannot be the name of a branch" in message) == ("params", True)
    assert checkout.git("branch", "--format=%(refname:short)").split() == ["main", "other"]


@pytest.mark.parametrize("base", ["nowhere", "--detach", "-", "", "main:kept.txt", "a\0b"])
def test_a_base_that_does_not_exist(checkout: Checkout, base: str) -> None:
    assert refused(checkout, "tea", base=base)[0] == "git-missing"
    assert checkout.git("branch", "--show-current") == "main\n"


def test_a_repository_without_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    empty = Checkout(tmp_path / "empty")
    assert refused(empty, "tea") == ("git-missing", "`base`: there is no commit yet")
    assert branch(empty, "main") == {"branch": "main", "created": False, "commit": "", "previous": "main"}


def test_a_branch_of_another_worktree(checkout: Checkout, tmp_path: Path) -> None:
    checkout.git("worktree", "add", "-q", "-b", "taken", str(tmp_path / "other"))
    assert refused(checkout, "taken")[0] == "git-failed"


FLOW = "phases:\n- id: a\n  steps:\n  - {id: x, node: git-branch, params: {name: tea}}\n"


def test_a_branch_is_created_once_if_handrail_is_killed_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook kills Handrail with SIGKILL after git has switched, before the step is recorded."""
    isolate(monkeypatch)
    made = Checkout(project.folder)
    made.write(".gitignore", "/.handrail\n")
    made.commit()
    project.write(".handrail/flows/b.yaml", FLOW)
    made.hook("post-checkout", f'GIT_DIR="$(git rev-parse --absolute-git-dir)"\n{KILL_DRIVER}')
    assert project.process("run", "b").code == -9
    assert made.git("branch", "--show-current") == "tea\n"
    ended = project.json("resume", "last")
    value = ended["phases"][0]["steps"][0]["value"]
    assert value == {"branch": "tea", "created": True, "commit": made.head, "previous": "main"}
