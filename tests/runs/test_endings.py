"""How a run ended is data, also in journals of version 0.1.0."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runs import machine
from handrail.runs.fold import fold
from handrail.runs.machine import event_from_json

OLD: dict[str, Any] = {"type": "RunEnded", "t": 1.0, "outcome": None, "error": "not done after 1 seconds"}


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("failed", "timeout at a/x", "timeout"),
        ("failed", "timeout", "timeout"),
        ("failed", "file-missing at a/timeout at b", "file-missing"),
        ("cancelled", "interrupted", None),
        ("completed", None, None),
    ],
)
def test_an_old_journal_has_the_code_in_its_reason(status: str, reason: str | None, code: str | None) -> None:
    state = fold([event_from_json({**OLD, "status": status, "reason": reason})])
    assert (state.status, state.reason, state.code) == (status, reason, code)


def test_a_resumed_run_has_no_code() -> None:
    ended = machine.RunEnded("failed", None, "timeout at a/x", "slow", "timeout")
    assert fold([ended]).code == "timeout"
    assert fold([ended, machine.RunResumed("resume", [], None)]).code is None
    assert fold([ended, machine.RunParked("a/x", "a question")]).code is None
