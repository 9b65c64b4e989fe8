"""Many processes write to one session at once: no command is lost, repeated or incomplete."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from depth import Depth
from guided.sessions.stories import open_session, start
from handrail.guided.sessions.store import Session
from programs import spawn

FEW_WRITERS, ALL_WRITERS = 16, 50
FEW_COMMANDS, ALL_COMMANDS = 60, 200


def watched(session: Session, processes: list[subprocess.Popen[str]]) -> list[int]:
    """The steps that a reader without a lock sees while the processes write."""
    seen: list[int] = []
    for process in processes:
        while process.poll() is None:
            seen.append(session.read().state.steps)
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
    return seen


def acknowledged(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    with process.stdout:
        return [int(line) for line in process.stdout]


@pytest.mark.explores
def test_the_journal_contains_exactly_what_concurrent_writers_acknowledged(tmp_path: Path, depth: Depth) -> None:
    writers, commands = depth.count(FEW_WRITERS, ALL_WRITERS), depth.count(FEW_COMMANDS, ALL_COMMANDS)
    session = open_session(tmp_path / "session")
    start(session)
    processes = [spawn("guided/sessions/looping.py", session.folder, commands) for _ in range(writers)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    seen = watched(session, processes)
    steps = [acknowledged(process) for process in processes]
    total = writers * commands
    assert sorted(step for told in steps for step in told) == list(range(1, total + 1))
    assert all(told == sorted(told) for told in steps)
    assert [record["n"] for record in session.records()] == list(range(total + 1))
    assert session.read().state.steps == total
    assert seen == sorted(seen)
