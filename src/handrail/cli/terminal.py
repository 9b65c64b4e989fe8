"""A terminal: drawing lines on it, the line that says what a command waits for, and the signals that end a command.

That line, such as `checking the definitions, 4s`, is on stderr, on a terminal only, and not with `--quiet` or `--json`.
It appears after a second, so a quick command shows none, and it is gone before anything else is printed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TextIO, TypeVar

from handrail.cli.output import Shell, size_of
from handrail.source.plain_text import one_line
from handrail.view.text.columns import clipped, duration


def can_draw(stream: TextIO, env: Mapping[str, str]) -> bool:
    return stream.isatty() and env.get("TERM", "") not in ("", "dumb")


def write_quietly(stream: TextIO, text: str) -> None:
    """Write a text, and ignore errors: no work fails because the terminal was closed."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


EVERY = 1.0


class WaitingLine:
    """To be used with `with`. Whatever is printed meanwhile goes through `print`."""

    def __init__(self, shell: Shell, text: str, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.is_shown = can_draw(self.stream, os.environ) and not shell.quiet and not shell.as_json
        self._text = text
        self._began = time.monotonic()
        self._is_drawn = False
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def say(self, text: str) -> None:
        """Show another text. The time goes on."""
        self._text = text

    def print(self, print_line: Callable[[], None]) -> None:
        with self._lock:
            self._erase()
            print_line()

    def __enter__(self) -> WaitingLine:
        if self.is_shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self.is_shown:
            self._thread.join()
        self._erase()

    def _draw(self) -> None:
        while not self._end.wait(EVERY):
            width, _ = size_of(self.stream)
            seconds = int(time.monotonic() - self._began)
            took = f", {seconds}s" if seconds < 60 else f", {duration(seconds)}"
            with self._lock:
                text = clipped(one_line(self._text), max(1, width - 1 - len(took)))
                write_quietly(self.stream, f"\r{text}{took}\x1b[K")
                self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            write_quietly(self.stream, "\r\x1b[K")
            self._is_drawn = False


T = TypeVar("T")
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def cancelling(*, is_attended: bool = False) -> Iterator[Callable[[], str]]:
    """A signal cancels the current task; a second Ctrl-C raises `KeyboardInterrupt`. Yields what says who sent it.

    That is `by` as in events, empty without a signal. `is_attended`: a person is at the terminal, so Ctrl-C is theirs.
    """
    import asyncio  # it loads slowly, and quick commands do not need it

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    senders: list[str] = []

    def cancel(number: signal.Signals) -> None:
        is_theirs = number == signal.SIGINT and is_attended
        senders.append("terminal" if is_theirs else f"signal:{number.name}")
        task.cancel()
        if number == signal.SIGINT:
            loop.remove_signal_handler(number)

    for number in _ENDS:
        loop.add_signal_handler(number, cancel, number)
    try:
        yield lambda: "".join(senders[:1])
    finally:
        for number in _ENDS:
            loop.remove_signal_handler(number)


def run_interruptibly(work: Coroutine[Any, Any, T]) -> T:
    """Run the work to its end. Raises `KeyboardInterrupt` if a signal ended it."""
    import asyncio

    async def guarded() -> T:
        with cancelling():
            return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
