"""The end of a worktree: merged, kept or removed, and nothing is ever lost without a person's word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from driven.worktrees.grounds import Ground, git


def test_a_merge_moves_the_branch_forward(ground: Ground) -> None:
    tree = ground.started("edit", "--merge")
    assert tree["status"] == "completed"
    assert ground.main.subjects == ["Add tea", "first"]
    assert (ground.project.folder / "out.txt").read_text() == "tea\n"
    assert (ground.main.git("status", "--porcelain"), ground.remains) == ("", [])


def test_a_merge_with_other_commits_makes_a_merge_commit(ground: Ground) -> None:
    tree = ground.started("edit")
    ground.main.write("kept.txt", "two\n")
    second = ground.main.commit("second")
    work = git(tree["path"], "rev-parse", "HEAD").strip()
    ended = ground.json("worktrees", "merge", tree["run"])
    assert ended["commit"] == ground.main.head
    assert ground.main.git("log", "-1", "--format=%P %s").strip() == f"{second} {work} Merge branch '{tree['branch']}'"
    assert (ground.main.git("status", "--porcelain"), ground.remains) == ("", [])


@pytest.mark.whole
def test_conflicts_change_nothing_and_the_run_goes_on_when_they_are_resolved(ground: Ground) -> None:
    tree = ground.started("ask", "--merge", code=4)
    ground.main.write("out.txt", "coffee\n")
    ground.main.commit("other")
    before = ground.person
    ground.project.write("answers.json", '{"ask": {"why": "because"}}')
    failed = ground.json("resume", tree["run"], "--answers", "answers.json", code=1)
    os.unlink("answers.json")
    assert (failed["status"], "have conflicts in out.txt" in failed["error"]) == ("failed", True)
    assert ground.person == before
    assert git(tree["path"], "status", "--porcelain", "--untracked-files=no") == ""
    assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"
    git(tree["path"], "merge", "-X", "ours", "--no-edit", "main")
    assert ground.json("resume", tree["run"])["status"] == "completed"
    assert (ground.project.folder / "out.txt").read_text() == "tea"
    assert ground.remains == []


def test_a_merge_needs_a_clean_base(ground: Ground) -> None:
    tree = ground.started("edit")
    ground.main.write("kept.txt", "mine\n")
    before = ground.person
    said = ground.run("worktrees", "merge", tree["run"])
    assert (said.code, "has uncommitted changes, so nothing is merged into `main`: kept.txt" in said.err) == (1, True)
    assert (ground.person, len(ground.listed)) == (before, 1)


def test_a_new_file_of_the_person_is_not_overwritten(ground: Ground) -> None:
    tree = ground.started("edit")
    ground.main.write("out.txt", "mine\n")
    said = ground.run("worktrees", "merge", tree["run"])
    assert (said.code, "cannot be moved forward" in said.err) == (1, True)
    assert (ground.project.folder / "out.txt").read_text() == "mine\n"
    assert len(ground.listed) == 1


def test_a_merge_needs_a_clean_worktree(ground: Ground) -> None:
    tree = ground.started("edit")
    (Path(tree["path"]) / "more.txt").write_text("x")
    said = ground.run("worktrees", "merge", tree["run"])
    assert (said.code, "has uncommitted changes: more.txt" in said.err) == (1, True)
    assert ground.main.subjects == ["first"]


def test_a_base_that_is_not_checked_out_is_moved_without_files(ground: Ground) -> None:
    ground.main.git("branch", "side")
    assert ground.started("edit", "--base", "side", "--merge")["status"] == "completed"
    assert ground.main.git("log", "--format=%s", "side") == "Add tea\nfirst\n"
    assert ground.main.subjects == ["first"]


def test_a_commit_is_no_branch_to_merge_into(ground: Ground) -> None:
    said = ground.run("run", "edit", "--worktree", "--merge", "--base", ground.first)
    assert (said.code, "is not a branch of this repository" in said.err) == (1, True)
    ground.main.git("checkout", "-q", "--detach")
    said = ground.run("run", "edit", "--worktree", "--merge")
    assert (said.code, "no branch is checked out" in said.err, ground.json("runs")["runs"]) == (1, True, [])


def test_removing_refuses_to_lose_commits(ground: Ground) -> None:
    tree = ground.started("edit", "--remove", code=1)
    assert "would lose 1 commit" in tree["error"]
    said = ground.run("worktrees", "remove", tree["run"])
    assert (said.code, "would lose 1 commit" in said.err, "--force" in said.err) == (1, True, True)
    said = ground.run("worktrees", "remove", tree["run"], "--force")
    commit = said.out.split()[-5].rstrip("`")
    assert ground.remains == []
    ground.main.git("branch", "again", commit)
    assert ground.main.git("log", "--format=%s", "again") == "Add tea\nfirst\n"


def test_removing_refuses_to_lose_uncommitted_work(ground: Ground) -> None:
    tree = ground.started("look", "--keep")
    (Path(tree["path"]) / "new.txt").write_text("x")
    said = ground.run("worktrees", "remove", tree["run"])
    assert (said.code, "uncommitted changes in `new.txt`" in said.err) == (1, True)
    assert os.path.isdir(tree["path"])


def test_commits_that_are_on_another_branch_are_not_lost(ground: Ground) -> None:
    tree = ground.started("edit")
    ground.main.git("branch", "safe", tree["branch"])
    assert ground.run("worktrees", "remove", tree["run"]).code == 0
    assert (ground.remains, ground.branches) == ([], ["main", "safe"])


def test_a_commit_on_no_branch_in_the_worktree_is_not_lost(ground: Ground) -> None:
    tree = ground.started("look", "--keep")
    git(tree["path"], "checkout", "-q", "--detach")
    git(tree["path"], "commit", "-q", "--allow-empty", "-m", "loose")
    said = ground.run("worktrees", "remove", tree["run"])
    assert (said.code, "would lose 1 commit" in said.err) == (1, True)


def test_a_branch_that_the_person_checked_out_stays(ground: Ground) -> None:
    tree = ground.started("look", "--keep")
    git(tree["path"], "checkout", "-q", "--detach")
    ground.main.git("switch", "-q", tree["branch"])
    assert ground.run("worktrees", "remove", tree["run"]).code == 0
    assert tree["branch"] in ground.branches


def test_folders_that_cannot_be_written_are_removed(ground: Ground) -> None:
    tree = ground.started("look", "--keep")
    inner = Path(tree["path"]) / ".handrail" / "cache"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    inner.chmod(0o500)
    assert ground.run("worktrees", "remove", tree["run"]).code == 0
    assert ground.remains == []


def test_keep_wins_over_what_was_chosen_before(ground: Ground) -> None:
    tree = ground.started("ask", "--merge", code=4)
    assert "the work is on branch" in ground.run("worktrees", "keep", tree["run"]).out
    ground.project.write("answers.json", '{"ask": {"why": "because"}}')
    assert ground.json("resume", tree["run"], "--answers", "answers.json")["status"] == "completed"
    assert ground.main.subjects == ["first"]
    assert len(ground.listed) == 1


def test_an_unknown_run_has_no_worktree(ground: Ground) -> None:
    tree = ground.started("edit")
    said = ground.run("worktrees", "merge", "r-nope")
    assert (said.code, "run `r-nope` has no worktree" in said.err) == (1, True)
    said = ground.run("worktrees", "merge", tree["run"], "--force")
    assert (said.code, "--force" in said.err) == (2, True)


@pytest.mark.whole
def test_pruning_a_run_removes_its_worktree_but_not_its_work(ground: Ground) -> None:
    first, second = ground.started("edit"), ground.started("look", "--keep")
    removed = ground.json("prune", "--keep", "0", "--yes")["removed"]
    assert [item["id"] for item in removed] == [second["run"]]
    assert [one["run"] for one in ground.listed] == [first["run"]]
    assert [run["run"] for run in ground.json("runs")["runs"]] == [first["run"]]


def test_files_of_a_worktree_without_its_git_file_are_not_lost(ground: Ground) -> None:
    tree = ground.started("ask", code=4)
    (Path(tree["path"]) / ".git").unlink()
    ground.project.write("answers.json", '{"ask": {"why": "because"}}')
    failed = ground.json("resume", tree["run"], "--answers", "answers.json", code=1)
    assert "is no worktree any more, because `.git` is missing in it, but it has files" in failed["error"]
    said = ground.run("worktrees", "remove", tree["run"])
    assert (said.code, "would lose uncommitted changes" in said.err) == (1, True)
    assert (Path(tree["path"]) / "out.txt").read_text() == "tea"
    assert ground.run("worktrees", "remove", tree["run"], "--force").code == 0
    assert ground.remains == []


def test_a_worktree_is_not_removed_under_a_run(ground: Ground) -> None:
    """Neither under its own run, nor under one that was started inside of it."""
    tree = ground.started("look", "--keep")
    wait = "phases:\n- id: a\n  steps:\n  - {id: w, node: wait, params: {seconds: 600}}\n"
    ground.project.write(".handrail/flows/wait.yaml", wait)
    ground.patch.chdir(tree["path"])
    second = ground.json("run", "wait", "--detach")["run"]
    try:
        said = ground.run("worktrees", "remove", tree["run"])
        assert (said.code, f"run `{second}` is running in the worktree" in said.err) == (1, True)
    finally:
        ground.patch.chdir(ground.project.folder)
        assert ground.run("stop", second).code == 0
    assert ground.run("worktrees", "remove", tree["run"]).code == 0
