"""Failing writes, caused by the system: a file size limit, and a device that cannot be synced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guided.sessions.stories import Story, open_session
from handrail.base import journal
from handrail.base.errors import StateError
from handrail.base.jsonlite import encode_line
from handrail.guided.sessions.machine import Loop
from programs import output_of


def attempts(story: Story, *limits: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output_of("guided/sessions/cramped.py", story.folder, *limits).splitlines()]


@pytest.mark.parametrize("room", [0, 1, 40, 80])
def test_a_record_that_does_not_fit_raises_an_error_and_leaves_no_trace(story: Story, room: int) -> None:
    size = len(story.data)
    said = attempts(story, size + room)[0]
    assert said["error"] == f"the journal `{story.folder}/journal` cannot be written: File too large"
    assert said["hint"] == "free some space, then run the command again; nothing was lost"
    assert (said["believed"], said["size"]) == (0, size)


@pytest.mark.parametrize("room", [0, 1, 40, 80])
def test_the_command_succeeds_once_there_is_room_again(story: Story, room: int) -> None:
    said = attempts(story, len(story.data) + room)[0]
    assert said["then"] == 1
    assert len(open_session(story.folder).records()) == 9
    assert story.torn() is None


def test_a_command_succeeds_when_only_its_card_does_not_fit(story: Story) -> None:
    said = attempts(story, len(story.data) + 200)[0]
    assert (said["error"], said["believed"], said["card"]) == (None, 1, False)
    assert said["then"] == 2


def test_a_torn_tail_that_cannot_be_moved_stays_in_the_journal(story: Story) -> None:
    torn = b"x" * 5_000
    story.lay(story.data + torn, None)
    said = attempts(story, 1_000)[0]
    assert said["error"] is not None
    assert said["size"] == len(story.data) + len(torn)
    assert said["then"] == 1
    assert torn in (story.torn() or b"")


@pytest.mark.parametrize("limit", [0, 5, 50])
def test_a_failed_start_leaves_the_session_inactive(tmp_path: Path, limit: int) -> None:
    said = json.loads(output_of("guided/sessions/starting.py", tmp_path / "session", limit))
    assert said["pin"].endswith("cannot be written: File too large")
    assert said["start"].endswith("cannot be written: File too large")
    assert said["status"] == "none"


def test_a_plan_that_cannot_be_pinned_leaves_no_file(tmp_path: Path) -> None:
    output_of("guided/sessions/starting.py", tmp_path / "session", 50)
    plans = list((tmp_path / "session").glob("plan-*"))
    assert len(plans) == 1
    assert not list((tmp_path / "session").glob("*.new"))


def test_a_record_that_cannot_be_synced_is_not_acknowledged(tmp_path: Path) -> None:
    """Writing to this device works, syncing it does not."""
    (tmp_path / "journal").symlink_to("/dev/null")
    with pytest.raises(StateError, match="cannot be written: Invalid argument"):
        journal.append(str(tmp_path / "journal"), 0, encode_line({"n": 0, "events": []}))


def test_a_lock_that_cannot_be_opened_raises_a_state_error(story: Story) -> None:
    (story.folder / "lock").unlink()
    (story.folder / "lock").mkdir()
    with pytest.raises(StateError, match="lock"):
        open_session(story.folder).do(Loop())
