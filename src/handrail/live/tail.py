"""The last lines that agents and programs of a run printed, with numbers of their own."""

from __future__ import annotations

from collections import deque
from typing import Any

from handrail.runs.runs import Runs
from handrail.source.clean import clean
from handrail.topics.rows import Message

KEPT = 2_000
MOST = 200
LONGEST = 500


class Tail:
    """The lines of one attempt of a run. `seq` is the number of the last one."""

    def __init__(self, attempt: int) -> None:
        self.attempt = attempt
        self.seq = 0
        self._lines: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._mark: Any = None

    def refresh(self, runs: Runs, id_: str) -> None:
        """Read what was written since the last call."""
        found, self._mark = runs.engine.activity(id_, self._mark, KEPT)
        new = [line for line in found if line["n"] > self.seq]
        for line in new:
            self._lines.append({**line, "text": clean(line["text"])[:LONGEST]})
        if new:
            self.seq = new[-1]["n"]

    def message(self, base: int) -> dict[str, Any]:
        """The lines after a number, at most `MOST`. `lost` counts those that were left out or never written."""
        base = base if base <= self.seq else 0
        rows: list[dict[str, Any]] = []
        for line in reversed(self._lines):
            if line["n"] <= base or len(rows) == MOST:
                break
            rows.append(line)
        return {"base": base, "seq": self.seq, "lost": self.seq - base - len(rows), "rows": rows[::-1]}

    def of(self, node: str, most: int) -> list[dict[str, Any]]:
        """The last lines of one step."""
        return [line for line in self._lines if line["node"] == node][-most:]


def with_tail(live: object, messages: list[Message], epoch: str, base: int) -> list[Message]:
    """The messages of a topic. The last one gets the new lines of its tail, if the topic has one."""
    tail = getattr(live, "tail", None)
    if not isinstance(tail, Tail) or not messages:
        return messages
    base = base if epoch.partition(".")[0] == str(tail.attempt) else 0
    if base == tail.seq and base:
        return messages
    return [*messages[:-1], {**messages[-1], "tail": tail.message(base)}]


def seq_of(live: object) -> int:
    """The number of the last line of a topic; 0 if it has no tail."""
    tail = getattr(live, "tail", None)
    return tail.seq if isinstance(tail, Tail) else 0
