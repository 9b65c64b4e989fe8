"""A run in a worktree of its own: made from the right commit, prepared, and reached from both checkouts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from driven.worktrees.grounds import Ground, git

SCHEMA = json.dumps({"type": "object", "required": ["n"]})
MAKES = """\
phases:
- id: work
  steps:
  - id: make
    node: write-file
    params: {path: made.json, text: "{}"}
    makes: [{path: made.json, schema: own/thing}]
"""
NOTES = """\
phases:
- id: work
  steps:
  - id: make
    node: write-file
    params: {path: {artifact: {name: notes}}, text: tea}
    makes: [{artifact: {name: notes}}]
"""


def test_the_work_is_on_a_branch_and_the_person_sees_no_change(ground: Ground) -> None:
    before = ground.person
    tree = ground.started("edit")
    assert (tree["branch"], tree["base"], tree["status"]) == (f"handrail/{tree['run']}", "main", "completed")
    assert ground.person == before
    assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"
    assert not (ground.project.folder / "out.txt").exists()
    assert [(one["run"], one["state"], one["ahead"]) for one in ground.listed] == [(tree["run"], "1 ahead", 1)]


def test_uncommitted_changes_stay_with_the_person_and_that_is_said(ground: Ground) -> None:
    ground.main.write("kept.txt", "two\n")
    ground.main.write("new.txt", "new\n")
    said = ground.run("run", "edit", "--worktree")
    assert f"2 uncommitted changes stay in `{ground.project.folder}`" in said.err
    assert "kept.txt, new.txt" in said.err
    (tree,) = ground.listed
    assert (Path(tree["path"]) / "kept.txt").read_text() == "one\n"
    assert not (Path(tree["path"]) / "new.txt").exists()


def test_one_uncommitted_change_is_told_in_the_singular(ground: Ground) -> None:
    ground.main.write("new.txt", "new\n")
    said = ground.run("run", "edit", "--worktree")
    assert f"1 uncommitted change stays in `{ground.project.folder}`" in said.err


def test_it_says_where_the_work_is_and_how_to_go_on(ground: Ground) -> None:
    said = ground.run("run", "edit", "--worktree")
    (tree,) = ground.listed
    assert f"worktree `{tree['path']}` on branch `{tree['branch']}`, from `main`" in said.err
    assert f"`handrail worktrees merge {tree['run']}` merges it into `main`" in said.err
    assert f"`handrail worktrees remove {tree['run']}` removes it" in said.err


def test_a_worktree_without_changes_is_removed_at_the_end(ground: Ground) -> None:
    assert ground.started("look")["status"] == "completed"
    assert (ground.remains, ground.branches) == ([], ["main"])


def test_a_worktree_without_changes_is_kept_if_the_person_says_so(ground: Ground) -> None:
    tree = ground.started("look", "--keep")
    assert [one["state"] for one in ground.listed] == ["no changes"]
    assert os.path.isdir(tree["path"])


@pytest.mark.whole
def test_a_base_is_a_branch_a_tag_or_a_commit(ground: Ground) -> None:
    ground.main.git("branch", "old")
    ground.main.git("tag", "v1")
    ground.main.write("kept.txt", "two\n")
    ground.main.commit("second")
    for base, branch in (("old", "old"), ("v1", None), (ground.first, None)):
        tree = ground.started("edit", "--base", base)
        assert tree["base"] == branch
        assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"


@pytest.mark.whole
def test_a_scope_names_the_branch_also_if_it_is_taken(ground: Ground) -> None:
    first, second = (ground.started("edit", "--scope", "ABC 1") for _ in range(2))
    assert (first["branch"], second["branch"]) == ("handrail/ABC-1", f"handrail/ABC-1-{second['run']}")


def test_schemas_and_flows_that_are_not_committed_are_used(ground: Ground) -> None:
    ground.project.write(".handrail/schemas/own/thing.json", SCHEMA)
    ground.project.write(".handrail/flows/makes.yaml", MAKES)
    tree = ground.started("makes", code=1)
    assert "does not match the schema `own/thing`" in tree["error"]
    assert not (Path(tree["path"]) / ".handrail" / "schemas").exists()


def test_artifacts_reach_the_person_also_after_the_worktree_is_gone(ground: Ground) -> None:
    ground.project.write(".handrail/flows/notes.yaml", NOTES)
    tree = ground.started("notes")
    assert ground.remains == [], "new artifacts are kept by Handrail, so they are no work that could be lost"
    (made,) = ground.json("artifacts", tree["run"])["artifacts"]
    assert ground.run("artifacts", tree["run"], made["path"]).out.strip() == "tea"


def test_a_run_is_answered_and_shown_from_inside_its_worktree(ground: Ground) -> None:
    tree = ground.started("ask", code=4)
    ground.project.write("answer.json", '{"why": "because"}')
    answer = str(ground.project.folder / "answer.json")
    ground.patch.chdir(tree["path"])
    assert [run["run"] for run in ground.json("runs")["runs"]] == [tree["run"]]
    assert tree["run"] in ground.run("log", "last").out
    assert [one["run"] for one in ground.listed] == [tree["run"]]
    assert ground.json("answer", "last", "--file", answer)["status"] == "completed"
    assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"


@pytest.mark.whole
def test_a_run_is_resumed_and_restarted_from_inside_its_worktree(ground: Ground) -> None:
    tree = ground.started("ask", code=4)
    inner = Path(tree["path"]) / "deeper"
    inner.mkdir()
    ground.patch.chdir(inner)
    ground.project.write("answers.json", '{"ask": {"why": "because"}}')
    answers = str(ground.project.folder / "answers.json")
    assert ground.json("resume", "last", "--answers", answers)["status"] == "completed"
    ground.patch.chdir(ground.project.folder)
    assert ground.json("restart", "last", code=4)["worktree"]["path"] == tree["path"]
    assert len(ground.listed) == 1


@pytest.mark.whole
def test_a_new_run_inside_a_worktree_works_there(ground: Ground) -> None:
    tree = ground.started("edit")
    ground.patch.chdir(tree["path"])
    second = ground.json("run", "edit", "--param", "text=milk")
    assert second["worktree"]["path"] == tree["path"]
    assert git(tree["path"], "log", "--format=%s") == "Add milk\nAdd tea\nfirst\n"
    assert [one["run"] for one in ground.listed] == [tree["run"]], "it still belongs to the first run"
    third = ground.started("edit", "--param", "text=soup")
    assert third["base"] == tree["branch"]
    assert git(third["path"], "log", "--format=%s") == "Add soup\nAdd milk\nAdd tea\nfirst\n"


def test_a_project_in_a_folder_of_the_repository_works_in_that_folder(ground: Ground) -> None:
    ground.project.write(
        "part/.handrail/flows/edit.yaml", (ground.project.folder / ".handrail/flows/edit.yaml").read_text()
    )
    ground.main.write("part/a.txt", "a\n")
    ground.main.commit("part")
    ground.patch.chdir(ground.project.folder / "part")
    tree = ground.started("edit")
    assert git(tree["path"], "show", "--name-only", "--format=").split() == ["part/out.txt"]
    ground.patch.chdir(tree["path"])
    assert [run["run"] for run in ground.json("runs")["runs"]] == [tree["run"]]


def test_setup_commands_and_copied_files_prepare_it(ground: Ground) -> None:
    settings = "worktree:\n  setup: [[sh, -c, 'echo ready > prepared && cat .env >> prepared']]\n  copy: [.env, nope]\n"
    ground.project.write(".handrail/settings.yaml", settings)
    ground.main.write(".gitignore", ".handrail\n.env\nprepared\n")
    ground.main.commit("ignore")
    ground.main.write(".env", "A=1\n")
    said = ground.run("run", "look", "--worktree", "--keep")
    (tree,) = ground.listed
    assert (Path(tree["path"]) / "prepared").read_text() == "ready\nA=1\n"
    assert "setup of the worktree: `sh -c" in said.err
    assert "`nope` is not copied" in said.err
    assert tree["uncommitted"] == []


def test_a_copy_that_git_does_not_ignore_is_no_change_until_it_changes(ground: Ground) -> None:
    ground.project.write(".handrail/settings.yaml", "worktree: {copy: [local.txt]}\n")
    ground.main.write("local.txt", "mine\n")
    tree = ground.started("look", "--keep")
    assert ground.listed[0]["uncommitted"] == []
    (Path(tree["path"]) / "local.txt").write_text("changed\n")
    assert ground.listed[0]["uncommitted"] == ["local.txt"]


def test_a_setup_that_fails_fails_the_run_and_is_repeated(ground: Ground) -> None:
    ground.project.write(
        ".handrail/settings.yaml", "worktree: {setup: [[sh, -c, 'echo no >&2; test -f ../allowed']]}\n"
    )
    tree = ground.started("edit", code=1)
    assert tree["status"] == "failed"
    assert "the setup command" in tree["error"]
    assert "ended with 1: no" in tree["error"]
    (Path(tree["path"]).parent / "allowed").touch()
    assert ground.json("resume", tree["run"])["status"] == "completed"
    assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"


def test_settings_of_a_project_cannot_choose_the_folder(ground: Ground) -> None:
    ground.project.write(
        ".handrail/settings.yaml", "worktree: {folder: /tmp, setup: [npm ci], copy: [../up], soup: 1}\n"
    )
    found = {problem["message"] for problem in ground.json("validate", code=2)["problems"]}
    assert any("`folder` can be set only in the user's settings" in one for one in found)
    assert any("a command of `setup` has to be a list of texts" in one for one in found)
    assert any("an item of `copy` has to be a path in the project" in one for one in found)
    assert any("`worktree` has no key `soup`" in one for one in found)


def test_the_user_chooses_the_folder(ground: Ground) -> None:
    other = ground.project.home.parent / "my trees"
    ground.project.home.joinpath("config").mkdir(exist_ok=True)
    ground.project.home.joinpath("config", "settings.yaml").write_text(f'worktree: {{folder: "{other}"}}\n')
    tree = ground.started("edit")
    assert Path(tree["path"]).parent == other


def test_the_worktree_is_made_again_if_it_was_removed(ground: Ground) -> None:
    tree = ground.started("ask", code=4)
    assert ground.run("worktree", "remove", tree["run"], "--force").code == 0
    assert ground.remains == []
    ground.project.write("answers.json", '{"ask": {"why": "because"}}')
    ended = ground.json("restart", tree["run"], "--answers", "answers.json")
    assert ended["status"] == "completed"
    assert git(tree["path"], "log", "--format=%s") == "Add tea\nfirst\n"


@pytest.mark.whole
def test_a_detached_run_works_in_its_worktree(ground: Ground) -> None:
    said = ground.project.process("run", "edit", "--worktree", "--merge", "--detach", "--json")
    run = json.loads(said.out)["run"]
    assert ground.project.process("log", run, "--follow").code == 0
    assert ground.main.subjects == ["Add tea", "first"]
    assert ground.remains == []


@pytest.mark.whole
def test_a_workflow_is_driven_and_checked_in_the_worktree(ground: Ground) -> None:
    """The session belongs to the project, the exit check and the agent work in the worktree."""
    ground.project.workflow("ship", ["look", "build"])
    ground.project.phase("ship", "look", "tools: {blacklist: [write]}\n")
    ground.project.phase("ship", "build", "exit:\n  - {run: [test, -f, good], name: it is good}\n")
    write = {"tool": "write", "input": {"path": "good", "content": "x"}}
    script = [write, {"step": "next"}, {"step": "next"}, write, {"step": "next"}]
    path = ground.project.home.parent / "script.yaml"
    path.write_text(json.dumps(script))
    ground.patch.setenv("HANDRAIL_SCRIPT", str(path))
    before = ground.person
    tree = ground.started("ship", "make tea", "--agent", "scripted")
    story = ground.run("log", "last").out
    assert (Path(tree["path"]) / "good").exists()
    assert ("denied" in story, "it is good" in story) == (True, True), story
    assert (ground.person, [one["status"] for one in ground.json("sessions")["sessions"]]) == (before, ["done"])


def test_options_of_a_worktree_need_it(ground: Ground) -> None:
    for option in (("--merge",), ("--base", "main")):
        said = ground.run("run", "edit", *option)
        assert (said.code, f"`{option[0]}` needs `--worktree`" in said.err) == (2, True)
