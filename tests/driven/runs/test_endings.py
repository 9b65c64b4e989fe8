"""How a run ended is data, also in journals of version 0.1.0."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import event_from_json
from handrail.driven.runs.state import fold

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
    state = fold([(0.0, event_from_json({**OLD, "status": status, "reason": reason}))])
    assert (state.status, state.reason, state.code) == (status, reason, code)


def test_a_resumed_run_has_no_code() -> None:
    ended = run_events.RunEnded("failed", None, "timeout at a/x", "slow", "timeout")
    assert fold([(0.0, ended)]).code == "timeout"
    assert fold([(0.0, ended), (1.0, run_events.RunResumed("resume", [], None))]).code is None
    assert fold([(0.0, ended), (1.0, run_events.RunParked("a/x", "a question"))]).code is None
