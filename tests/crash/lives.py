"""What a person does with an interrupted run: resume it, and answer its questions truthfully."""

from __future__ import annotations

import json
import signal
from typing import Protocol

from crash.accounts import Life, life, told
from crash.cases import Case
from crash.children.doom import Doom
from crash.pool import Pool
from support import Said

MAX_LIVES = 6


class Command(Protocol):
    def __call__(self, verb: str, *more: str) -> Said: ...


def next_command(case: Case) -> list[str]:
    """The command that answers a question about interrupted work, by the external log; or else `resume`."""
    run = case.run
    if run.state.status != "waiting":
        return ["resume", "--events", "--answers", str(case.answers)]
    path = next(iter(run.state.questions))
    letter = case.folder / "letter"
    letter.write_text(json.dumps({"rerun": "done" if path in case.logged() else "again"}))
    return ["answer", "--file", str(letter), "--events"]


def finish(case: Case, command: Command) -> str | None:
    """Resume until the run has ended. Returns what is wrong, or None."""
    for _ in range(MAX_LIVES):
        if case.status == "completed":
            return None
        said = command(*next_command(case))
        if said.code not in (0, 4) or "Traceback" in said.err:
            return f"it was not resumed: {said}"
    return f"it is still {case.status}"


def killed(pool: Pool, case: Case, doom: Doom) -> tuple[Life | None, list[str]]:
    """The life that a killed process left, and what is wrong with it; None if the process was not killed."""
    said = pool.run(case, *next_command(case), doom=doom)
    if said.code != -signal.SIGKILL:
        return None, ([] if said.code in (0, 4) else [f"it was not killed: {said}"])
    left = life(case)
    lost = [event for event in told(said.out) if event not in left.events]
    return left, [f"it had printed this event, and the journal lost it: {event}" for event in lost]
