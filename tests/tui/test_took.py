"""How long a phase or step worked, in a column of its own. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.tui.context import local_time
from handrail.tui.lines.run_tree import took_words
from handrail.tui.lines.words import Times


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"kind": "step", "status": "done", "started": 0.0, "ended": 40.0, "worked": 5.0}, "5.0s"),
        ({"kind": "phase", "status": "done", "started": 0.0, "ended": 40.0, "worked": 5.0}, "5.0s"),
        ({"kind": "phase", "status": "done", "started": 0.0, "ended": 4.0, "worked": 7.0}, "4.0s"),
        ({"kind": "phase", "status": "done", "started": 0.0, "ended": 4.0, "worked": None}, "4.0s"),
        ({"kind": "phase", "status": "running", "started": 90.0, "ended": None, "worked": 1.0}, "10s"),
        ({"kind": "step", "status": "interrupted", "started": 0.0, "ended": None, "worked": 2.0}, "2.0s"),
        ({"kind": "step", "status": "interrupted", "started": 0.0, "ended": None, "worked": None}, ""),
    ],
)
def test_a_row_says_how_long_it_worked_and_not_how_long_it_waited(row: dict[str, Any], words: str) -> None:
    assert took_words(row, Times(100.0, local_time)) == words
