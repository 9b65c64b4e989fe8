"""Signals that end a command's work as Ctrl-C does: the programs that it started are killed first."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def cancelling() -> Iterator[None]:
    """SIGTERM and SIGHUP cancel the current task. asyncio itself does so for Ctrl-C."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    end: Callable[[], object] = task.cancel if task is not None else lambda: None
    for number in _ENDS:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in _ENDS:
            loop.remove_signal_handler(number)


def run_interruptibly(work: Coroutine[Any, Any, T]) -> T:
    """Run the work to its end. Raises `KeyboardInterrupt` if a signal ended it."""

    async def guarded() -> T:
        with cancelling():
            return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
