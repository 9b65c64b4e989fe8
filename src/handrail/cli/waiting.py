"""A line that says what a command waits for, and for how long: `checking the definitions, 4s`.

It is on stderr, on a terminal only, and not with `--quiet` or `--json`. It appears after a second, so a quick command
shows none, and it is gone before anything else is printed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from handrail.cli.output import Shell
from handrail.cli.terminal import can_draw, size_of, write
from handrail.source.plain import one_line
from handrail.view.columns import clipped, duration

AFTER = 1.0
EVERY = 1.0
_ERASE = "\r\x1b[K"


class Waiting:
    """To be used with `with`. Whatever is printed meanwhile goes through `print`."""

    def __init__(self, shell: Shell, what: str, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.is_shown = can_draw(self.stream, os.environ) and not shell.quiet and not shell.as_json
        self._what = what
        self._began = time.monotonic()
        self._is_drawn = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def say(self, what: str) -> None:
        """It waits for something else now. The time goes on."""
        self._what = what

    def print(self, printed: Callable[[], None]) -> None:
        """Print something above the line."""
        with self._lock:
            self._erase()
            printed()

    def __enter__(self) -> Waiting:
        if self.is_shown:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self.is_shown:
            self._thread.join()
        self._erase()

    def _draw(self) -> None:
        pause = AFTER
        while not self._ended.wait(pause):
            pause = EVERY
            width, _ = size_of(self.stream)
            seconds = int(time.monotonic() - self._began)
            took = f", {seconds}s" if seconds < 60 else f", {duration(seconds)}"
            with self._lock:
                what = clipped(one_line(self._what), max(1, width - 1 - len(took)))
                write(self.stream, f"\r{what}{took}\x1b[K")
                self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            write(self.stream, _ERASE)
            self._is_drawn = False
