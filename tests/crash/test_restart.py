"""An interrupted restart: either the previous attempt is current or the new one is, and both are complete."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from crash.accounts import none_of
from crash.cases import Case
from crash.children.doom import Doom
from crash.conftest import Stage
from crash.flows import command, phase
from crash.pool import Pool

MADE = """  - id: made
    node: write-file
    when: {not: {exists: made.txt}}
    params: {path: made.txt, text: hello}
    makes: [made.txt]
"""
PHASES = phase("a", command("x", "say", "x")) + phase("b", MADE) + phase("c", command("y", "say", "y"))
RESTART = ("restart", "--from", "b", "--quiet")


class Restarts:
    """Restarts a completed run."""

    def __init__(self, pool: Pool, stage: Stage) -> None:
        self.pool = pool
        self.stage = stage

    def completed(self) -> Case:
        case = self.stage.small(PHASES)
        assert self.pool.run(case, "resume", "--quiet").code == 0
        return case

    def syncs(self) -> int:
        case = self.completed()
        assert self.pool.run(case, *RESTART).code == 0
        return int(json.loads((case.folder / "layer").read_text())["syncs"])

    def survive(self, at: int) -> list[str]:
        """What is wrong after a restart was killed at its sync number `at` and then resumed."""
        case = self.completed()
        first = case.journal.read_bytes()
        said = self.pool.run(case, *RESTART, doom=Doom("synced", at))
        if said.code != -signal.SIGKILL:
            return [f"sync {at}: it was not killed: {said}"]
        if case.status != "completed" or case.run.attempt == 1:
            again = RESTART if case.run.attempt == 1 else ("resume", "--quiet")
            said = self.pool.run(case, *again)
        steps = {path: step.status for path, step in case.run.state.steps.items()}
        logged = case.logged()
        wrong = {
            "it did not go on": case.run.attempt != 2 or case.status != "completed",
            "the old attempt is not as it was": (case.journal.parents[1] / "1" / "journal").read_bytes() != first,
            "what was kept ran again": logged["a/x"] != 1,
            "an old file passed for the work of the new attempt": steps.get("b/made") != "done",
            "what lies behind did not run, or too often": not 2 <= logged["c/y"] <= 3,
        }
        found = [f"sync {at}: {problem}: {said} {steps}" for problem, is_so in wrong.items() if is_so]
        if not found:
            shutil.rmtree(case.folder)
        return found


@pytest.fixture
def restarts(pool: Pool, stage: Stage) -> Restarts:
    return Restarts(pool, stage)


@pytest.mark.whole
def test_a_restart_killed_at_any_sync_can_be_resumed(restarts: Restarts) -> None:
    places = range(1, restarts.syncs() + 1)
    none_of([problem for found in restarts.pool.each(restarts.survive, places) for problem in found])
