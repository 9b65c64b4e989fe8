"""A linked conversation whose state cannot be read: every call is denied, and a confirmed cancel frees it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.base import jsonlite
from support import Project


@pytest.fixture
def linked(project: Project) -> Project:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    say(project, "UserPromptExpansion", command_name="workflow", command_args="w make tea")
    assert reason(project, "Edit") == "denied"
    assert reason(project) == ""
    return project


def say(project: Project, event: str, conversation: str = "c", **more: Any) -> dict[str, Any]:
    return tell("claude", {"session_id": conversation, "cwd": str(project.folder), "hook_event_name": event, **more})


def reason(project: Project, tool: str = "Read", conversation: str = "c", **more: Any) -> str:
    """Why a call is denied; empty if it is allowed, `denied` if a phase denies it."""
    said = say(project, "PreToolUse", conversation, tool_name=tool, tool_input={"file_path": "a"}, **more)
    out = said.get("hookSpecificOutput", {})
    text = str(out.get("permissionDecisionReason", ""))
    return text if not text or "cannot decide" in text else "denied"


def state(project: Project) -> Path:
    return project.home / "state"


def link(project: Project, conversation: str = "c") -> Path:
    return state(project) / "hosts" / "claude" / conversation


def session(project: Project) -> Path:
    return next((state(project) / "sessions").glob("*/claude-c"))


def without_card(project: Project) -> Path:
    (session(project) / "card").unlink()
    return session(project)


def damaged_first_record(project: Project) -> None:
    journal = without_card(project) / "journal"
    journal.write_bytes(b"x" + journal.read_bytes()[1:])


def empty_journal(project: Project) -> None:
    (without_card(project) / "journal").write_bytes(b"")


def missing_journal(project: Project) -> None:
    (without_card(project) / "journal").unlink()


def journal_is_a_fifo(project: Project) -> None:
    (without_card(project) / "journal").unlink()
    os.mkfifo(session(project) / "journal")


def journal_is_a_folder(project: Project) -> None:
    (without_card(project) / "journal").unlink()
    (session(project) / "journal").mkdir()


def test_a_stop_says_that_the_session_cannot_be_read(linked: Project) -> None:
    missing_session(linked)
    assert "the files of its session are missing" in say(linked, "Stop", stop_hook_active=False)["systemMessage"]


def missing_session(project: Project) -> None:
    shutil.rmtree(session(project))


def card_without_a_gate(project: Project) -> None:
    path = session(project) / "card"
    card = jsonlite.decode_line(path.read_bytes()[:-1])
    assert card is not None
    path.write_bytes(jsonlite.encode_line({**card, "gate": None}))
    for plan in session(project).glob("plan-*"):
        plan.unlink()


def dangling_link(project: Project) -> None:
    link(project).unlink()
    link(project).symlink_to(project.folder / "nowhere")


def link_is_a_folder(project: Project) -> None:
    link(project).unlink()
    (link(project) / "inside").mkdir(parents=True)


def link_is_a_fifo(project: Project) -> None:
    link(project).unlink()
    os.mkfifo(link(project))


def damaged_link(project: Project) -> None:
    link(project).write_bytes(b"\xff{")


def about_and_journal_damaged(project: Project) -> None:
    (session(project) / "about").write_bytes(b"{")
    damaged_first_record(project)


def link_to_a_shared_folder(project: Project) -> None:
    session(project).chmod(0o777)


DAMAGES = (
    damaged_first_record,
    empty_journal,
    missing_journal,
    journal_is_a_fifo,
    journal_is_a_folder,
    missing_session,
    card_without_a_gate,
    dangling_link,
    link_is_a_folder,
    link_is_a_fifo,
    damaged_link,
    about_and_journal_damaged,
    link_to_a_shared_folder,
)


@pytest.fixture(params=DAMAGES, ids=lambda damage: damage.__name__)
def damaged(linked: Project, request: pytest.FixtureRequest) -> Project:
    damage: Callable[[Project], None] = request.param
    damage(linked)
    return linked


@pytest.mark.whole(4)
def test_a_call_is_denied_with_the_way_out(damaged: Project) -> None:
    assert "handrail cancel --yes --session claude-c" in reason(damaged)


@pytest.mark.whole(8)
def test_the_way_out_frees_the_conversation(damaged: Project) -> None:
    said = damaged.process("cancel", "--yes", "--session", "claude-c")  # a process, so that a cancel that hangs fails
    assert said.code == 0, said
    assert reason(damaged, "Edit") == ""
    assert not os.path.lexists(link(damaged))


@pytest.mark.whole(5)
def test_the_typed_cancel_frees_the_conversation(damaged: Project) -> None:
    said = say(damaged, "UserPromptExpansion", command_name="cancel-workflow", command_args="")
    assert said["decision"] == "block"
    assert reason(damaged, "Edit") == ""


def test_a_readable_session_is_cancelled_where_its_link_leads(linked: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    said = linked.run("--project", str(other), "cancel", "--yes", "--session", "claude-c")
    assert said.code == 0
    assert linked.json("status", "--session", "claude-c")["status"] == "cancelled"
    assert reason(linked, "Edit") == ""


@pytest.mark.parametrize("kind", ["loop", "file"])
def test_a_call_is_denied_if_the_state_folder_cannot_be_read(linked: Project, kind: str) -> None:
    folder = state(linked) / "hosts"
    shutil.rmtree(folder)
    if kind == "loop":
        folder.symlink_to(folder)
    else:
        folder.write_text("")
    assert "cannot decide" in reason(linked)


@pytest.mark.parametrize("place", ["", "hosts", "hosts/claude", "sessions"])
@pytest.mark.parametrize("kind", ["open", "link"])
def test_a_call_is_denied_if_other_users_could_change_the_state(linked: Project, place: str, kind: str) -> None:
    folder = state(linked) / place
    if kind == "open":
        folder.chmod(0o777)
    else:
        folder.rename(linked.folder / "moved")
        folder.symlink_to(linked.folder / "moved")
    assert ("other users can change it (mode 777)" if kind == "open" else "it is a symbolic link") in reason(linked)
    said = linked.run("next", "--session", "claude-c")
    if place in ("", "sessions"):
        assert (said.code, "Handrail does not use" in said.err) == (1, True)


def test_a_conversation_without_a_link_stays_free(linked: Project) -> None:
    state(linked).chmod(0o777)
    assert reason(linked, "Edit", "another") == ""


def test_a_message_from_another_conversation_than_the_environment_names_is_denied(
    linked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "c")
    assert reason(linked) == ""
    assert "CLAUDE_CODE_SESSION_ID names c" in reason(linked, conversation="another")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "another")
    assert "CLAUDE_CODE_SESSION_ID names another" in reason(linked)
    assert reason(linked, conversation="third") == ""


@pytest.fixture
def fork(linked: Project, tmp_path: Path) -> dict[str, str]:
    task = linked.json("status", "--session", "claude-c")["taskId"]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(f'{{"told": "{task}"}}\n', encoding="utf-8")
    return {"transcript_path": str(transcript)}


@pytest.mark.parametrize("damage", [damaged_first_record, missing_session, damaged_link, dangling_link])
def test_a_fork_of_a_damaged_parent_is_denied_and_can_be_freed(
    linked: Project, fork: dict[str, str], damage: Callable[[Project], None]
) -> None:
    damage(linked)
    say(linked, "SessionStart", "child", source="fork", **fork)
    assert "a fork of `c`, whose session cannot be read" in reason(linked, "Read", "child", **fork)
    assert "cannot decide" in reason(linked, "Edit", "child", **fork)
    assert linked.run("cancel", "--yes", "--session", "claude-child").code == 0
    assert reason(linked, "Edit", "child", **fork) == ""


def test_a_fork_without_a_workflow_is_free_beside_a_damaged_conversation(linked: Project, tmp_path: Path) -> None:
    damaged_first_record(linked)
    transcript = tmp_path / "plain.jsonl"
    transcript.write_text('{"type":"user","said":"hello"}\n', encoding="utf-8")
    say(linked, "SessionStart", "child", source="fork", transcript_path=str(transcript))
    assert reason(linked, "Edit", "child", transcript_path=str(transcript)) == ""
