"""`git-commit` with real repositories: exactly the given files, once, whatever is killed or fails."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.repositories import Checkout, isolate
from support import Project

FLOW = """params: {files: {default: []}, message: {default: second}}
phases:
- id: a
  steps:
  - {id: x, node: git-commit, params: {message: '${params.message}', files: '${params.files}'}}
"""
KILL_DRIVER = """[ -e "$GIT_DIR/killed" ] && exit 0
touch "$GIT_DIR/killed"
kill -9 $(ps -o ppid= -p $PPID)
"""


@pytest.fixture
def checkout(project: Project, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    isolate(monkeypatch)
    made = Checkout(project.folder)
    made.write(".gitignore", "/.handrail\n")
    made.write("kept.txt", "one\n")
    made.commit()
    project.write(".handrail/flows/c.yaml", FLOW)
    return made


def commit(project: Project, files: Any, code: int = 0, **params: Any) -> Any:
    given = [f"--param={name}={value}" for name, value in params.items()]
    (step,) = project.json("run", "c", f"--param=files={json.dumps(files)}", *given, code=code)["phases"][0]["steps"]
    return step["error"] if code else step["value"]


def test_exactly_the_given_files_are_committed(project: Project, checkout: Checkout) -> None:
    for name in ("kept.txt", "new.txt", "folder/a.txt", "folder/b.txt", "other.txt", "staged.txt"):
        checkout.write(name, f"{name} 2\n")
    checkout.git("add", "staged.txt")
    value = commit(project, ["kept.txt", "new.txt", "folder/", str(project.folder / "folder/b.txt")])
    assert value["commitHash"] == checkout.head
    assert "second" in value["output"]
    assert checkout.committed() == {"kept.txt", "new.txt", "folder/a.txt", "folder/b.txt"}
    assert checkout.git("status", "--porcelain") == "A  staged.txt\n?? other.txt\n"


@pytest.mark.parametrize("given", [["folder", "kept.txt"], ["folder/.env"], []], ids=str)
def test_a_secret_is_not_committed(
    project: Project, checkout: Checkout, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    monkeypatch.setenv("JIRA_API_KEY", "a-key-of-jira-4711")
    checkout.write("kept.txt", "two\n")
    checkout.write("folder/.env", "A=1\nJIRA_API_KEY=a-key-of-jira-4711\n")
    if not given:
        checkout.git("add", "folder/.env")
    before, status = checkout.head, checkout.git("status", "--porcelain")
    error = commit(project, given, code=1)
    assert error == "the changes contain the value of the secret `JIRA_API_KEY`, so they are not committed"
    assert (checkout.head, checkout.git("status", "--porcelain")) == (before, status)


def test_a_file_can_lose_a_secret_and_another_staged_file_does_not_count(
    project: Project, checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.write("leaked.txt", "key: a-key-of-jira-4711\nend\n")
    checkout.commit()
    monkeypatch.setenv("JIRA_API_KEY", "a-key-of-jira-4711")
    checkout.write("leaked.txt", "end\n")
    checkout.write("staged.txt", "a-key-of-jira-4711")
    checkout.git("add", "staged.txt")
    commit(project, ["leaked.txt"])
    assert checkout.committed() == {"leaked.txt"}


def test_names_of_every_kind_are_committed(project: Project, checkout: Checkout) -> None:
    names = ["-rf", "--all", "a b.txt", 'quo"te', "new\nline", "ümläut ☂", "*", ":(top)x", " lead"]
    for name in [*names, "not given", ":(exclude)y"]:
        checkout.write(name, "x\n")
    checkout.write(b"caf\xe9.txt", "x\n")
    commit(project, [*names, '"caf\\351.txt"'])
    assert checkout.committed() == {*names, os.fsdecode(b"caf\xe9.txt")}


def test_removed_and_renamed_files_are_committed(project: Project, checkout: Checkout) -> None:
    for name in ("old", "gone", "dropped"):
        checkout.write(name, f"{name}\n" * 9)
    checkout.commit()
    checkout.git("mv", "old", "new")
    checkout.git("rm", "-q", "gone")
    (project.folder / "dropped").unlink()
    checkout.write("stays", "x\n")
    checkout.git("add", "stays")
    commit(project, ["new", "gone", "dropped"])
    assert checkout.committed() == {"old", "new", "gone", "dropped"}
    assert checkout.git("status", "--porcelain") == "A  stays\n"


def test_the_message_is_kept_as_it_is(project: Project, checkout: Checkout) -> None:
    checkout.git("config", "commit.cleanup", "strip")
    checkout.write("kept.txt", "2\n")
    message = "--amend #12 $(touch x) `y`\n\n# not a comment\n-- end"
    commit(project, ["kept.txt"], message=message)
    assert checkout.git("log", "-1", "--format=%B").strip() == message
    assert len(checkout.subjects) == 2


def test_the_first_commit_of_a_repository(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    made = Checkout(project.folder)
    project.write(".handrail/flows/c.yaml", FLOW)
    made.write("a.txt", "x\n")
    assert commit(project, ["a.txt"])["commitHash"] == made.head
    assert made.committed() == {"a.txt"}


def test_without_files_what_is_staged_is_committed(project: Project, checkout: Checkout) -> None:
    assert commit(project, [], code=1) == "there is nothing to commit: nothing is staged"
    checkout.write("kept.txt", "2\n")
    checkout.git("add", "kept.txt")
    checkout.write("new.txt", "2\n")
    commit(project, [])
    assert checkout.committed() == {"kept.txt"}


def test_a_project_in_a_subfolder_of_the_repository(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    top = Checkout(project.folder.parent)
    top.write(".gitignore", "/home\n/user\n.handrail\n")
    top.commit()
    project.write(".handrail/flows/c.yaml", FLOW)
    project.write("a.txt", "x\n")
    top.write("a.txt", "outside\n")
    top.git("add", "a.txt")
    commit(project, ["a.txt"])
    assert top.committed() == {"project/a.txt"}
    assert "leads out of the project" in commit(project, ["../a.txt"], code=1)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["kept.txt"], "nothing to commit: no given file has changed"),
        (["missing.txt"], "did not match any files"),
        (["../x"], "leads out of the project"),
        ([".."], "leads out of the project"),
        (["link/x"], "leads out of the project"),
        (["/etc/passwd"], "leads out of the project"),
        (["."], "is not the name of a file"),
        ([""], "is not the name of a file"),
        (["a\0../../x"], "contains a NUL character"),
        ([["a"]], "an item of `files` has to be text"),
        (["ignored.txt"], "ignored"),
    ],
)
def test_files_that_cannot_be_committed(
    project: Project, checkout: Checkout, tmp_path: Path, files: list[Any], said: str
) -> None:
    (project.folder / "link").symlink_to(tmp_path)
    checkout.write(".gitignore", "/.handrail\nignored.txt\n")
    checkout.commit()
    before = checkout.head
    checkout.write("ignored.txt", "x\n")
    assert said in commit(project, files, code=1)
    assert checkout.head == before
    assert checkout.git("diff", "--cached", "--name-only") == ""


def test_a_link_out_of_the_project_is_committed_as_a_link(project: Project, checkout: Checkout) -> None:
    (project.folder / "link").symlink_to("/etc")
    commit(project, ["link"])
    assert checkout.git("cat-file", "-p", "HEAD:link") == "/etc"


def test_a_conflict_is_not_committed(project: Project, checkout: Checkout) -> None:
    checkout.git("checkout", "-q", "-b", "side")
    checkout.write("kept.txt", "side\n")
    checkout.commit("side")
    checkout.git("checkout", "-q", "main")
    checkout.write("kept.txt", "main\n")
    before = checkout.commit("main")
    with pytest.raises(AssertionError):
        checkout.git("merge", "side")
    assert commit(project, ["kept.txt"], code=1) == "files have merge conflicts: kept.txt"
    assert checkout.head == before
    checkout.write("kept.txt", "both\n")
    checkout.git("add", "kept.txt")
    commit(project, ["kept.txt"])
    assert len(checkout.git("log", "-1", "--format=%P").split()) == 2


def test_the_message_of_a_failing_hook_is_shown(project: Project, checkout: Checkout) -> None:
    checkout.hook("pre-commit", "echo 'lint: line 3 is too long' >&2; exit 1")
    checkout.write("kept.txt", "2\n")
    assert commit(project, ["kept.txt"], code=1) == "`git commit` ended with 1: lint: line 3 is too long"
    checkout.hook("pre-commit", "exit 0")
    run = project.json("runs")["runs"][0]["run"]
    assert project.json("resume", run)["status"] == "completed"
    assert checkout.subjects == ["second", "first"]


def test_git_that_does_not_know_who_commits_changes_nothing(project: Project, checkout: Checkout) -> None:
    checkout.git("config", "--unset", "user.email")
    checkout.git("config", "user.useConfigOnly", "true")
    checkout.write("kept.txt", "2\n")
    said = commit(project, ["kept.txt"], code=1)
    assert "git does not know who commits; `git config user.name NAME`" in said
    assert checkout.git("status", "--porcelain") == " M kept.txt\n"


def killed_run(project: Project, *more: str) -> str:
    said = project.process("run", "c", '--param=files=["kept.txt"]', *more)
    assert said.code == -signal.SIGKILL, said
    return str(project.json("runs")["runs"][0]["run"])


@pytest.mark.parametrize("hook", ["post-commit", "pre-commit"])
def test_a_commit_is_made_once_if_handrail_is_killed_meanwhile(project: Project, checkout: Checkout, hook: str) -> None:
    """The hook kills Handrail with SIGKILL: after the commit, or before it, and then git goes on alone."""
    checkout.hook(hook, f'GIT_DIR="$(git rev-parse --absolute-git-dir)"\n{KILL_DRIVER}')
    checkout.hook("commit-msg", 'echo "[T-1] $(cat "$1")" > "$1"')
    checkout.write("kept.txt", "2\n")
    run = killed_run(project)
    ended = project.json("resume", run)
    assert ended["phases"][0]["steps"][0]["value"]["commitHash"] == checkout.head
    assert checkout.subjects == ["[T-1] second", "first"]


def test_a_commit_is_recognised_below_later_ones_and_not_made_again(project: Project, checkout: Checkout) -> None:
    checkout.git("config", "core.logAllRefUpdates", "false")
    checkout.hook("post-commit", f'GIT_DIR="$(git rev-parse --absolute-git-dir)"\n{KILL_DRIVER}')
    checkout.write("kept.txt", "2\n")
    run = killed_run(project)
    ours = checkout.head
    checkout.write("kept.txt", "3\n")
    checkout.commit("by a person")
    checkout.write("kept.txt", "4\n")
    ended = project.json("resume", run)
    assert ended["phases"][0]["steps"][0]["value"] == {"output": f"{ours[:7]} second\n", "commitHash": ours}
    assert checkout.subjects == ["by a person", "second", "first"]


def test_a_commit_that_a_person_took_back_is_made_again(project: Project, checkout: Checkout) -> None:
    checkout.hook("post-commit", f'GIT_DIR="$(git rev-parse --absolute-git-dir)"\n{KILL_DRIVER}')
    checkout.write("kept.txt", "2\n")
    run = killed_run(project)
    checkout.git("reset", "-q", "--soft", "HEAD~1")
    assert project.json("resume", run)["status"] == "completed"
    assert checkout.subjects == ["second", "first"]


def test_a_restarted_run_commits_again(project: Project, checkout: Checkout) -> None:
    checkout.write("kept.txt", "2\n")
    commit(project, ["kept.txt"])
    checkout.write("kept.txt", "3\n")
    run = project.json("runs")["runs"][0]["run"]
    assert project.json("restart", run)["status"] == "completed"
    assert checkout.subjects == ["second", "second", "first"]


WHOLE = """phases:
- id: collect
  steps:
  - {id: status, node: git-status, params: {outputFile: out/status.json, diffOutputFile: out/diff.txt}}
- id: ask
  steps:
  - {id: propose, node: write-file, params: {path: out/message.json, text: {const: {subject: Add tea}}}}
  - id: files
    node: select-files-form
    params: {gitStatusJsonFile: out/status.json, formId: select-files, title: Files, outputFile: out/files.json}
  - id: message
    node: commit-message-form
    params: {commitMessageFile: out/message.json, formId: commit-message, title: Message, outputFile: out/said.json}
- id: commit
  steps:
  - id: commit
    node: git-commit
    params:
      message: '${steps.ask.message.value.values.commit_message}'
      files: '${steps.ask.files.value.values.selected_files}'
"""


def test_a_flow_from_the_status_to_the_commit(project: Project, checkout: Checkout) -> None:
    """The run waits for each of two answers."""
    project.write(".handrail/flows/w.yaml", WHOLE)
    checkout.write(".gitignore", "/.handrail\n/out\n/a.json\n")
    checkout.write("kept.txt", "2\n")
    checkout.write("-new", "2\n")
    assert project.run("validate").out.startswith("no problems")
    run = project.json("run", "w", code=4)["run"]
    project.write("a.json", '{"selected_files": ["kept.txt", "-new"]}')
    assert project.json("answer", run, "--file", "a.json", code=4)["status"] == "waiting"
    project.write("a.json", '{"commit_message": "Add more tea"}')
    assert project.json("answer", run, "--file", "a.json")["status"] == "completed"
    assert checkout.subjects == ["Add more tea", "first"]
    assert checkout.committed() == {"kept.txt", "-new"}
