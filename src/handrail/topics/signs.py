"""The signs of statuses, in one table: each has a twin in ASCII and a word. Pure; imports nothing.

A status is always shown as sign and word; colour only repeats it. `▸` and `▾` mean folded and unfolded, nothing else.
"""

from __future__ import annotations


class Sign:
    """`ascii` is for terminals that show no other characters; `word` is what the sign means."""

    __slots__ = ("ascii", "char", "word")

    def __init__(self, char: str, ascii: str, word: str) -> None:  # noqa: A002 - that is what it is
        self.char = char
        self.ascii = ascii
        self.word = word


NEEDS_YOU = Sign("?", "?", "needs you")
RUNNING = Sign("●", "*", "running")
DELAYED = Sign("~", "~", "delayed")
DONE = Sign("✓", "+", "done")
FAILED = Sign("✗", "x", "failed")
STOPPED = Sign("■", "#", "stopped")
SKIPPED = Sign("·", ".", "skipped")
PENDING = Sign("○", "o", "pending")
NOTICE = Sign("!", "!", "interrupted")
ROUNDS = Sign("↻", "@", "rounds")
ALL = (NEEDS_YOU, RUNNING, DELAYED, DONE, FAILED, STOPPED, SKIPPED, PENDING, NOTICE, ROUNDS)

OF_STATUS: dict[str, Sign] = {
    "waiting": NEEDS_YOU,
    "running": RUNNING,
    "active": RUNNING,
    "current": RUNNING,
    "delayed": DELAYED,
    "completed": DONE,
    "done": DONE,
    "failed": FAILED,
    "left": STOPPED,
    "stopped": STOPPED,
    "cancelled": STOPPED,
    "skipped": SKIPPED,
    "pending": PENDING,
    "ahead": PENDING,
    "none": PENDING,
    "interrupted": NOTICE,
    "damaged": NOTICE,
}
"""The sign of each status of a run, a session, a step or a phase."""


def sign_of(status: str) -> str:
    """The sign before a status; `!` before one that is not in the table."""
    return OF_STATUS.get(status, NOTICE).char
