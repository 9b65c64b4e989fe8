"""A cancel that a person confirmed frees the agent in every case, and says what it could not do."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.calls.talking import tell
from handrail.app import App
from handrail.guided.sessions import sessions
from support import Project, Said

HANDRAIL = str(Path(sys.executable).parent / "handrail")
LONG = 30.0
WEAK = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
"""Lets the permissions of files count for root, too."""


@pytest.fixture
def linked(project: Project) -> Project:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    hook(project, "UserPromptExpansion", command_name="workflow", command_args="w make tea")
    return project


def hook(project: Project, event: str, **more: object) -> dict[str, object]:
    return tell("claude", {"session_id": "c", "cwd": str(project.folder), "hook_event_name": event, **more})


def is_free(project: Project) -> bool:
    return hook(project, "PreToolUse", tool_name="Edit", tool_input={"file_path": "a"}) == {}


def session(project: Project) -> Path:
    return next((project.home / "state" / "sessions").glob("*/claude-c"))


def link(project: Project) -> Path:
    return project.home / "state" / "hosts" / "claude" / "c"


def cancel_weakly(project: Project) -> Said:
    """Cancel in a process that may not write where the permissions forbid it."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which(WEAK[0]) is None:
            pytest.skip("root may write everywhere, and `setpriv` is not installed")
        prefix = WEAK
    argv = [*prefix, HANDRAIL, "cancel", "--yes", "--session", "claude-c"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=project.folder)
    return Said(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def read_only(linked: Project) -> Iterator[Project]:
    """The folder of the session is read-only."""
    folders = [session(linked), session(linked).parent]
    for folder in folders:
        folder.chmod(0o500)
    for file in session(linked).iterdir():
        file.chmod(0o400)
    yield linked
    for folder in reversed(folders):
        folder.chmod(0o700)
    link(linked).parent.chmod(0o700)


def test_a_lock_that_another_process_holds_does_not_prevent_a_cancel(
    linked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CANCEL_SECONDS", 0.1)
    with (session(linked) / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = linked.json("cancel", "--yes", "--session", "claude-c")
    assert data["status"] == "cancelled"
    assert "is held by another process" in data["message"]
    assert is_free(linked)
    assert linked.json("sessions")["sessions"] == []


def test_a_cancel_frees_the_agent_before_it_waits_for_anything(
    linked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CANCEL_SECONDS", LONG)
    app = App(str(linked.folder), os.environ, by="person")
    cancel = threading.Thread(target=lambda: app.cancel("claude-c", confirmed=True))
    with (session(linked) / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cancel.start()
        while link(linked).exists() and cancel.is_alive():
            time.sleep(0.01)
        assert cancel.is_alive(), "it waits for the lock"
        assert is_free(linked)
    cancel.join()
    assert linked.json("status", "--session", "claude-c")["status"] == "cancelled"


def test_a_cancel_frees_the_agent_if_the_session_is_read_only(read_only: Project) -> None:
    said = cancel_weakly(read_only)
    assert said.code == 0, said
    assert "The agent is free. The end of the workflow could not be recorded" in said.out
    assert "Its files could not be moved" in said.out
    assert is_free(read_only)


@pytest.mark.whole
def test_a_cancel_says_what_to_remove_if_it_cannot_free_the_agent(read_only: Project) -> None:
    link(read_only).parent.chmod(0o500)
    said = cancel_weakly(read_only)
    assert said.code == 1
    assert "the workflow is still active" in said.err
    assert f"rm -r {link(read_only)}" in said.err
    assert not is_free(read_only)


@pytest.mark.whole
def test_a_cancel_is_recorded_even_if_the_link_cannot_be_removed(linked: Project) -> None:
    link(linked).parent.chmod(0o500)
    said = cancel_weakly(linked)
    assert said.code == 0, said
    assert "cannot be removed: Permission denied" in said.err
    assert is_free(linked)
    assert linked.json("status", "--session", "claude-c")["status"] == "cancelled"


@pytest.mark.whole
def test_a_session_without_a_link_names_its_folder_if_it_cannot_be_freed(project: Project) -> None:
    project.workflow("w", ["look"])
    project.json("start", "w", "x", "--session", "claude-c")
    for folder in (session(project), session(project).parent):
        folder.chmod(0o500)
    for file in session(project).iterdir():
        file.chmod(0o400)
    said = cancel_weakly(project)
    assert said.code == 1
    assert f"rm -r {session(project)}" in said.err
    session(project).parent.chmod(0o700)
    session(project).chmod(0o700)


def test_a_session_with_a_damaged_about_is_still_listed(linked: Project) -> None:
    (session(linked) / "about").write_bytes(b"0000 {")
    assert [row["session"] for row in linked.json("sessions")["sessions"]] == ["claude-c"]


def test_an_about_file_without_a_checksum_is_read(linked: Project) -> None:
    path = session(linked) / "about"
    path.write_bytes(path.read_bytes().partition(b" ")[2])
    assert path.read_bytes().startswith(b"{")
    linked.json("cancel", "--yes")
    assert not link(linked).exists()
    assert is_free(linked)


def test_a_session_that_does_not_exist_is_not_found(linked: Project) -> None:
    said = linked.run("cancel", "--yes", "--session", "claude-d")
    assert (said.code, "did you mean `claude-c`" in said.err) == (1, True)


def test_an_unreadable_folder_of_sessions_is_an_error(linked: Project) -> None:
    folder = session(linked).parent
    shutil.rmtree(folder)
    folder.write_text("")
    said = linked.run("sessions")
    assert said.code == 1
    assert "it is not a folder" in said.err
