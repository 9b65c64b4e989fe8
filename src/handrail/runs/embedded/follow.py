"""Reads journals that another process may be writing. Asking again costs one `stat` if nothing was written."""

from __future__ import annotations

import os
import time

from handrail.contracts import Record
from handrail.runs.embedded.ledger import events_of, uncollected
from handrail.state import journal

SETTLED = 100_000_000
"""A file whose last change is older than this, in nanoseconds, gets a new time with its next change."""
Mark = tuple[int, int, int]


def read_all(path: str) -> tuple[list[Record], int]:
    """Everything that a journal tells, and where it ends. Damage in the middle is an error."""
    with uncollected():
        scan = journal.read(path)
        return events_of(scan.records, path), scan.end


class Follower:
    """Remembers for each journal how it looked when it was last read to its end."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def read_behind(self, path: str, offset: int) -> tuple[list[Record], int]:
        """What was recorded behind an offset. A journal keeps its size while its room is filled, so time counts too."""
        try:
            seen = os.stat(path)
        except OSError:
            return [], offset
        mark = (seen.st_size, seen.st_mtime_ns, offset)
        if self._marks.get(path) == mark:
            return [], offset
        records, end = journal.read_behind(path, offset)
        if end == offset and time.time_ns() - seen.st_mtime_ns > SETTLED:
            self._marks[path] = mark
        return events_of(records, path), end
