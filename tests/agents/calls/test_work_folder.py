"""Exit checks run where the agent works: in the project, or in another worktree of its repository."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.calls import servers
from handrail.extensions.registry import Registry
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.store import Session
from support import Project

CHECK = "exit:\n  - {run: [test, -f, good], name: it is good}\n  - {file: notes.md}\n"


def git(folder: Path, *argv: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *argv], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def work(project: Project) -> Project:
    """A session in a phase with two checks, in a repository with one commit."""
    git(project.folder, "init", "-q")
    project.workflow("w", ["build", "ship"])
    project.phase("w", "build", CHECK)
    git(project.folder, "add", "-A")
    git(project.folder, "commit", "-qm", "first")
    typed = {"hook_event_name": "UserPromptExpansion", "command_name": "workflow", "command_args": "w make tea"}
    assert tell("claude", {"session_id": "C", "cwd": str(project.folder), **typed})
    return project


def prove(folder: Path) -> None:
    for name in ("good", "notes.md"):
        (folder / name).write_text("x\n")


def advance(cwd: Path, action: str = "next") -> tuple[bool, str]:
    """(the phase was left, the text for the agent), if the agent works in `cwd`."""
    message = {"tool_name": "mcp__plugin_handrail_handrail__workflow_step", "tool_input": {"action": action}}
    said = tell("claude", {"session_id": "C", "cwd": str(cwd), "hook_event_name": "PreToolUse", **message})
    answers: list[dict[str, Any]] = []
    server = servers.McpServer("claude", Registry(), os.environ, answers.append)
    params = {"name": "workflow_step", "arguments": said["hookSpecificOutput"]["updatedInput"]}
    server.take(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    for thread in server.threads:
        thread.join()
    result = answers[-1]["result"]
    return not result["isError"], result["content"][0]["text"]


def events(project: Project) -> list[dict[str, Any]]:
    folder = next((project.home / "state" / "sessions").glob("*/claude-C"))
    session = Session(SessionRef(str(folder), str(project.folder), "claude-C"), lambda: 0.0)
    return [event for record in session.records() for event in record["events"]]


def test_work_in_a_worktree_is_checked_there(work: Project) -> None:
    tree = work.folder / ".claude" / "worktrees" / "tea"
    git(work.folder, "worktree", "add", "-q", str(tree))
    assert work.run("reload", "--session", "claude-C").code == 0
    prove(work.folder)
    left, told = advance(tree)
    assert (left, "0 of 2" in told, "2 of 2 exit checks" in told) == (False, False, True)
    prove(tree)
    (work.folder / "good").unlink()
    left, told = advance(tree)
    assert left, told
    checked, moved = events(work)[-2:]
    assert (checked["type"], checked["folder"]) == ("Checked", str(tree))
    assert (moved["type"], moved["cwd"]) == ("Moved", str(tree))


def test_a_worktree_that_was_made_in_the_phase_is_no_proof(work: Project) -> None:
    tree = work.folder / ".claude" / "worktrees" / "tea"
    git(work.folder, "worktree", "add", "-q", "-b", "tea", str(tree))
    prove(tree)
    left, told = advance(tree)
    assert (left, "2 of 2 exit checks" in told, f"They ran in `{work.folder}`" in told) == (False, True, True)
    assert work.json("status", "--session", "claude-C")["checksRanIn"] == str(work.folder)
    assert f"**Exit checks ran in:** {work.folder}" in advance(tree, "status")[1]
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "work")
    left, told = advance(tree)
    assert (left, "was made in this phase" in told, "handrail reload" in told) == (False, True, True)
    git(work.folder, "merge", "-q", "tea")
    assert advance(tree)[0]


def test_a_person_accepts_a_worktree_of_the_phase_by_a_reload(work: Project) -> None:
    tree = work.folder / ".claude" / "worktrees" / "tea"
    git(work.folder, "worktree", "add", "-q", "-b", "tea", str(tree))
    prove(tree)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "work")
    assert not advance(tree)[0]
    assert work.run("reload", "--session", "claude-C").code == 0
    assert advance(tree)[0]


def test_a_folder_below_the_project_is_checked_as_the_project(work: Project) -> None:
    prove(work.folder)
    below = work.folder / "src" / "deep"
    below.mkdir(parents=True)
    assert advance(below)[0]
    assert (events(work)[-2]["folder"], events(work)[-1]["cwd"]) == (str(work.folder), str(below))


def test_another_repository_below_the_project_is_checked_as_the_project(work: Project) -> None:
    prove(work.folder)
    below = work.folder / "vendor"
    below.mkdir()
    git(below, "init", "-q")
    assert advance(below)[0]


def test_work_elsewhere_is_refused_and_the_message_says_where(work: Project, tmp_path: Path) -> None:
    prove(work.folder)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    prove(other)
    left, told = advance(other)
    assert not left
    assert f"you work in `{other}`, which is not part of the project `{work.folder}`" in told
    assert "go back to the project" in told
    assert events(work)[-1]["type"] == "Started"


def test_a_copied_worktree_is_not_one(work: Project, tmp_path: Path) -> None:
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    git(work.folder, "worktree", "add", "-q", str(tree))
    copy.mkdir()
    (copy / ".git").write_text((tree / ".git").read_text())
    prove(copy)
    assert "is not part of the project" in advance(copy)[1]


def test_a_project_below_the_top_of_its_repository_is_found_in_a_worktree(project: Project, tmp_path: Path) -> None:
    from handrail.base.errors import RefusedError
    from handrail.guided.sessions.exit_checks import work_folder

    top, tree = project.folder, tmp_path / "tree"
    (top / "app").mkdir()
    (top / "app" / "a").write_text("x")
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    git(top, "worktree", "add", "-q", str(tree))
    inner = str(top / "app")
    assert work_folder(inner, str(tree)) == str(tree / "app")
    assert work_folder(inner, str(top)) == inner
    (tree / "app" / "a").unlink()
    (tree / "app").rmdir()
    with pytest.raises(RefusedError, match="there is no"):
        work_folder(inner, str(tree))
