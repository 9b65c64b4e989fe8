"""kill -9 at any moment: acknowledged records survive, and the session continues."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from guided.sessions.stories import open_session, start
from programs import spawn

KILLS = 20


def killed_after(folder: Path, acknowledged: int) -> list[int]:
    """The steps that a process acknowledged before it was killed, during the command after `acknowledged`."""
    process = spawn("guided/sessions/looping.py", folder, 1_000_000)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    steps = [int(process.stdout.readline()) for _ in range(acknowledged)]
    process.kill()
    steps.extend(int(line) for line in process.stdout if line.endswith("\n"))
    process.stdout.close()
    process.wait()
    return steps


@pytest.mark.whole
def test_every_acknowledged_record_survives_any_number_of_kills(tmp_path: Path) -> None:
    session = open_session(tmp_path / "session")
    start(session)
    chance = random.Random(9)
    done = 0
    for _ in range(KILLS):
        steps = killed_after(tmp_path / "session", chance.randint(1, 40))
        assert steps == list(range(done + 1, done + 1 + len(steps)))
        done = session.read().state.steps
        assert steps[-1] <= done <= steps[-1] + 1
        records = session.records()
        assert [record["n"] for record in records] == list(range(done + 1))


def test_the_lock_of_a_killed_process_is_released_at_once(tmp_path: Path) -> None:
    session = open_session(tmp_path / "session")
    start(session)
    last = killed_after(tmp_path / "session", 5)[-1]
    with session.locked():
        assert session.read().state.steps >= last
