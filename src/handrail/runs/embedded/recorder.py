"""Writes a run's events to its journal. Events that are not durable are written together with the next durable one.

One record may hold several events, in order. An event that is not durable waits for the next durable one, at most
`SOON` seconds. A crash can lose only such events, and they are recorded again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any

from handrail.errors import StateError
from handrail.runs.machine import Event, event_to_json
from handrail.state import journal, lines
from handrail.state.files import sync_folder

SOON = 0.05
ROOM = 1 << 16


class Recorder:
    """An open journal. The caller holds the run's lock."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self.path = path
        self.clock = clock
        self.waiting: list[dict[str, Any]] = []
        self.number = self.end = 0
        self._handle: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_clean = False
        self._room = 0

    def continue_from(self, number: int, end: int) -> None:
        """Continue a journal that has `number` records and ends at offset `end`."""
        self.number, self.end = number, end

    def add(self, event: Event, *, durable: bool) -> dict[str, Any]:
        """Add an event in its stored form, and return it as it is written: with its time."""
        data = event_to_json(event)
        data["t"] = int(self.clock() * 1000) / 1000
        self.waiting.append(data)
        if durable:
            self.flush(durable=True)
        elif self._timer is None:
            with contextlib.suppress(RuntimeError):  # without an event loop it is written by `close`
                self._timer = asyncio.get_running_loop().call_later(SOON, self._flush_later)
        return data

    def _flush_later(self) -> None:
        """Write what waits. If this fails, the next durable event retries it, and its caller gets the error."""
        self._timer = None
        with contextlib.suppress(StateError):
            self.flush()

    def drop_last(self) -> None:
        """Drop the last event, because it could not be written."""
        self.waiting.pop()

    def flush(self, *, durable: bool = False) -> None:
        if not self.waiting:
            return
        line = lines.encode({"n": self.number, "events": self.waiting})
        try:
            if self._handle is None:
                created = not os.path.exists(self.path)
                self._handle = journal.open_for_writing(self.path)
                if created:
                    sync_folder(os.path.dirname(self.path))
            if self._is_clean and self.end + len(line) > self._room:
                self._room = journal.preallocate(self._handle, self.end, max(ROOM, len(line)))
            journal.put(self._handle, self.path, self.end, line, durable=durable, is_clean=self._is_clean)
            self._is_clean = True
        except OSError as error:
            self._is_clean, self._room = False, 0
            raise journal.write_error(self.path, error) from error
        self.waiting = []
        self.number, self.end = self.number + 1, self.end + len(line)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            self.flush()
        finally:
            if self._handle is not None:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._handle, self.end)
                os.close(self._handle)
                self._handle = None
