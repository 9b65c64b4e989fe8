"""Reads journals while another process may write them. If nothing was written, a second read costs one `stat`."""

from __future__ import annotations

import os
import time

from handrail.contracts import Record
from handrail.errors import StateError
from handrail.process.collector import without_collector
from handrail.runs.embedded.attempts import WAY_OUT
from handrail.runs.embedded.ledger import events_of, read_journal
from handrail.state import journal

SETTLED = 100_000_000
"""In nanoseconds. If the last change of a file is older, its next change gets a different modification time."""
Mark = tuple[int, int, int]


def read_all(path: str, *, may_be_damaged: bool = False) -> tuple[list[Record], int]:
    """All events of a journal, and the offset of its end. Raises `StateError` if it is damaged in the middle."""
    with without_collector():
        scan = read_journal(path, may_be_damaged=may_be_damaged)
        return events_of(scan.records, path), scan.end


class Follower:
    """Remembers the size and time that each journal had when it was last read to its end."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def read_behind(self, path: str, offset: int) -> tuple[list[Record], int]:
        """The events after an offset, and the next offset.

        The file has spare room at its end and keeps its size while that is filled, so the time is compared too.
        """
        try:
            seen = os.stat(path)
        except OSError:
            return [], offset
        mark = (seen.st_size, seen.st_mtime_ns, offset)
        if self._marks.get(path) == mark:
            return [], offset
        try:
            records, end = journal.read_behind(path, offset)
        except StateError as error:
            raise type(error)(error.message, WAY_OUT) from error
        if end == offset and time.time_ns() - seen.st_mtime_ns > SETTLED:
            self._marks[path] = mark
        return events_of(records, path), end
